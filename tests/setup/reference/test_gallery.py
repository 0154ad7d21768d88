"""The gallery has the pools that the programs of the examples declare."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.reference.pages import gallery
from scripts.testing import queue
from support.mocked_program import run
from support.tables import not_empty

ROOT = Path(__file__).resolve().parents[3]
JOBS = {"pytorch": "torchrun", "code-lab": "flowers-multi-gpu", "boosting": "xgboost"}
"""The job in the picture, where a program has several."""
IN_PYTHON = ("jax", "pytorch", "parameter-server", "code-lab", "boosting", "mxnet", "adanet", "tuning")
CARDS = {card.name: card for card in gallery.CARDS}


def pools(specs: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield machine, accelerators and replicas of each pool, () for one that is not used."""
    for found in specs:
        spec = {key.replace("_", "").lower(): value for key, value in found.items()}
        machine = {key.replace("_", "").lower(): value for key, value in spec.get("machinespec", {}).items()}
        if machine:
            accelerator = machine.get("acceleratortype"), machine.get("acceleratorcount")
            yield machine["machinetype"], *accelerator, int(spec.get("replicacount") or 1)
        else:
            yield ()


def declared(name: str) -> list[dict[str, Any]]:
    """Return the worker pools of the job that a program in Python declares with its defaults."""
    project = yaml.safe_load((ROOT / "examples" / name / "Pulumi.yaml").read_text(encoding="utf-8"))
    values = {key: each["default"] for key, each in project["config"].items() if "default" in each}
    config = {f"{project['name']}:{key}": str(value) for key, value in values.items()}
    program = run("local", config, folder=f"examples/{name}", project=project["name"])
    assert program.error == ""
    is_tuned = name == "tuning"
    job = program.named("HyperparameterTuningJob", "search")["trial_job_spec"] if is_tuned else None
    return (job or program.named("CustomJob", JOBS.get(name, name)))["worker_pool_specs"]


def drawn(name: str) -> list[tuple[Any, ...]]:
    return list(pools(CARDS[name].document()["jobSpec"]["workerPoolSpecs"]))


@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_card_has_the_pools_of_its_program(name: str) -> None:
    assert list(pools(declared(name))) == drawn(name)


def test_the_card_of_yaml_has_the_pools_of_its_program() -> None:
    program = yaml.safe_load((ROOT / "examples" / "yaml" / "Pulumi.yaml").read_text(encoding="utf-8"))
    chief, worker = program["resources"]["train"]["properties"]["workerPoolSpecs"]
    worker["replicaCount"] = program["config"]["workers"]["default"]
    assert list(pools([chief, worker])) == drawn("yaml") == drawn("typescript")


def test_each_example_has_a_card() -> None:
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/README.md")}
    shared = {"tensorflow", "go"}  # packages of others; the same program as TypeScript's
    assert folders - shared == {card.name for card in gallery.CARDS} - {"scarcity"}


def test_a_command_that_runs_a_test_selects_it() -> None:
    commands = [shlex.split(card.command) for card in gallery.CARDS if card.command.startswith("make test")]
    for _, _, arguments in not_empty(commands):
        option, mark, file = shlex.split(arguments.removeprefix("ARGS="))
        assert option == "-m" and queue.has_mark(ROOT, file, mark)
