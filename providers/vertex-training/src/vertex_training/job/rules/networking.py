"""The rules of a job's private network and of the file shares mounted through it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.job.job_spec import JobSpec, PscInterfaceConfig
from vertex_training.topology.pools import WorkerPoolSpec

UNPEERED_ACCELERATORS = ("NVIDIA_H100_MEGA_80GB", "NVIDIA_H200_141GB", "NVIDIA_B200")
"""Accelerators whose machines do not support VPC peering."""

_SPEC = "Vertex AI API, CustomJobSpec"
_NFS = 'Vertex AI documentation, "Mount a Network File System share for serverless training"'

NETWORK = Rule(
    name="network",
    says="a network is projects/NUMBER/global/networks/NAME, with the project's number",
    source=f"{_SPEC}.network",
)
RESERVED_RANGES = Rule(
    name="reserved-ip-ranges",
    says="reserved address ranges belong to a peered network",
    source=f"{_SPEC}.reserved_ip_ranges",
)
NETWORK_ATTACHMENT = Rule(
    name="network-attachment",
    says="a network attachment is given by its full resource name",
    source="Vertex AI API, PscInterfaceConfig.network_attachment",
)
DNS_DOMAIN = Rule(
    name="dns-domain", says="a peered domain ends with a dot", source="Vertex AI API, DnsPeeringConfig.domain"
)
NETWORK_ACCELERATOR = Rule(
    name="network-accelerator",
    says="machines with H100 Mega, H200 or B200 reach a private network through a PSC interface only",
    source='Vertex AI documentation, "Use a private IP for serverless training", note on VPC Peering',
    level="warning",
)
MOUNT_POINT = Rule(
    name="mount-point", says="a mount point is the name of a directory, given once", source=_NFS
)
MOUNT_SOURCE = Rule(
    name="mount-source",
    says="a file share is named by all its fields, and a path stays within the exported directory",
    source="Vertex AI API, NfsMount and LustreMount, whose fields are all required",
)
NFS_PATH = Rule(name="nfs-path", says="an exported path begins with a slash", source=_NFS)
MOUNT_NETWORK = Rule(
    name="mount-network",
    says="a file share is reached through a peered network or a PSC interface",
    source=_NFS,
)

_NAME = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
"""A name of Compute Engine."""
_PROJECT = r"[a-z0-9.:-]+"
_NETWORK = re.compile(rf"projects/[0-9]+/global/networks/{_NAME}")
_NETWORK_BY_ID = re.compile(rf"projects/{_PROJECT}/global/networks/{_NAME}")
_ATTACHMENT = re.compile(rf"projects/{_PROJECT}/regions/[a-z0-9-]+/networkAttachments/{_NAME}")
_DIRECTORY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


def network_problems(spec: JobSpec) -> Iterator[Problem]:
    """Yield every finding about network, address ranges, PSC interface and mounts."""
    if spec.network and not _NETWORK.fullmatch(spec.network):
        why = (
            "has the id of the project; write its number, which `gcloud projects describe` prints"
            if _NETWORK_BY_ID.fullmatch(spec.network)
            else "is not a network; write projects/PROJECT_NUMBER/global/networks/NAME"
        )
        yield NETWORK.broken("network", f"{shown(spec.network)} {why}")
    if spec.reserved_ip_ranges and not spec.network:
        yield RESERVED_RANGES.broken(
            "reserved_ip_ranges",
            "need a network, in which they are reserved; give network, or leave them out",
            rests_on=("reserved_ip_ranges", "network"),
        )
    if spec.psc_interface_config is not None:
        yield from _psc_problems(spec.psc_interface_config, "psc_interface_config")
    if spec.network:
        yield from _accelerator_problems(spec)
    reachable = bool(spec.network or spec.psc_interface_config)
    for position, pool in enumerate(spec.worker_pool_specs):
        if not pool.is_empty:
            yield from _mount_problems(pool, f"worker_pool_specs[{position}]", reachable)


def _accelerator_problems(spec: JobSpec) -> Iterator[Problem]:
    for position, pool in enumerate(spec.worker_pool_specs):
        kind = pool.machine_spec.accelerator_type if pool.machine_spec else None
        if kind in UNPEERED_ACCELERATORS and not pool.is_empty:
            below = f"worker_pool_specs[{position}].machine_spec.accelerator_type"
            yield NETWORK_ACCELERATOR.broken(
                "network",
                f"{shown(spec.network or '')} cannot be peered with machines that have {kind}; give "
                "psc_interface_config instead of network",
                rests_on=("network", below, f"worker_pool_specs[{position}].replica_count"),
            )
            return


def _psc_problems(config: PscInterfaceConfig, path: str) -> Iterator[Problem]:
    attachment = config.network_attachment
    if attachment and not _ATTACHMENT.fullmatch(attachment):
        yield NETWORK_ATTACHMENT.broken(
            f"{path}.network_attachment",
            f"{shown(attachment)} is not a network attachment; write "
            "projects/PROJECT/regions/REGION/networkAttachments/NAME",
        )
    for i, peering in enumerate(config.dns_peering_configs):
        if not peering.domain.endswith("."):
            yield DNS_DOMAIN.broken(
                f"{path}.dns_peering_configs[{i}].domain",
                f"{shown(peering.domain)} does not end with a dot; write {shown(peering.domain + '.')}",
            )


def _source_problems(pool: WorkerPoolSpec, path: str) -> Iterator[Problem]:
    named = [
        *(
            (f"{path}.nfs_mounts[{i}]", {"server": mount.server, "path": mount.path})
            for i, mount in enumerate(pool.nfs_mounts)
        ),
        *(
            (
                f"{path}.lustre_mounts[{i}]",
                {
                    "instance_ip": mount.instance_ip,
                    "volume_handle": mount.volume_handle,
                    "filesystem": mount.filesystem,
                },
            )
            for i, mount in enumerate(pool.lustre_mounts)
        ),
    ]
    for below, fields in named:
        for name, value in fields.items():
            if not value:
                yield MOUNT_SOURCE.broken(f"{below}.{name}", "is empty; name the share to mount")
            elif ".." in value.split("/"):
                yield MOUNT_SOURCE.broken(
                    f"{below}.{name}",
                    f"{shown(value)} leads out of the exported directory; write a path without ..",
                )


def _mount_problems(pool: WorkerPoolSpec, path: str, reachable: bool) -> Iterator[Problem]:
    mounts = [
        *(("nfs_mounts", i, mount.mount_point) for i, mount in enumerate(pool.nfs_mounts)),
        *(("lustre_mounts", i, mount.mount_point) for i, mount in enumerate(pool.lustre_mounts)),
    ]
    seen: dict[tuple[str, str], str] = {}
    for kind, index, point in mounts:
        below, key = f"{path}.{kind}[{index}]", (kind, point)
        where = f"{below}.mount_point"
        if not _DIRECTORY.fullmatch(point):
            yield MOUNT_POINT.broken(
                where,
                f"{shown(point)} is not a directory name; write a name without slashes, such as data",
            )
        elif key in seen:
            yield MOUNT_POINT.broken(
                where,
                f"{shown(point)} is the mount point of {seen[key]} as well; give each share its own",
                rests_on=(where, f"{seen[key]}.mount_point"),
            )
        seen.setdefault(key, below)
    yield from _source_problems(pool, path)
    for i, mount in enumerate(pool.nfs_mounts):
        if mount.path and not mount.path.startswith("/"):
            yield NFS_PATH.broken(
                f"{path}.nfs_mounts[{i}].path",
                f"{shown(mount.path)} is not an exported path; begin it with a slash: "
                f"{shown('/' + mount.path)}",
            )
    if mounts and not reachable:
        kind, index, _ = mounts[0]
        below = f"{path}.{kind}[{index}]"
        yield MOUNT_NETWORK.broken(
            below,
            "the share is in a private network, to which the job is not connected; give network or "
            "psc_interface_config",
            rests_on=(below, "network", "psc_interface_config"),
        )
