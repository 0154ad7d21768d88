"""The emulator's registry and other programs, which get only its address and credentials."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scripts.layout import layout
from scripts.tools import client_tools
from support.clients.tools import tool
from support.emulated.emulator import running
from support.emulated.registries.registry import RegistryClient, new_name
from vertex_emulator.daemon.daemon import Daemon

_POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}'


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("emulator") / "data") as daemon:
        yield daemon


@pytest.fixture
def registry(emulator: Daemon) -> RegistryClient:
    """Return a repository of its own for each test, over plain HTTP."""
    return RegistryClient(emulator.url, emulator.token, new_name())


@dataclass(frozen=True)
class Program:
    """A program in the test's own folder."""

    command: tuple[str, ...]
    folder: Path
    environ: dict[str, str]

    def run(self, *arguments: str | Path, fails: bool = False) -> str:
        """Return the output; of a failure, the error output."""
        done = subprocess.run(
            [*self.command, *(str(argument) for argument in arguments)],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode != 0) == fails, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stderr if fails else done.stdout


def _program(emulator: Daemon, folder: Path, name: str, options: Sequence[str | Path] = ()) -> Program:
    own = shutil.which(name, path=client_tools.path(layout(), os.environ.get("PATH", os.defpath)))
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    auth = emulator.folder.registry_auth
    environ |= {
        "REGISTRY_AUTH_FILE": str(auth),
        "DOCKER_CONFIG": str(auth.parent),
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
    }
    command = (own or str(tool(name)), *(str(option) for option in options))
    return Program(command=command, folder=folder, environ=environ)


@pytest.fixture
def skopeo(emulator: Daemon, tmp_path: Path) -> Program:
    return _program(emulator, tmp_path, "skopeo", ("--insecure-policy",))


@pytest.fixture
def buildah(emulator: Daemon, tmp_path: Path) -> Program:
    """Return buildah with its own storage, and a driver that works everywhere."""
    options = ("--storage-driver", "vfs", "--root", tmp_path / "storage", "--runroot", tmp_path / "run")
    return _program(emulator, tmp_path, "buildah", options)


@pytest.fixture
def oras(emulator: Daemon, tmp_path: Path) -> Program:
    return _program(emulator, tmp_path, "oras")


@pytest.fixture
def regctl(emulator: Daemon, tmp_path: Path, host: str) -> Program:
    """Set to send in chunks what is longer than 60 kB."""
    program = _program(emulator, tmp_path, "regctl")
    chunks = ("--blob-chunk", "50000", "--blob-max", "60000")
    program.run("registry", "set", host, "--skip-check", "--tls", "disabled", *chunks)
    return program


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """Write a policy that requires no signatures; some machines have none."""
    (tmp_path / "policy.json").write_text(_POLICY)
    return tmp_path / "policy.json"


@pytest.fixture
def host(emulator: Daemon) -> str:
    return urlsplit(emulator.url).netloc
