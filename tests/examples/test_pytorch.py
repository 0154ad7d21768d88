"""PyTorch's DistributedDataParallel, from the environment and with torchrun: equal weights everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from scripts.tools import pytorch_client
from support.client.examples import saved_models
from support.client.examples.example import FOLDER, Example, NewExample
from support.tables import not_empty

pytestmark = pytest.mark.slow  # PyTorch in nine processes, twice

FOLDERS = (os.environ.get("TORCH_FOLDER", ""), str(pytorch_client.FOLDER))
"""The second is that of `make tools`."""

LOAD = """
import csv, gzip, sys
import torch
with gzip.open(sys.argv[1], "rt") as file:
    table = torch.tensor([[float(number) for number in row] for row in csv.reader(file)])[-360:]
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
for path in sys.argv[2:]:
    model.load_state_dict(torch.load(path))
    print(float((model(table[:, :-1] / 16).argmax(1) == table[:, -1].long()).float().mean()))
"""


PREFIXES = {"environment": ("",), "torchrun": ("[default0]:", "[default1]:")}
"""Prefixes of the lines that a replica's processes print. torchrun names the process on its machine."""


@dataclass(frozen=True)
class Training:
    """The output of a job, and the accuracy of its model, loaded by another process."""

    outputs: dict[str, Any]
    processes: list[str]
    losses: list[tuple[int, float]]
    trained: list[list[str]]
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Both jobs to their end, then with a million epochs, of which each loses a worker."""

    trainings: dict[str, Training]
    continued_after: list[int]
    losses_of_both_attempts: list[tuple[int, float]]
    output: str


@pytest.fixture(scope="module")
def torch_folder() -> str:
    """Return a folder with PyTorch for the Python that runs the emulator; skip the tests without one."""
    for folder in FOLDERS:
        if folder and run_python(folder, "import torch.distributed").returncode == 0:
            return folder
    message = "no PyTorch for this Python. Run `make tools` on Debian 12, or name its folder in TORCH_FOLDER"
    return (pytest.fail if os.environ.get("CI") and pytorch_client.PYTHON.exists() else pytest.skip)(message)


@pytest.fixture(scope="module")
def steps(example: NewExample, torch_folder: str) -> Steps:
    made = example("pytorch")
    made.set("torchFolder", torch_folder)
    made.up().ok()
    trainings = {name: training(made, name, torch_folder) for name in PREFIXES}

    first = {name: made.job(name, "SUCCEEDED").name for name in PREFIXES}
    made.set("epochs", "1000000")
    deployment = made.start_up()
    running = {name: made.job(name, "RUNNING").name for name in PREFIXES}
    assert not set(first.values()) & set(running.values())
    for name, prefixes in PREFIXES.items():
        made.lines(running[name], f"{prefixes[0]}finished ", 2)  # the first one follows a checkpoint
        made.control().kill_replica(running[name].rpartition("/")[2], "workerpool1-1")
    made.job("torchrun", "FAILED")
    continued = made.lines(running["environment"], "continues after epoch ", 3)
    # Its checkpoint was not there, so the second attempt has to train it.
    made.lines(running["environment"], f"finished {int(continued[0]) + 5} ")
    both = losses(made, running["environment"], "", 2)
    custom_jobs.cancel(made.endpoint(), running["environment"])
    output, _ = deployment.communicate()
    return Steps(
        trainings=trainings,
        continued_after=[int(each) for each in continued],
        losses_of_both_attempts=both,
        output=output,
    )


def training(made: Example, name: str, torch_folder: str) -> Training:
    """Record what a job printed, and load its model."""
    job, outputs, prefixes = made.job(name, "SUCCEEDED").name, made.outputs()[name], PREFIXES[name]
    model = saved_models.bucket(made, outputs["model"].removeprefix("gs://")) / "model.pt"
    loaded = run_python(torch_folder, LOAD, FOLDER / "digits" / "data" / "digits.csv.gz", model)
    assert loaded.returncode == 0, loaded.stderr
    return Training(
        outputs=outputs,
        processes=[line for each in prefixes for line in made.lines(job, f"{each}process ", 3)],
        losses=losses(made, job, prefixes[0], 5),
        trained=[line.split() for each in prefixes for line in made.lines(job, f"{each}trained ", 3)],
        accuracy=float(loaded.stdout),
    )


def losses(made: Example, job: str, prefix: str, count: int) -> list[tuple[int, float]]:
    lines = [line.split(" loss ") for line in made.lines(job, f"{prefix}finished ", count)]
    return [(int(epoch), float(loss)) for epoch, loss in lines]


def run_python(folder: str, program: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": folder},
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_process_on_each_machine_and_one_for_each_accelerator(steps: Steps) -> None:
    for name, size in (("environment", 3), ("torchrun", 6)):
        assert sorted(steps.trainings[name].processes) == [f"{rank} of {size}" for rank in range(size)]
        assert steps.trainings[name].outputs["metrics"]["processes"] == size


def test_the_loss_falls(steps: Steps) -> None:
    for each in not_empty(steps.trainings.values()):
        assert [epoch for epoch, _ in each.losses] == [1, 5, 10, 15, 20]
        found = [loss for _, loss in each.losses]
        assert found == sorted(found, reverse=True)
        assert found[-1] < found[0] / 5


def test_all_processes_end_with_the_same_weights(steps: Steps) -> None:
    for name, size in (("environment", 3), ("torchrun", 6)):
        trained = steps.trainings[name].trained
        assert sorted(rank for rank, _ in trained) == [str(rank) for rank in range(size)]
        assert len({digest for _, digest in trained}) == 1


def test_the_saved_models_read_digits(steps: Steps) -> None:
    for each in not_empty(steps.trainings.values()):
        assert each.outputs["state"] == "SUCCEEDED"
        assert each.accuracy > 0.85
        assert each.outputs["metrics"]["accuracy"] == pytest.approx(each.accuracy)


def test_a_killed_worker_costs_only_the_epochs_since_the_checkpoint(steps: Steps) -> None:
    assert len(set(steps.continued_after)) == 1
    checkpoint = steps.continued_after[0]
    assert checkpoint >= 5
    found = steps.losses_of_both_attempts
    assert [epoch for epoch, _ in found].count(1) == 1, "the second attempt began at the first epoch"
    assert dict(found)[checkpoint + 5] < dict(found)[1] / 2


def test_without_retries_a_killed_worker_fails_the_job(steps: Steps) -> None:
    assert "torchrun: custom job" in steps.output
    assert "FAILED" in steps.output
