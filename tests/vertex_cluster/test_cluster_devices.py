"""The number of logical CPU devices of a replica on the emulator."""

from __future__ import annotations

import pytest

import vertex_cluster
from vertex_cluster import ClusterError
from vertex_training.replica_environment.job_variables import DEVICES, local_device_variables
from vertex_training.topology.pools import MachineSpec, WorkerPoolSpec


@pytest.mark.parametrize(
    ("environ", "count"),
    [({}, 0), ({DEVICES: ""}, 0), ({DEVICES: "4"}, 4), ({DEVICES: " 2 "}, 2), ({DEVICES: "0"}, 0)],
    ids=["not set", "empty", "four", "with spaces", "none"],
)
def test_the_number(environ: dict[str, str], count: int) -> None:
    assert vertex_cluster.local_devices(environ) == count


@pytest.mark.parametrize("text", ["four", "-1", "1.5", "²"])
def test_invalid_numbers(text: str) -> None:
    with pytest.raises(ClusterError, match=DEVICES):
        vertex_cluster.local_devices({DEVICES: text})


def test_the_environment_of_this_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEVICES, "3")
    assert vertex_cluster.local_devices() == 3


@pytest.mark.parity("Custom jobs: accelerators")
def test_the_variable_is_the_one_that_the_emulator_sets() -> None:
    machine = MachineSpec(machine_type="g2-standard-24", accelerator_type="NVIDIA_L4", accelerator_count=2)
    variables = local_device_variables(WorkerPoolSpec(machine_spec=machine, replica_count=1))
    assert vertex_cluster.local_devices(variables) == 2
