"""The Python interpreters of this machine that replicas can run with."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.kernel.timeouts import DAEMON, Timeouts

_FOLDERS = (
    "~/.pyenv/versions/{}.*/bin",
    "~/.local/share/uv/python/cpython-{}*/bin",
    "/opt/python/{}*/bin",
    "/opt/pyenv/versions/{}.*/bin",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/usr/bin",
)
"""Folders of interpreters besides PATH, with the minor version in place of {}."""

_MINOR = re.compile(r"3\.\d{1,3}")

_DESCRIBE = """
import glob, json, os, sys, sysconfig
try:
    import ensurepip
    wheels = glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl"))
except ImportError:
    wheels = []
print(json.dumps({
    "version": sys.version.split()[0],
    "executable": getattr(sys, "_base_executable", None) or sys.executable,
    "base_prefix": sys.base_prefix,
    "path": [each for each in sys.path if each],
    "sites": [each for each in sys.path if each.endswith(("site-packages", "dist-packages"))],
    "wheels": wheels,
}))
"""


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """An interpreter outside any virtual environment.

    `folders` are what it needs of this machine. `packages` are the folders of its packages: for the
    emulator's own Python, the packages of the emulator's environment. `bundled_pip` is the wheel of
    `ensurepip`.
    """

    executable: Path
    version: str
    base_prefix: Path
    folders: tuple[Path, ...]
    packages: tuple[Path, ...] = ()
    bundled_pip: Path | None = None

    @property
    def minor(self) -> str:
        """The minor version, such as 3.11."""
        return ".".join(self.version.split(".")[:2])


@functools.lru_cache(maxsize=1)
def own() -> Interpreter:
    """Return the interpreter that runs the emulator, with the packages that the emulator sees."""
    base = Path(getattr(sys, "_base_executable", "") or sys.executable)
    library = {Path(each) for each in (sys.prefix, sys.base_prefix)}
    folders = {*library, Path(os.path.realpath(sys.executable)).parent, base.parent}
    folders.update(Path(entry) for entry in sys.path if entry)
    return Interpreter(
        executable=base.absolute(),
        version=".".join(map(str, sys.version_info[:3])),
        base_prefix=Path(sys.base_prefix),
        folders=tuple(sorted(path.absolute() for path in folders if path.exists())),
        packages=tuple(
            Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")
        ),
        bundled_pip=next(
            iter(sorted((Path(os.__file__).parent / "ensurepip" / "_bundled").glob("pip-*.whl"))), None
        ),
    )


@functools.lru_cache(maxsize=16)
def find(minor: str, *, timeouts: Timeouts = DAEMON) -> Interpreter | None:
    """Return an interpreter of this machine by its minor version ("3.11"), or None.

    The emulator's own comes first, then PATH, then the folders of pyenv and uv, and the system's.
    """
    if minor == own().minor:
        return own()
    if not _MINOR.fullmatch(minor):
        return None
    for candidate in _candidates(minor):
        interpreter = _described(candidate, seconds=timeouts.interpreter)
        if interpreter is not None and interpreter.minor == minor:
            return interpreter
    return None


def _candidates(minor: str) -> Iterator[Path]:
    name = f"python{minor}"
    if (named := shutil.which(name)) is not None:
        yield Path(named)
    for pattern in _FOLDERS:
        folder = Path(os.path.expanduser(pattern.format(minor)))  # noqa: PTH111 - Path raises without a home
        matches = sorted(Path(folder.anchor).glob(str(folder.relative_to(folder.anchor))), reverse=True)
        yield from (each / name for each in matches if os.access(each / name, os.X_OK))


def _described(executable: Path, *, seconds: float) -> Interpreter | None:
    """Ask an interpreter about itself; return None if it does not run."""
    try:
        answer = subprocess.run(  # noqa: S603 - an interpreter of this machine
            [executable, "-I", "-c", _DESCRIBE],
            capture_output=True,
            timeout=seconds,
            check=True,
            stdin=subprocess.DEVNULL,
        ).stdout
        description = json.loads(answer)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    base = Path(description["executable"])
    folders = {Path(description["base_prefix"]), base.parent, Path(os.path.realpath(base)).parent}
    folders.update(Path(each) for each in description["path"])
    return Interpreter(
        executable=base,
        version=description["version"],
        base_prefix=Path(description["base_prefix"]),
        folders=tuple(sorted(each for each in folders if each.exists())),
        packages=(),
        bundled_pip=Path(description["wheels"][0]) if description["wheels"] else None,
    )
