"""The logical devices of the CPU, as many as a machine of the pool has accelerators."""

from __future__ import annotations

import pytest

from vertex_training.replica_environment.job_variables import local_device_variables
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec

FLAG = "--xla_force_host_platform_device_count"


def pool(count: int) -> WorkerPoolSpec:
    kind = "NVIDIA_L4" if count else None
    machine = MachineSpec(machine_type="g2-standard-48", accelerator_type=kind, accelerator_count=count)
    return WorkerPoolSpec(machine_spec=machine, replica_count=1)


@pytest.mark.parametrize("count", [1, 4, 16])
def test_each_accelerator_is_a_device(count: int) -> None:
    assert local_device_variables(pool(count)) == {
        "VERTEX_CLUSTER_LOCAL_DEVICES": str(count),
        "XLA_FLAGS": f"{FLAG}={count}",
    }


def test_a_machine_without_accelerators_has_no_variable() -> None:
    assert local_device_variables(pool(0)) == {}


def test_a_pool_without_a_machine_has_no_variable() -> None:
    assert local_device_variables(WorkerPoolSpec()) == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"XLA_FLAGS": "--xla_dump_to=/tmp/x"}, f"--xla_dump_to=/tmp/x {FLAG}=2"),
        ({"XLA_FLAGS": f"{FLAG}=8"}, f"{FLAG}=8"),
        ({"XLA_FLAGS": ""}, f"{FLAG}=2"),
    ],
    ids=["another flag stays", "the same flag counts", "empty"],
)
def test_flags_of_the_jobs_own(given: dict[str, str], expected: str) -> None:
    assert local_device_variables(pool(2), given)["XLA_FLAGS"] == expected


def test_a_number_of_the_jobs_own_counts() -> None:
    given = {"VERTEX_CLUSTER_LOCAL_DEVICES": "1"}
    assert local_device_variables(pool(2), given)["VERTEX_CLUSTER_LOCAL_DEVICES"] == "1"
