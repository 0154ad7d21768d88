"""Programs that know the emulator only from the variables of `vertex-training emulator env`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.clients.tools import tool
from support.emulated.emulator import PROJECT, shell_variables
from support.emulated.job_emulator import JobEmulator, Token
from vertex_emulator.daemon.daemon import Daemon, Settings

Script = Callable[..., Any]
Run = Callable[..., str]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobEmulator]:
    """Yield an emulator with its default settings."""
    daemon = Daemon(Settings(data_dir=tmp_path_factory.mktemp("emulator")))
    try:
        daemon.start()
        yield JobEmulator(daemon)
    finally:
        daemon.close()


@pytest.fixture(scope="module")
def environment(emulator: JobEmulator, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a shell environment after `vertex-training emulator env` was evaluated, without a proxy."""
    outer = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    settings = shell_variables(emulator.daemon, outer)
    return {**outer, **settings, "HOME": str(tmp_path_factory.mktemp("home"))}


@pytest.fixture(scope="module")
def script(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Script:
    """Runs a Python program, whose function `tell(name=value, ...)` says what it found, and returns that."""
    folder = tmp_path_factory.mktemp("scripts")

    def run(code: str, *arguments: str, **more: str) -> Any:
        answer = folder / "answer.json"
        answer.unlink(missing_ok=True)
        path = folder / "program.py"
        path.write_text(_TELL + code)
        done = subprocess.run(
            [sys.executable, str(path), *arguments],
            env={**environment, "ANSWER": str(answer), **more},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(answer.read_text())

    return run


_TELL = """
import json, os
_told = {}
def tell(**values):
    _told.update(values)
    with open(os.environ["ANSWER"], "w") as file:
        json.dump(_told, file)
"""


@pytest.fixture(scope="module")
def gcloud(environment: Mapping[str, str]) -> Run:
    """Runs gcloud and returns what it prints, or with `fails=True` what it says of its failure."""
    program = tool("gcloud")
    settings = {
        **environment,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
    }

    def run(*words: str, fails: bool = False, errors: bool = False) -> str:
        done = subprocess.run([program, *words], env=settings, capture_output=True, text=True, timeout=120)
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails or errors else done.stdout

    return run


@pytest.fixture(scope="module")
def bucket(emulator: JobEmulator) -> str:
    """Create a bucket in the location of the jobs and return its name."""
    emulator.call(
        "POST", f"/storage/v1/b?project={PROJECT}", {"name": "train", "location": "us-central1"}
    ).ok()
    return "train"


@pytest.fixture(scope="module")
def token(emulator: JobEmulator) -> Token:
    """Return the emulator's token, for requests without the tested client."""
    return Token(emulator.daemon.token)


@pytest.fixture
def written(emulator: JobEmulator) -> Callable[[str], str]:
    """Return a function that reads an object."""

    def read(name: str) -> str:
        return Path(emulator.data_dir, "buckets", name).read_text()

    return read
