"""Documents that would cost much: `explain` stops early, and says so."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.emulated.command import environment
from support.measured.memory import Measured, run_measured

ENOUGH = 150
"""Memory in MiB; an explanation of a small job takes a third of it."""


def cost(folder: Path, value: object) -> Measured:
    """Explain a document in a process of its own, and measure it."""
    file = folder / "job.json"
    file.write_text(json.dumps(value))
    command = [sys.executable, "-m", "pulumi_vertex_training.cli", "explain", str(file), "--json"]
    return run_measured(command, env=environment(folder))


MANY_NAMES = {f"machine_spec{'c' * 200}{number}": 1 for number in range(45_000)}


@pytest.mark.parametrize("pool", [MANY_NAMES, {"machine_spec" * 900_000: 1}], ids=["many", "long"])
def test_unknown_names(pool: object, tmp_path: Path) -> None:
    found = cost(tmp_path, {"workerPoolSpecs": [pool]})
    assert found.code == 2
    assert found.mib < ENOUGH
    assert len(found.out) < 1 << 20
    assert json.loads(found.out)["errors"]


def test_problems_stop_at_a_hundred(tmp_path: Path) -> None:
    pool = {"containerSpec": {"imageUri": "x", "env": [{"nam": "X"}] * 10_000}}
    errors = json.loads(cost(tmp_path, {"workerPoolSpecs": [pool]}).out)["errors"]
    assert len(errors) == 101
    assert errors[-1]["message"].startswith("has more than 100 problems; the others are not listed")


def test_names_that_no_document_has(tmp_path: Path) -> None:
    found = cost(tmp_path, {f"{'unknown' * 20}{number}": 1 for number in range(49_000)})
    assert found.mib < ENOUGH
    assert len(found.out) < 1 << 16
