"""The service's checks of a job's environment: network, file shares, key, records.

The rules come from the API's messages and the documentation, "Use TensorBoard with serverless training"
and "Mount a Network File System share for serverless training"; the words are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vertex_emulator.replicas.sandbox.mounts import file_shares
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Violation

_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_NETWORK = re.compile(r"projects/[^/]+/global/networks/[^/]+")
_ATTACHMENT = re.compile(r"projects/[^/]+/regions/[^/]+/networkAttachments/[^/]+")
_TENSORBOARD = re.compile(r"projects/[^/]+/locations/[^/]+/tensorboards/[^/]+")
_SPECIFIC = 3
_MOUNT_FIELDS = {
    "nfs_mounts": ("server", "path", "mount_point"),
    "lustre_mounts": ("instance_ip", "filesystem", "mount_point", "volume_handle"),
}

_REQUIRED = "Required field is not set."


def key_violations(job: DynamicMessage, location: str) -> Iterator[Violation]:
    """Yield violations of `encryption_spec`; the key of a job is in the job's region."""
    if not job.HasField("encryption_spec"):
        return
    path, name = "encryption_spec.kms_key_name", job.encryption_spec.kms_key_name
    match = _KEY.fullmatch(name)
    if not name:
        yield Violation(path, _REQUIRED)
    elif match is None:
        yield Violation(path, f"{name!r} is not the name of a key.")
    elif match[1] != location:
        yield Violation(path, f"The key is in {match[1]} and the job in {location}.")


def network_violations(spec: DynamicMessage) -> Iterator[Violation]:
    """Yield violations of `network`, `reserved_ip_ranges` and `psc_interface_config`."""
    if spec.network and not _NETWORK.fullmatch(spec.network):
        yield Violation("job_spec.network", f"{spec.network!r} is not the name of a network.")
    if spec.reserved_ip_ranges and not spec.network:
        yield Violation("job_spec.reserved_ip_ranges", "Reserved ranges need `network` to be set.")
    path, psc = "job_spec.psc_interface_config", spec.psc_interface_config
    if psc.network_attachment and not _ATTACHMENT.fullmatch(psc.network_attachment):
        yield Violation(
            f"{path}.network_attachment", f"{psc.network_attachment!r} is not the name of an attachment."
        )
    for index, peering in enumerate(psc.dns_peering_configs):
        below = f"{path}.dns_peering_configs[{index}]"
        for name in ("domain", "target_project", "target_network"):
            if not getattr(peering, name):
                yield Violation(f"{below}.{name}", _REQUIRED)
        if peering.domain and not peering.domain.endswith("."):
            yield Violation(f"{below}.domain", f"{peering.domain!r} does not end with a dot.")


def record_violations(spec: DynamicMessage) -> Iterator[Violation]:
    """Yield violations of `tensorboard` and `experiment_run`."""
    if spec.tensorboard:
        if not _TENSORBOARD.fullmatch(spec.tensorboard):
            yield Violation(
                "job_spec.tensorboard", f"{spec.tensorboard!r} is not the name of a TensorBoard instance."
            )
        if not spec.service_account:
            yield Violation("job_spec.service_account", "Required when `tensorboard` is set.")
        if not spec.base_output_directory.output_uri_prefix:
            yield Violation("job_spec.base_output_directory", "Required when `tensorboard` is set.")
    if spec.experiment_run and not spec.experiment:
        yield Violation("job_spec.experiment", "Required when `experiment_run` is set.")


def reservation_violations(machine: DynamicMessage, path: str) -> Iterator[Violation]:
    """Yield violations of a machine's `reservation_affinity`; `path` is the machine's."""
    if not machine.HasField("reservation_affinity"):
        return
    affinity, below = machine.reservation_affinity, f"{path}.reservation_affinity"
    if not affinity.reservation_affinity_type:
        yield Violation(f"{below}.reservation_affinity_type", _REQUIRED)
    elif affinity.reservation_affinity_type == _SPECIFIC:
        for name in ("key", "values"):
            if not getattr(affinity, name):
                yield Violation(f"{below}.{name}", "Required for SPECIFIC_RESERVATION.")


def mount_violations(pool: DynamicMessage, path: str) -> Iterator[Violation]:
    """Yield violations of the file shares of a pool; `path` is the pool's."""
    for kind, fields in _MOUNT_FIELDS.items():
        points = set()
        for index, mount in enumerate(getattr(pool, kind)):
            below = f"{path}.{kind}[{index}]"
            missing = [name for name in fields if not getattr(mount, name)]
            yield from (Violation(f"{below}.{name}", _REQUIRED) for name in missing)
            point = mount.mount_point
            if point and not file_shares.is_name(point):
                yield Violation(f"{below}.mount_point", f"{point!r} is not the name of a directory.")
            elif point in points:
                yield Violation(f"{below}.mount_point", f"{point!r} is the mount point of another share.")
            points.add(point)
            server, exported = (getattr(mount, name) for name in fields[:2])
            if server and not file_shares.is_name(server):
                yield Violation(f"{below}.{fields[0]}", f"{server!r} is not an address.")
            if exported and not file_shares.is_path(exported):
                yield Violation(f"{below}.{fields[1]}", f"{exported!r} leads out of the exported folder.")
            if kind == "nfs_mounts" and exported and not exported.startswith("/"):
                yield Violation(f"{below}.path", f"{exported!r} does not begin with a slash.")
