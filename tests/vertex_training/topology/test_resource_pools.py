from __future__ import annotations

from dataclasses import replace

import pytest

from support.ground.jobs import EMPTY, pool
from vertex_training.topology.pools import DiskSpec
from vertex_training.topology.rules.resource_pools import (
    AutoscalingSpec,
    ResourcePool,
    jobs_at_once,
    resource_pool_problems,
)

CPUS = ResourcePool(machine_spec=pool().machine_spec, replica_count=4)
GPUS = ResourcePool(machine_spec=pool(gpus=1).machine_spec, replica_count=2)
LARGE_DISK = DiskSpec(boot_disk_size_gb=200)


@pytest.mark.parametrize(
    ("pools", "resource_pools", "found"),
    [
        pytest.param([pool(), pool(3)], [CPUS], [], id="just fits"),
        pytest.param(
            [pool(), pool(4)],
            [CPUS],
            [("resource-pool-size", "worker_pool_specs[1].replica_count")],
            id="one too many, counted over all pools",
        ),
        pytest.param([pool(), EMPTY, pool(2, gpus=1)], [CPUS, GPUS], [], id="two kinds"),
        pytest.param(
            [pool(), pool(2, gpus=1)],
            [CPUS],
            [("resource-pool-machine", "worker_pool_specs[1].machine_spec")],
            id="no such accelerators",
        ),
        pytest.param(
            [replace(pool(), disk_spec=LARGE_DISK)],
            [CPUS],
            [("resource-pool-machine", "worker_pool_specs[0].machine_spec")],
            id="another disk",
        ),
        pytest.param([pool()], [replace(CPUS, disk_spec=DiskSpec())], [], id="the default disk, spelled out"),
        pytest.param(
            [pool(), pool(7)],
            [replace(CPUS, autoscaling_spec=AutoscalingSpec(min_replica_count=1, max_replica_count=8))],
            [],
            id="up to what it may grow to",
        ),
        pytest.param(
            [pool()], [], [("resource-pool-machine", "worker_pool_specs[0].machine_spec")], id="no pools"
        ),
    ],
)
def test_pools_that_fit(pools, resource_pools, found):
    assert [(p.rule, p.path) for p in resource_pool_problems(pools, resource_pools)] == found


def test_the_message_lists_the_existing_pools():
    [problem] = resource_pool_problems([pool(gpus=2)], [CPUS, GPUS])
    assert "n1-standard-4 with 2 x NVIDIA_TESLA_T4 and pd-ssd of 100 GB" in problem.message
    assert "4 x n1-standard-4 and pd-ssd of 100 GB; 2 x n1-standard-4 with 1" in problem.message


@pytest.mark.parametrize(
    ("pools", "resource_pools", "number"),
    [
        pytest.param([pool()], [CPUS], 4, id="one machine each"),
        pytest.param([pool(), pool(2)], [CPUS], 1, id="too few machines left for another job"),
        pytest.param([pool(), pool(gpus=1)], [CPUS, GPUS], 2, id="the scarcer of two kinds"),
        pytest.param([pool(5)], [CPUS], None, id="not even one"),
        pytest.param([pool(gpus=2)], [CPUS, GPUS], None, id="no such machines"),
        pytest.param([], [CPUS], None, id="no machines"),
        pytest.param(
            [pool()],
            [replace(CPUS, autoscaling_spec=AutoscalingSpec(min_replica_count=1, max_replica_count=8))],
            8,
            id="what it may grow to",
        ),
    ],
)
def test_how_many_fit_at_once(pools, resource_pools, number):
    assert jobs_at_once(pools, resource_pools) == number
