"""Fetch suites with the package registries' own clients, and keep them in the user's cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.layout import layout
from suites.suite import GoSuite, Source


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Hold the lock of the cached suites."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "suites.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _environment(requirements: Sequence[str], cache: Path) -> Path:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:12]
    return cache / f"suites-python-{version}-{key}"


def has_python_for(requirements: Sequence[str]) -> bool:
    """Return whether the environment with the requirements is made already."""
    return (_environment(requirements, layout().cache) / "complete").exists()


def python_for(requirements: Sequence[str], *, cache: Path | None = None) -> Path:
    """Return the Python of an environment with the requirements. It is made once."""
    cache = cache or layout().cache
    folder = _environment(requirements, cache)
    with locked(cache):
        if not (folder / "complete").exists():
            venv.create(folder, clear=True, with_pip=True)
            command: list[str | Path] = [
                folder / "bin" / "python",
                "-m",
                "pip",
                "install",
                "--quiet",
                *requirements,
            ]
            subprocess.run(command, check=True, stdout=sys.stderr)
            (folder / "complete").touch()
    return folder / "bin" / "python"


def source_of(source: Source, *, cache: Path | None = None) -> Path:
    """Return a folder with the part of a source distribution. It is fetched once."""
    cache = cache or layout().cache
    folder = cache / f"suites-{source.distribution}-{source.version}-{source.folder.replace('/', '-')}"
    with locked(cache):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=cache) as new:
                _download([f"{source.distribution}=={source.version}"], "--no-binary", Path(new))
                unpack(next(Path(new).glob("*.tar.gz")), source.folder, Path(new) / "source")
                (Path(new) / "source").rename(folder)
    return folder


def wheels_of(requirements: Sequence[str], *, cache: Path | None = None) -> Path:
    """Return a folder with the wheels of pinned requirements, which jobs then need no index for."""
    cache = cache or layout().cache
    folder = cache / f"suites-wheels-{hashlib.sha256(repr(requirements).encode()).hexdigest()[:12]}"
    with locked(cache):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=cache) as new:
                _download(requirements, "--only-binary", Path(new) / "wheels")
                (Path(new) / "wheels").rename(folder)
    return folder


def _download(requirements: Sequence[str], kind: str, folder: Path) -> None:
    options: list[str | Path] = ["--quiet", "--no-deps", kind, ":all:", "--dest", folder]
    command = [sys.executable, "-m", "pip", "download", *options, *requirements]
    subprocess.run(command, check=True, stdout=sys.stderr)


def unpack(archive: Path, part: str, folder: Path) -> None:
    """Unpack only `part`, so that the code beside it is that of the installed wheel."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            _, _, name = member.name.partition("/")
            if name == part or name.startswith(f"{part}/"):
                member.name = name
                tar.extract(member, folder, filter="data")


def program_of(suite: GoSuite, *, cache: Path | None = None) -> Path:
    """Return the suite's program. It is built once. Raises FileNotFoundError without Go."""
    cache = cache or layout().cache
    folder = cache / f"suites-{suite.name}-{suite.version}"
    program = folder / suite.name
    go = tool("go") if not program.exists() else ""
    with locked(cache):
        if not program.exists():
            folder.mkdir(exist_ok=True)
            source = module(go, suite.module, suite.version, folder)
            subprocess.run([go, "build", "-o", folder / "new", "."], check=True, cwd=source)
            (folder / "new").rename(program)
    return program


def module(go: str, name: str, version: str, folder: Path) -> Path:
    """Return the folder of a Go module's source. It is fetched once."""
    # `go install` would ask for the list of all versions, which not every module proxy provides.
    command = [go, "mod", "download", "-json", f"{name}@{version}"]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return Path(json.loads(found)["Dir"])


def tool(name: str) -> str:
    """Return the path of a program that builds suites. Raises FileNotFoundError without it."""
    path = shutil.which(name)
    if path is None:
        raise FileNotFoundError(f"{name} is needed to build it. Install {name}.")
    return path
