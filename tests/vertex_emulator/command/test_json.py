"""The JSON Schema has every key that a command prints with --json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from support import json_schema
from support.emulated.command import environment, run_emulator
from vertex_emulator.daemon import reset as emulator_reset

STEPS = (
    ("start",),
    ("status",),
    ("env",),
    ("env", "--proxy"),
    ("fault", "add", "ListCustomJobs", "--status", "503"),
    ("fault", "list"),
    ("fault", "clear"),
    ("requests",),
    ("stop",),
    ("prune",),
    ("reset", "--yes"),
)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[tuple[str, ...], Any]]:
    """Yield the document that each step prints, one after the other."""
    folder = tmp_path_factory.mktemp("json")
    data_dir = folder / "data"
    env = environment(folder, VERTEX_TRAINING_DATA_DIR=str(data_dir))
    try:
        yield {step: run_emulator(*step, "--json", env=env).json for step in STEPS}
    finally:
        if data_dir.exists():
            emulator_reset.reset(data_dir)


def top_keys(command: str) -> set[str]:
    return {key for key in json_schema.keys(command) if "." not in key}


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
def test_the_schema_has_every_key(printed: Mapping[tuple[str, ...], Any], step: tuple[str, ...]) -> None:
    command = f"emulator {' '.join(step[:2])}" if step[0] == "fault" else f"emulator {step[0]}"
    optional = {"unset"} if step == ("env",) else set()
    assert set(printed[step]) == top_keys(command) - optional
    json_schema.check(command, printed[step])
