"""Build and install packages: the part of an installation that handles what others wrote, in a sandbox.

    python -m vertex_emulator.replicas.preparation.packages.builder REQUEST

The installer (`installer`) starts it in a folder of its own. Nothing here sees the packages of the
emulator's Python: neither a build, nor pip's checks. Whatever the code of a package does to the files of this
folder, the result is its own job's.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from vertex_emulator.job_folder import folder
from vertex_emulator.kernel.timeouts import SUPERVISOR
from vertex_emulator.replicas.preparation import interpreters
from vertex_emulator.replicas.preparation.interpreters import Interpreter
from vertex_emulator.replicas.preparation.packages.image_packages import with_python_of_path
from vertex_emulator.replicas.preparation.packages.limits import LimitError, check_archive
from vertex_emulator.replicas.preparation.packages.pip import InstallError, PipError, check_pip, run_pip
from vertex_emulator.replicas.preparation.packages.plain_wheels import install_plain
from vertex_emulator.replicas.preparation.packages.private_python import write_environment
from vertex_emulator.replicas.preparation.packages.requirements import met_by, read_wheel, requirements_of
from vertex_emulator.replicas.preparation.packages.source_distributions import (
    build_wheel,
    is_source_distribution,
)

BUILT = "built"
"""Name of the folder with the result."""

RESULT = "result.json"

_TESTS = re.compile(r"/tests?/")
"""Modules that programs do not import, and which take most of the time to compile."""


def install_code(place: Path, archives: Sequence[Mapping[str, str]], interpreter: Interpreter) -> list[str]:
    """Install archives without their requirements. Return the requirements.

    Raises `InstallError`, `LimitError`, `OSError`.
    """
    names = ", ".join(archive["uri"] for archive in archives)
    check_pip(interpreter, names)
    scratch = place / "environment"
    write_environment(scratch, interpreter)
    wheels = [_wheel(scratch, interpreter, Path(archive["path"]), archive["uri"]) for archive in archives]
    target = place / BUILT
    try:
        if not install_plain(wheels, target, interpreter):
            options = ["--no-index", "--no-deps", "--target", str(target)]
            run_pip(scratch, interpreter, "install", [*options, *map(str, wheels)])
        metadata = [read_wheel(wheel) for wheel in wheels]
    except (PipError, ValueError, zipfile.BadZipFile) as error:
        raise InstallError(
            f"The packages {names} could not be installed. Check that each is a wheel for Linux and "
            f"Python {interpreter.version}.\nThe last lines of pip:{error}"
        ) from None
    target.mkdir(exist_ok=True)  # a wheel without a file
    _use_python_of_path(target / "bin")
    return requirements_of(metadata, interpreter)


def _wheel(scratch: Path, interpreter: Interpreter, archive: Path, uri: str) -> Path:
    """Return the wheel of an archive, which is built if necessary."""
    check_archive(archive, uri)
    if not is_source_distribution(archive):
        return archive
    wheel = build_wheel(scratch, interpreter, archive, uri)
    check_archive(wheel, uri)
    return wheel


def install_requirements(
    place: Path, requirements: Sequence[str], interpreter: Interpreter, *, names: str, present: bool
) -> None:
    """Install requirements into a new environment. Raises `InstallError`, `LimitError`, `OSError`.

    `names` are the packages that have them. `present`: copy them from the emulator's Python.
    """
    target = place / BUILT
    site = write_environment(target, interpreter)
    if present:
        for distribution in met_by(requirements, interpreter.packages) or ():
            _copy_distribution(distribution, site, target / "bin")
        compileall.compile_dir(site, quiet=2, rx=_TESTS)
    else:
        try:
            _install_from_index(place, requirements, interpreter)
        except PipError as error:
            raise InstallError(_not_installed(requirements, interpreter, names, error)) from None
    _use_python_of_path(target / "bin")


def _install_from_index(place: Path, requirements: Sequence[str], interpreter: Interpreter) -> None:
    """Get or build all wheels, then install those whose size is within the limits."""
    wheels, target = place / "wheels", place / BUILT
    run_pip(target, interpreter, "wheel", ["--wheel-dir", str(wheels), "--", *requirements])
    files = sorted(wheels.iterdir())
    for each in files:
        check_archive(each, each.name)
    run_pip(target, interpreter, "install", ["--no-index", "--no-deps", *map(str, files)])


def _not_installed(requirements: Sequence[str], interpreter: Interpreter, names: str, error: PipError) -> str:
    wanted = " ".join(f"'{requirement}'" for requirement in requirements)
    own = interpreter == interpreters.own()
    remedy = f"install them for the emulator's Python: `{sys.executable} -m pip install {wanted}`."
    without = f" Without one, {remedy}"
    return (
        f"Requirements of the packages {names} could not be installed: {', '.join(requirements)}. This "
        f"needs a reachable package index (pip's own settings apply).{without if own else ''}\n"
        f"The last lines of pip:{error}"
    )


def _copy_distribution(distribution: Distribution, site: Path, programs: Path) -> None:
    """Copy the files of an installed distribution into an environment, with their times and bytecode."""
    for file in distribution.files or ():
        source = Path(str(distribution.locate_file(file)))
        parts = file.parts
        if parts[0] != "..":
            target = site.joinpath(*parts)
        elif parts[-2] == "bin":
            target = programs / parts[-1]
        else:
            continue
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _use_python_of_path(programs: Path) -> None:
    """Let programs run with the Python in PATH: the replica's also sees the job's own packages."""
    if not programs.is_dir():
        return
    for program in programs.iterdir():
        if program.is_symlink() or not program.is_file():
            continue
        content = program.read_bytes()
        if (changed := with_python_of_path(content)) != content:
            program.write_bytes(changed)


def _carry_out(place: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    interpreter = interpreters.find(wanted["python"], timeouts=SUPERVISOR.at_least(wanted["timeout_scale"]))
    if interpreter is None:
        return {"problem": f"This machine has no Python {wanted['python']}."}
    try:
        if "archives" in wanted:
            return {"requirements": install_code(place, wanted["archives"], interpreter)}
        install_requirements(
            place,
            wanted["requirements"],
            interpreter,
            names=wanted["names"],
            present=wanted["present"],
        )
    except (InstallError, LimitError) as error:
        return {"problem": str(error)}
    except OSError as error:
        return {
            "problem": f"The packages could not be installed: {error.strerror or error} ({error.filename}). "
            "Free space on the disk of the emulator's data folder, and create the job again."
        }
    return {}


def main(request_file: Path) -> None:
    """Carry out the request and write the result next to it."""
    place = request_file.parent
    folder.write_json(place / RESULT, _carry_out(place, folder.read_json(request_file)))


if __name__ == "__main__":
    os.umask(0o077)
    main(Path(sys.argv[1]))
