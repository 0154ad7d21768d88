"""`status` of a job that failed has the diagnosis, as text and as JSON, and the schema has each key."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support import json_schema
from support.emulated.command import environment, run
from support.services.training import job
from support.waiting import eventually
from vertex_emulator.testing.emulator import VertexEmulator

KEYS = json_schema.keys("status")
FREE = ("labels", "jobSpec")
"""Keys whose contents are the API's."""


def paths(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}".lstrip(".")
            yield here
            if here not in FREE:
                yield from paths(item, here)
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, f"{path}[]")


def ended(vertex_emulator: VertexEmulator, name: str, script: str) -> None:
    endpoint = Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=vertex_emulator.host,
        token=vertex_emulator.token,
    )
    created = custom_jobs.create(endpoint, job(name, script))
    eventually(lambda: custom_jobs.get(endpoint, created.name).state.is_terminal)


def test_status_says_why_a_job_failed(vertex_emulator: VertexEmulator, tmp_path: Path) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(vertex_emulator.data_dir))
    ended(vertex_emulator, "digits", "import flowers")
    text = run("status", "digits", env=env)
    assert (text.code, text.err) == (0, "")
    lines = text.out.splitlines()
    assert re.fullmatch(r"digits  FAILED after \d+s  custom job", lines[0]), "the error comes first"
    assert lines[1] == "Error:    The replica workerpool0-0 exited with a non-zero status of 1."
    assert lines[2].strip() == "ModuleNotFoundError: No module named 'flowers'"
    assert "Labels:" not in text.out and "Resource:" not in text.out
    assert "Resource: projects/" in run("status", "digits", "--verbose", env=env).out
    assert text.out.count("ModuleNotFoundError: No module named 'flowers'") == 2, "in the log's end, too"
    assert "Cause:    the Python module flowers is missing (likely)\n" in text.out
    assert "Remedy:   Add it to the package's dependencies" in text.out

    document = run("status", "digits", "--json", env=env).json
    others = ("progress.", "notifications", "stragglers", "notFinite")
    elsewhere = {
        "rung",
        "waitsFor",
        "webAccessUris",
        "lineage",
        *(key for key in KEYS if key.startswith(others)),
    }
    assert set(paths(document)) == KEYS - elsewhere
    json_schema.check("status", document)
    assert document["progress"] is None
    diagnosis = document["diagnosis"]
    assert (diagnosis["replica"], diagnosis["exitCode"]) == ("workerpool0-0", 1)
    assert diagnosis["kind"] == "missing_module"
    assert diagnosis["exception"] == "ModuleNotFoundError: No module named 'flowers'"
    assert diagnosis["lines"][-1] == "ModuleNotFoundError: No module named 'flowers'"
    followed = run("logs", "digits", "--follow", env=env)
    assert "Likely cause: the Python module flowers is missing." in followed.err
    assert "ModuleNotFoundError" not in followed.err


def test_every_view_names_the_python_that_lacks_a_package_of_googles_image(
    vertex_emulator: VertexEmulator, tmp_path: Path
) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(vertex_emulator.data_dir))
    ended(vertex_emulator, "digits", "raise ModuleNotFoundError(\"No module named 'sklearn'\")")
    command = f"{sys.executable} -m pip install scikit-learn"
    assert command in run("status", "digits", "--json", env=env).json["diagnosis"]["remedy"]
    assert command in run("logs", "digits", "--follow", env=env).err
    assert command in run("watch", "digits", env=env).out


def test_status_of_a_job_that_succeeded_has_none(vertex_emulator: VertexEmulator, tmp_path: Path) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(vertex_emulator.data_dir))
    ended(vertex_emulator, "digits", "print('done')")
    assert "diagnosis" not in run("status", "digits", "--json", env=env).json
    assert "Cause" not in run("status", "digits", env=env).out
