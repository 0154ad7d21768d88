from __future__ import annotations

from dataclasses import replace

import pytest

from support.ground.jobs import job, pool
from support.tables import every_row
from vertex_training.job.job_spec import DnsPeeringConfig, PscInterfaceConfig
from vertex_training.job.rules.networking import network_problems
from vertex_training.topology.pools import LustreMount, NfsMount

NETWORK = "projects/123/global/networks/training"
ATTACHMENT = "projects/p/regions/us-central1/networkAttachments/a"
NFS = NfsMount(server="10.0.0.2", path="/share", mount_point="data")
LUSTRE = LustreMount(instance_ip="10.0.0.3", volume_handle="v", filesystem="fs", mount_point="data")


def with_mounts(*nfs, lustre=()):
    return replace(pool(), nfs_mounts=nfs, lustre_mounts=tuple(lustre))


def peering(domain):
    peer = DnsPeeringConfig(domain=domain, target_project="p", target_network="n")
    return PscInterfaceConfig(network_attachment=ATTACHMENT, dns_peering_configs=(peer,))


@every_row(
    ("spec", "found"),
    [
        pytest.param(job(network=NETWORK), [], id="a network"),
        pytest.param(job(network="training"), [("network", "network")], id="a bare name"),
        pytest.param(
            job(network="projects/my-project/global/networks/n"), [("network", "network")], id="project by id"
        ),
        pytest.param(job(network=f"{NETWORK}; id"), [("network", "network")], id="more than a name"),
        pytest.param(job(network=f"{NETWORK}{'g' * 60}"), [("network", "network")], id="a long name"),
        pytest.param(
            job(psc_interface_config=PscInterfaceConfig(network_attachment=f"{ATTACHMENT}`id`")),
            [("network-attachment", "psc_interface_config.network_attachment")],
            id="an attachment with more than a name",
        ),
        pytest.param(job(network=NETWORK, reserved_ip_ranges=("r",)), [], id="ranges in a network"),
        pytest.param(
            job(reserved_ip_ranges=("r",)),
            [("reserved-ip-ranges", "reserved_ip_ranges")],
            id="ranges without a network",
        ),
        pytest.param(
            job(psc_interface_config=PscInterfaceConfig(network_attachment="a")),
            [("network-attachment", "psc_interface_config.network_attachment")],
            id="attachment by its bare name",
        ),
        pytest.param(job(psc_interface_config=peering("corp.internal.")), [], id="a domain"),
        pytest.param(
            job(psc_interface_config=peering("corp.internal")),
            [("dns-domain", "psc_interface_config.dns_peering_configs[0].domain")],
            id="a domain without its dot",
        ),
        pytest.param(job(with_mounts(NFS), network=NETWORK), [], id="a share"),
        pytest.param(
            job(with_mounts(NFS), psc_interface_config=peering("a.")),
            [],
            id="a share through a PSC interface",
        ),
        pytest.param(
            job(with_mounts(NFS)),
            [("mount-network", "worker_pool_specs[0].nfs_mounts[0]")],
            id="a share without a network",
        ),
        pytest.param(
            job(with_mounts(replace(NFS, path="share")), network=NETWORK),
            [("nfs-path", "worker_pool_specs[0].nfs_mounts[0].path")],
            id="a path without its slash",
        ),
        pytest.param(
            job(with_mounts(replace(NFS, path="/a/../b")), network=NETWORK),
            [("mount-source", "worker_pool_specs[0].nfs_mounts[0].path")],
            id="a path that leads out",
        ),
        pytest.param(
            job(with_mounts(replace(NFS, path="")), network=NETWORK),
            [("mount-source", "worker_pool_specs[0].nfs_mounts[0].path")],
            id="no path",
        ),
        pytest.param(
            job(with_mounts(replace(NFS, server="")), network=NETWORK),
            [("mount-source", "worker_pool_specs[0].nfs_mounts[0].server")],
            id="no server",
        ),
        pytest.param(
            job(with_mounts(lustre=[replace(LUSTRE, volume_handle="")]), network=NETWORK),
            [("mount-source", "worker_pool_specs[0].lustre_mounts[0].volume_handle")],
            id="no volume",
        ),
        pytest.param(
            job(with_mounts(replace(NFS, mount_point="/mnt/data")), network=NETWORK),
            [("mount-point", "worker_pool_specs[0].nfs_mounts[0].mount_point")],
            id="a mount point with slashes",
        ),
        pytest.param(
            job(with_mounts(replace(NFS, mount_point="..")), network=NETWORK),
            [("mount-point", "worker_pool_specs[0].nfs_mounts[0].mount_point")],
            id="a mount point above",
        ),
        pytest.param(
            job(with_mounts(NFS, replace(NFS, path="/other")), network=NETWORK),
            [("mount-point", "worker_pool_specs[0].nfs_mounts[1].mount_point")],
            id="a mount point twice",
        ),
        pytest.param(
            job(with_mounts(NFS, lustre=[LUSTRE]), network=NETWORK), [], id="one name in two kinds of mounts"
        ),
    ],
)
def test_findings(spec, found):
    assert [(problem.rule, problem.path) for problem in network_problems(spec)] == found
