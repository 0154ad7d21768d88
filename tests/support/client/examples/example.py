"""A folder of `examples/`, deployed by the real Pulumi CLI as a user would: a copy, a stack, `up`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from support.client import engine
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

FOLDER = Path(__file__).resolve().parents[4] / "examples"
PYTHON = "3.11"
"""The Python version of the examples' images and lock files."""

_UP = ("up", "--yes", "--skip-preview", "--non-interactive")
_WAIT = 300.0
"""Seconds to wait: several replicas import a framework while other tests keep the machine busy."""


def has_python() -> bool:
    """Return whether this machine has the Python version of the images."""
    return "{}.{}".format(*sys.version_info) == PYTHON or shutil.which(f"python{PYTHON}") is not None


@dataclass
class Example(engine.Engine):
    """A copy of all examples, with the stack `test` of one of them; `folder` is the copy of that one."""

    emulator: Path = Path()
    """Data folder of the emulator, which several examples share."""

    @property
    def data_dir(self) -> Path:
        return self.emulator

    @property
    def project(self) -> str:
        """Return the name of the Pulumi project, which is in its Pulumi.yaml."""
        return str(yaml.safe_load((self.folder / "Pulumi.yaml").read_text())["name"])

    def set(self, key: str, value: str) -> None:
        super().set(key if ":" in key else f"{self.project}:{key}", value)

    def checkpoint(self) -> dict[str, Any]:
        file = self.state_folder / ".pulumi" / "stacks" / self.project / "test.json"
        return json.loads(file.read_text())["checkpoint"].get("latest") or {}

    @property
    def state_folder(self) -> Path:
        return self.folder.parents[1] / "state"

    def up(self, *arguments: str) -> engine.Result:
        return self.run(*_UP, *arguments, timeout=540)  # the first one downloads wheels

    def start_up(self) -> subprocess.Popen[str]:
        """Start a deployment, which a test interferes with. `communicate` of the result waits for its end."""
        return self.start(*_UP)

    def control(self) -> Control:
        """Return the controls of the emulator, which must be running."""
        endpoint = self.endpoint()
        return Control(url=endpoint.url, token=endpoint.token)

    def job(self, name: str, *states: str) -> JobRecord:
        """Wait until the newest job of this display name is in one of the states, and return it."""

        def found() -> JobRecord | None:
            if launcher.find(self.data_dir) is None:
                return None
            every = [one for one in custom_jobs.list_jobs(self.endpoint()) if one.display_name == name]
            newest = max(every, key=lambda one: one.wire["createTime"], default=None)
            return newest if newest and (not states or newest.state.word in states) else None

        return eventually(found, seconds=_WAIT, every=0.1, what=lambda: f"{name} is not {states}")

    def lines(self, job: str, start: str, count: int = 1, *, task: str | None = None) -> list[str]:
        """Wait for that many lines of a job's log that begin with `start`. Return all of them.

        The lines are without `start`. `job` is the full name or the id, `task` a replica as "workerpool1-0".
        """

        def printed() -> list[str]:
            entries = logs.entries(self.endpoint(), job.rpartition("/")[2], task=task)
            found = [one.message[len(start) :] for one in entries if one.message.startswith(start)]
            return found if len(found) >= count else []

        return eventually(
            printed, seconds=_WAIT, every=0.2, what=lambda: f"{start!r} is not printed {count} times by {job}"
        )


NewExample = Callable[[str], Example]
"""The fixture `example`."""


def copy(name: str, folder: Path, *, emulator: Path, python: Path) -> Example:
    """Copy the examples, and create the stack `test` of one of them on the emulator of this data folder."""
    shutil.copytree(
        FOLDER, folder / "examples", ignore=shutil.ignore_patterns("__pycache__", "Pulumi.*.yaml")
    )
    (folder / "state").mkdir()
    made = Example(folder=folder / "examples" / name, emulator=emulator)
    made.environment = engine.environment(folder, emulator)
    made.environment["PULUMI_PYTHON_CMD"] = str(python)
    made.run("stack", "init", "test").ok()
    made.set("vertex-training:lookupTimeout", "120")  # no test bets on the speed of a machine
    return made
