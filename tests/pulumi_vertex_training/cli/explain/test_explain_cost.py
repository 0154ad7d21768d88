"""Documents that would cost much: `explain` stops early, and says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.command import environment

ENOUGH = 150
"""Memory in MiB; an explanation of a small job takes a third of it."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    code: int
    mib: int
    size: int
    document: Any


def cost(folder: Path, value: object) -> Cost:
    """Explain a document in a process of its own, and measure it."""
    file, printed = folder / "job.json", folder / "printed.json"
    file.write_text(json.dumps(value))
    command = [sys.executable, "-m", "pulumi_vertex_training.cli", "explain", str(file), "--json"]
    with printed.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, env=environment(folder))
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(
        code=process.returncode,
        mib=used.ru_maxrss >> (20 if sys.platform == "darwin" else 10),
        size=printed.stat().st_size,
        document=json.loads(printed.read_bytes()),
    )


@pytest.mark.parametrize(
    "pool",
    [
        pytest.param(
            {f"machine_spec{'c' * 200}{number}": 1 for number in range(45_000)}, id="10 MB of names"
        ),
        pytest.param({"machine_spec" * 900_000: 1}, id="one name of 10 MB"),
    ],
)
def test_unknown_names(pool: object, tmp_path: Path) -> None:
    found = cost(tmp_path, {"workerPoolSpecs": [pool]})
    assert found.code == 2
    assert found.mib < ENOUGH
    assert found.size < 1 << 20
    assert found.document["errors"]


def test_problems_stop_at_a_hundred(tmp_path: Path) -> None:
    pool = {"containerSpec": {"imageUri": "x", "env": [{"nam": "X"}] * 10_000}}
    errors = cost(tmp_path, {"workerPoolSpecs": [pool]}).document["errors"]
    assert len(errors) == 101
    assert errors[-1]["message"].startswith("has more than 100 problems; the others are not listed")


def test_names_that_no_document_has(tmp_path: Path) -> None:
    found = cost(tmp_path, {f"{'unknown' * 20}{number}": 1 for number in range(49_000)})
    assert found.mib < ENOUGH
    assert found.size < 1 << 16
