"""Build source distributions of a job's packages into wheels, each with the build backend that it declares.

pip builds in isolation: it takes the backend from the package index, with the user's own settings of pip, and
never from the Python that runs the emulator. A training image does the same.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vertex_emulator.replicas.preparation.interpreters import Interpreter
from vertex_emulator.replicas.preparation.packages.pip import InstallError, PipError, print_line, run_pip

_LARGEST = 1 << 20
_LEGACY = ("setuptools>=40.8.0",)
"""The build requirements of a project that declares none (PEP 518)."""


@dataclass(frozen=True, kw_only=True)
class BuildSystem:
    """The [build-system] table of a project: the backend's import path, and its requirements."""

    backend: str = "setuptools.build_meta:__legacy__"
    requires: tuple[str, ...] = _LEGACY

    @property
    def distribution(self) -> str:
        """The name of the backend's top-level module, such as setuptools or hatchling."""
        return self.backend.partition(":")[0].partition(".")[0]


def is_source_distribution(archive: Path) -> bool:
    """Return whether pip has to build an archive before it can be installed."""
    return archive.suffix != ".whl"


def build_wheel(environment: Path, interpreter: Interpreter, archive: Path, uri: str) -> Path:
    """Build the wheel of a source distribution and return its path.

    Raises InstallError, whose message tells whether the package or its environment is at fault.
    """
    system = read_build_system(archive)
    wanted = f" with {' and '.join(system.requires)}" if system.requires else ""
    print_line(f"Building {uri}{wanted}.")
    target = archive.parent / "wheel"
    try:
        run_pip(environment, interpreter, "wheel", ["--no-deps", "--wheel-dir", str(target), str(archive)])
    except PipError as error:
        if missing := _unavailable(environment, interpreter, system):
            raise InstallError(
                f"{uri} is a source distribution, which {system.distribution} builds, and its build "
                f"requirements ({', '.join(system.requires)}) are not available: pip got none from the "
                "package index. The package itself is not at fault. Connect this machine to a package index, "
                "or name a folder with their wheels in PIP_FIND_LINKS before the emulator starts, or stage "
                f"a wheel, which needs no build.\nThe last lines of pip:{missing}"
            ) from None
        raise InstallError(
            f"The packages {uri} could not be installed. pip could not build the source distribution. "
            f"Correct the project, or stage a wheel, which needs no build.\nThe last lines of pip:{error}"
        ) from None
    [wheel] = target.iterdir()
    return wheel


def read_build_system(archive: Path) -> BuildSystem:
    """Return the build system that the pyproject.toml of a source distribution declares.

    An archive or table that cannot be read has the default: pip reports the fault when it builds.
    """
    with contextlib.suppress(OSError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, ValueError):
        # Imported by name: type checkers would not find the backport if it is not installed.
        toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
        document: dict[str, Any] = toml.loads(_pyproject(archive))
        table = document.get("build-system")
        if isinstance(table, dict):
            backend, requires = table.get("build-backend"), table.get("requires")
            return BuildSystem(
                backend=backend if isinstance(backend, str) else BuildSystem.backend,
                requires=tuple(map(str, requires)) if isinstance(requires, list) else _LEGACY,
            )
    return BuildSystem()


def _pyproject(archive: Path) -> str:
    """Return the pyproject.toml in the top folder, "" without one."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as file:
            names = [name for name in file.namelist() if _is_pyproject(name)]
            return file.read(names[0])[:_LARGEST].decode() if names else ""
    with tarfile.open(archive) as packed:
        for member in packed:
            content = packed.extractfile(member) if _is_pyproject(member.name) and member.isfile() else None
            if content is not None:
                return content.read(_LARGEST).decode()
    return ""


def _is_pyproject(name: str) -> bool:
    parts = name.removeprefix("./").split("/")
    return len(parts) == 2 and parts[1] == "pyproject.toml"


def _unavailable(environment: Path, interpreter: Interpreter, system: BuildSystem) -> str:
    """Return pip's last lines if it cannot get the build requirements, or "" if it can."""
    if not system.requires:
        return ""
    with tempfile.TemporaryDirectory(dir=environment) as folder:
        try:
            run_pip(
                environment,
                interpreter,
                "download",
                ["--no-deps", "--dest", folder, *_plain(system.requires)],
            )
        except PipError as error:
            return str(error) or " none"
    return ""


def _plain(requires: Sequence[str]) -> list[str]:
    """Return requirements for a command line: none of them may be read as an option."""
    return [one for one in requires if not one.lstrip().startswith("-")]
