"""PyTorch's DistributedDataParallel, from the environment and with torchrun: equal weights everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import saved_models
from support.examples import FOLDER, NewExample

pytestmark = pytest.mark.slow  # PyTorch in nine processes

FOLDERS = (os.environ.get("TORCH_FOLDER", ""), "/usr/lib/python3/dist-packages")
"""The second is Debian's. PyPI has PyTorch for Linux with gigabytes of CUDA only, so it is not installed."""

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


@dataclass(frozen=True)
class Training:
    """The output of a job, and the accuracy of its model, loaded by another process."""

    outputs: dict[str, Any]
    processes: list[str]
    losses: list[float]
    trained: list[list[str]]
    accuracy: float


@pytest.fixture(scope="module")
def torch_folder() -> str:
    """Return a folder with PyTorch for the Python that runs the emulator; skip the tests without one."""
    for folder in FOLDERS:
        if folder and run_python(folder, "import torch.distributed").returncode == 0:
            return folder
    return pytest.skip("no PyTorch for this Python. To run this test, name its folder in TORCH_FOLDER")


@pytest.fixture(scope="module")
def trainings(example: NewExample, torch_folder: str) -> dict[str, Training]:
    made = example("pytorch")
    made.set("torchFolder", torch_folder)
    made.run("up", "--yes", "--skip-preview", "--non-interactive", timeout=540).ok()
    outputs = made.outputs()
    models = [
        saved_models.bucket(made, outputs[name]["model"].removeprefix("gs://")) / "model.pt"
        for name in ("environment", "torchrun")
    ]
    loaded = run_python(torch_folder, LOAD, FOLDER / "digits" / "data" / "digits.csv.gz", *models)
    assert loaded.returncode == 0, loaded.stderr
    found = {}
    for name, count, accuracy in zip(("environment", "torchrun"), (3, 6), loaded.stdout.split(), strict=True):
        job = made.job(name, "SUCCEEDED").name
        epochs = made.lines(job, "epoch ", 20)
        found[name] = Training(
            outputs=outputs[name],
            processes=made.lines(job, "process ", count),
            losses=[float(each.split()[-1]) for each in epochs],
            trained=[each.split() for each in made.lines(job, "trained ", count)],
            accuracy=float(accuracy),
        )
    return found


def run_python(folder: str, program: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": folder},
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_process_on_each_machine_and_one_for_each_accelerator(trainings: dict[str, Training]) -> None:
    for name, size in (("environment", 3), ("torchrun", 6)):
        assert sorted(trainings[name].processes) == [f"{rank} of {size}" for rank in range(size)]
        assert trainings[name].outputs["metrics"]["processes"] == size


def test_the_loss_falls(trainings: dict[str, Training]) -> None:
    for each in trainings.values():
        assert len(each.losses) == 20
        assert each.losses[-1] < each.losses[0] / 5


def test_all_processes_end_with_the_same_weights(trainings: dict[str, Training]) -> None:
    for name, size in (("environment", 3), ("torchrun", 6)):
        assert sorted(rank for rank, _ in trainings[name].trained) == [str(rank) for rank in range(size)]
        assert len({digest for _, digest in trainings[name].trained}) == 1


def test_the_saved_models_read_digits(trainings: dict[str, Training]) -> None:
    for each in trainings.values():
        assert each.outputs["state"] == "SUCCEEDED"
        assert each.accuracy > 0.85
        assert each.outputs["metrics"]["accuracy"] == pytest.approx(each.accuracy)
