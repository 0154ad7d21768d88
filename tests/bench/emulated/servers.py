"""The emulator and public servers of the same protocols, each in a process of its own on this machine."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.layout import layout
from vertex_emulator.client import launcher
from vertex_emulator.client.launcher import Emulator

PINS = Path(__file__).with_name("peers.txt")
"""The locked requirements of gcp-storage-emulator, which is installed for this table alone."""

_REGISTRY = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A public server; without an address, `why_not` has the reason."""

    name: str
    url: str = ""
    why_not: str = ""


@contextmanager
def emulator() -> Iterator[Emulator]:
    with tempfile.TemporaryDirectory() as folder:
        found = launcher.ensure(Path(folder))
        try:
            yield found
        finally:
            launcher.stop(Path(folder))


@contextmanager
def gcp_storage_emulator() -> Iterator[Peer]:
    """Run the server from PyPI, in a virtual environment in the cache folder. It keeps objects in files."""
    name = PINS.read_text().split(" ", 1)[0].replace("==", " ")
    try:
        python = _installed()
    except (subprocess.CalledProcessError, OSError) as error:
        yield Peer(name=name, why_not=f"could not be installed: {error}")
        return
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        command = [python, "-m", "gcp_storage_emulator", f"--data-dir={folder}", "start", f"--port={port}"]
        with _served([*command, "--host=127.0.0.1", "--quiet"], Path(folder), port):
            yield Peer(name=name, url=f"http://127.0.0.1:{port}")


@contextmanager
def docker_registry() -> Iterator[Peer]:
    """Run Debian's package of the reference implementation, if it is installed."""
    name, program = "docker-registry", shutil.which("docker-registry")
    if program is None:
        yield Peer(name=name, why_not="not on PATH: apt-get install docker-registry")
        return
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout.split()
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        settings = Path(folder, "config.yml")
        settings.write_text(_REGISTRY.format(folder=f"{folder}/data", port=port))
        with _served([program, "serve", settings], Path(folder), port):
            yield Peer(name=f"{name} {version[-1]}", url=f"http://127.0.0.1:{port}")


@contextmanager
def _served(command: Sequence[str | Path], folder: Path, port: int) -> Iterator[None]:
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=_environ(os.environ)
        )
    try:
        until = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > until or server.poll() is not None:
                    raise
                time.sleep(0.05)
        yield
    finally:
        server.terminate()
        server.wait()


def _environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without REGISTRY_..., which docker-registry reads as settings."""
    return {name: value for name, value in environ.items() if not name.startswith("REGISTRY_")}


def _installed() -> Path:
    """Return the Python of a virtual environment with the packages in `PINS`."""
    cache = layout().cache
    cache.mkdir(parents=True, exist_ok=True)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]
    folder = cache / f"bench-peers-{version}-{key}"
    python, done = folder / "bin" / "python", folder / "complete"
    with (cache / "bench-peers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            venv.create(folder, clear=True, with_pip=True)
            command = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", PINS]
            subprocess.run(command, check=True, stdout=sys.stderr)
            done.touch()
    return python


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
