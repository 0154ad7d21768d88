from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ground import jobs
from vertex_training.topology.pools import (
    ContainerSpec,
    DiskSpec,
    MachineSpec,
    NfsMount,
    PythonPackageSpec,
    WorkerPoolSpec,
    chief_worker_pool,
)
from vertex_training.topology.rules.pools import validate_pools

POOL = WorkerPoolSpec(
    machine_spec=MachineSpec(
        machine_type="n1-standard-8", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=2
    ),
    replica_count=7,
    disk_spec=DiskSpec(boot_disk_size_gb=200),
    nfs_mounts=(NfsMount(server="10.0.0.2", path="/data", mount_point="data"),),
    container_spec=ContainerSpec(image_uri="repo/trainer:1", args=("--epochs=3",)),
)
PACKAGE = WorkerPoolSpec(
    machine_spec=MachineSpec(machine_type="n1-standard-4"),
    python_package_spec=PythonPackageSpec(
        executor_image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11:latest",
        package_uris=("gs://bucket/trainer.tar.gz",),
        python_module="trainer.task",
    ),
)


@pytest.mark.parametrize(
    ("count", "counts"),
    [
        pytest.param(1, [1], id="one is the chief alone"),
        pytest.param(2, [1, 1], id="two are a chief and a worker"),
        pytest.param(10, [1, 9], id="ten are a chief and nine workers"),
    ],
)
def test_the_chief_is_one_of_the_replicas(count, counts):
    assert [pool.replica_count for pool in chief_worker_pool(POOL, count)] == counts


@pytest.mark.parametrize("pool", [POOL, PACKAGE], ids=["container", "package"])
@pytest.mark.parametrize("field", ["machine_spec", "disk_spec", "nfs_mounts", "task"])
def test_workers_are_like_the_chief(pool, field):
    chief, workers = chief_worker_pool(pool, 3)
    assert getattr(chief, field) == getattr(workers, field) == getattr(pool, field)


@pytest.mark.parametrize("count", [0, -1, -10])
def test_no_replicas_are_rejected(count):
    with pytest.raises(
        ValueError, match=f"{count} replicas are not allowed; give a whole number of 1 or more"
    ):
        chief_worker_pool(POOL, count)


@given(st.integers(1, 10_000))
def test_the_replicas_add_up(count):
    assert sum(pool.replica_count for pool in chief_worker_pool(POOL, count)) == count


@given(st.integers(1, 100))
def test_replicas_of_a_valid_pool_are_a_valid_job(count):
    assert validate_pools(chief_worker_pool(jobs.pool(), count)) == []
