"""The page of the JSON has every command, and the keys of those of the emulator, `logs` and `cancel`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli import parser
from scripts.reference.markdown import JSON_PAGE
from support.emulated.command import environment, run
from support.emulated.job_emulator import job, job_id, pool
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_emulator.daemon import reset as emulator_reset

PAGE = JSON_PAGE.read_text(encoding="utf-8")
KEYS = {
    command: set(re.findall(r"`([\w.\[\]]+)`", keys))
    for command, keys in re.findall(r"^\| `(emulator [\w -]+)` \| (.*) \|$", PAGE, re.MULTILINE)
}
SECTIONS = {
    section.partition("\n")[0]: set(re.findall(r"^\| `([\w.\[\]]+)` \|", section, re.MULTILINE))
    for section in PAGE.split("\n## ")[1:]
}
JOBS = "/v1/projects/local/locations/us-central1/customJobs"
TRAINER = "import time; print('trained', flush=True); time.sleep(600)"
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
    ("reset", "--yes"),
)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[tuple[str, ...], Any]]:
    """Yield the document that each step prints, one after the other."""
    folder = tmp_path_factory.mktemp("json")
    data_dir = folder / "data"
    env = environment(folder, VERTEX_TRAINING_DATA_DIR=str(data_dir))
    try:
        yield {step: run("emulator", *step, "--json", env=env).json for step in STEPS}
    finally:
        if data_dir.exists():
            emulator_reset.reset(data_dir)


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
def test_the_page_has_every_key(printed: Mapping[tuple[str, ...], Any], step: tuple[str, ...]) -> None:
    command = f"emulator {' '.join(step[:2])}" if step[0] == "fault" else f"emulator {step[0]}"
    optional = {"unset"} if step == ("env",) else set()
    assert set(printed[step]) == KEYS[command] - optional


def test_the_keys_of_logs_and_cancel(tmp_path: Path) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(tmp_path / "data"))
    emulator = launcher.ensure(tmp_path / "data")
    try:
        control = Control(url=emulator.url, token=emulator.token)
        made = job_id(str(control.call("POST", JOBS, job(pool(TRAINER)))["name"]))
        lines = eventually(lambda: trained(run("logs", made, "--json", env=env).out), every=0.5)
        assert {key for line in lines for key in json.loads(line)} == SECTIONS["logs"]
        cancelled = set(run("cancel", made, "--json", env=env).json)
        assert cancelled | {"error"} == SECTIONS["cancel"]  # it has an error if it has ended already
    finally:
        emulator_reset.reset(tmp_path / "data")


def trained(output: str) -> list[str]:
    """Return the lines of a log that has the line of the program, else nothing."""
    return output.splitlines() if '"trained"' in output else []


def test_every_command_with_json_is_on_the_page() -> None:
    described = {*SECTIONS, *KEYS, "emulator clock", "ui"}  # the same as `clock show`; a paragraph
    named = [
        one.prog.removeprefix("vertex-training ")
        for one in parser.build().each()
        if "--json" in one.options()
    ]
    assert [name for name in named if name not in described] == []
