"""The JSON Schema has every command, and the keys of `logs` and `cancel`."""

from __future__ import annotations

import json
from pathlib import Path

import check_jsonschema  # noqa: F401  (brings jsonschema)
import jsonschema

from pulumi_vertex_training.cli import parser
from support import json_schema
from support.emulated.command import environment, run
from support.emulated.job_emulator import job, job_id, pool
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_emulator.daemon import reset as emulator_reset

JOBS = "/v1/projects/local/locations/us-central1/customJobs"
TRAINER = "import time; print('trained', flush=True); time.sleep(600)"


def test_the_keys_of_logs_and_cancel(tmp_path: Path) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(tmp_path / "data"))
    emulator = launcher.ensure(tmp_path / "data")
    try:
        control = Control(url=emulator.url, token=emulator.token)
        made = job_id(str(control.call("POST", JOBS, job(pool(TRAINER)))["name"]))
        lines = eventually(lambda: trained(run("logs", made, "--json", env=env).out), every=0.5)
        assert {key for line in lines for key in json.loads(line)} == json_schema.keys("logs")
        json_schema.check("logs", json.loads(lines[0]))
        cancelled = run("cancel", made, "--json", env=env).json
        json_schema.check("cancel", cancelled)
        assert {*cancelled, "error"} == json_schema.keys("cancel")  # it has an error if it has ended already
    finally:
        emulator_reset.reset(tmp_path / "data")


def trained(output: str) -> list[str]:
    """Return the lines of a log that has the line of the program, else nothing."""
    return output.splitlines() if '"trained"' in output else []


def test_every_command_with_json_has_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema.SCHEMA)
    described = {
        *json_schema.SCHEMA["$defs"],
        "emulator clock",
        "ui",
    }  # as `clock show`; a paragraph of the page
    named = [
        one.prog.removeprefix("vertex-training ")
        for one in parser.build().each()
        if "--json" in one.options()
    ]
    assert [name for name in named if name not in described] == []
