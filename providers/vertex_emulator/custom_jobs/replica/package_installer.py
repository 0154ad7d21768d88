"""Install the Python packages of a job, so that an edit of their code installs no requirement again.

    python -m vertex_emulator.custom_jobs.replica.package_installer REQUEST

The supervisor runs this as a process of its own, which can be killed at any moment: an entry of the cache
(`package_cache`) is built under a lock, and valid only with its marker. The requirements go into a virtual
environment that sees no packages of the emulator, named after the requirements. If the packages of the
emulator's Python meet all of them, and their own requirements in turn, these packages are copied; otherwise
pip installs all of them from the package index. The packages go into a folder beside it, named after their
content.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution
from pathlib import Path

from vertex_emulator.custom_jobs.replica import interpreters, package_cache, preparation
from vertex_emulator.custom_jobs.replica.image_packages import with_python_of_path
from vertex_emulator.custom_jobs.replica.interpreters import Interpreter
from vertex_emulator.custom_jobs.replica.pip import InstallError, PipError, check_pip, print_line, run_pip
from vertex_emulator.custom_jobs.replica.plain_wheels import install_plain
from vertex_emulator.custom_jobs.replica.private_python import write_environment
from vertex_emulator.custom_jobs.replica.requirements import met_by, missing, read_wheel, requirements_of
from vertex_emulator.custom_jobs.replica.source_distributions import build_wheel, is_source_distribution
from vertex_emulator.job_folder import folder
from vertex_emulator.kernel.timeouts import SUPERVISOR

_LAYOUT = 3
_TESTS = re.compile(r"/tests?/")
"""Modules that programs do not import, and which take most of the time to compile."""
_CHUNK = 1 << 20


def install(
    archives: Sequence[Mapping[str, str]], venvs: Path, interpreter: Interpreter
) -> tuple[Path, Path | None]:
    """Return the folder of the archives' code, and the environment of their requirements if they have any.

    Raises `InstallError`, `OSError`.
    """
    for archive in archives:
        path = Path(archive["path"])
        if not archive["path"] or not path.is_file() or path.resolve() != path:  # a link is not an object
            raise InstallError(
                f"The package {archive['uri']} does not exist in the emulator. Upload it first, then create "
                "the job again."
            )
    (venvs / package_cache.CODE).mkdir(parents=True, exist_ok=True)
    names = ", ".join(archive["uri"] for archive in archives)
    key = code_key([Path(archive["path"]) for archive in archives], interpreter)
    code = venvs / package_cache.CODE / key
    with package_cache.locked(code):
        marker = folder.read_json(code / package_cache.MARKER)
        if marker is None:
            shutil.rmtree(code, ignore_errors=True)
            requirements = install_code(code, archives, interpreter)
        else:
            print_line(f"The packages are already installed in {code}.")
            requirements = list(marker["requirements"])
    if not requirements:
        return code, None
    return code, _environment(venvs, requirements, interpreter, names)


def install_code(code: Path, archives: Sequence[Mapping[str, str]], interpreter: Interpreter) -> list[str]:
    """Install archives without their requirements into a new folder. Return the requirements."""
    names = ", ".join(archive["uri"] for archive in archives)
    check_pip(interpreter, names)
    code.mkdir(parents=True)
    print_line(f"Installing {names} in {code}.")
    # Nothing here sees the packages of the emulator's Python: neither a build, nor pip's checks.
    with tempfile.TemporaryDirectory(prefix=".build-", dir=code) as temporary:
        scratch = Path(temporary) / "environment"
        write_environment(scratch, interpreter)
        files = _copies(Path(temporary) / "archives", archives)
        if code_key(files, interpreter) != code.name:
            raise InstallError(
                f"The packages {names} were replaced while they were being installed. Create the job again."
            )
        wheels = [
            build_wheel(scratch, interpreter, file, archive["uri"]) if is_source_distribution(file) else file
            for file, archive in zip(files, archives, strict=True)
        ]
        target = code / "packages"
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
        requirements = requirements_of(metadata, interpreter)
    _use_python_of_path(code / "packages" / "bin")
    package_cache.finish(code, {"requirements": requirements})
    return requirements


def _environment(venvs: Path, requirements: Sequence[str], interpreter: Interpreter, names: str) -> Path:
    """Return the environment with the requirements installed. Raises `InstallError`, `OSError`."""
    present = met_by(requirements, interpreter.packages)
    versions = [f"{each.metadata['Name']}=={each.version}" for each in present or ()]
    path = venvs / _key(interpreter, [*requirements, "", *versions])
    site = path / "lib" / f"python{interpreter.minor}" / "site-packages"
    with package_cache.locked(path):
        if (path / package_cache.MARKER).is_file() and not missing(site, requirements):
            print_line(f"The requirements are already installed in {path}.")
            return path
        shutil.rmtree(path, ignore_errors=True)
        write_environment(path, interpreter)
        if present is not None:
            print_line(f"Copying requirements from the emulator's Python: {', '.join(versions)}.")
            for distribution in present:
                _copy_distribution(distribution, site, path / "bin")
            compileall.compile_dir(site, quiet=2, rx=_TESTS)
        else:
            _install_requirements(path, interpreter, requirements, names)
        _use_python_of_path(path / "bin")
        package_cache.finish(path, {"requirements": list(requirements)})
    return path


def _install_requirements(
    path: Path, interpreter: Interpreter, requirements: Sequence[str], names: str
) -> None:
    print_line(f"Installing their requirements in {path}: {', '.join(requirements)}.")
    try:
        run_pip(path, interpreter, "install", requirements)
    except PipError as error:
        wanted = " ".join(f"'{requirement}'" for requirement in requirements)
        own = interpreter == interpreters.own()
        remedy = f"install them for the emulator's Python: `{sys.executable} -m pip install {wanted}`."
        without = f" Without one, {remedy}"
        raise InstallError(
            f"Requirements of the packages {names} could not be installed: {', '.join(requirements)}. This "
            f"needs a reachable package index (pip's own settings apply).{without if own else ''}\n"
            f"The last lines of pip:{error}"
        ) from None


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
    """Let programs run with the Python in PATH: that of the replica also sees the job's own packages."""
    if not programs.is_dir():
        return
    for program in programs.iterdir():
        if program.is_symlink() or not program.is_file():
            continue
        content = program.read_bytes()
        if (changed := with_python_of_path(content)) != content:
            program.write_bytes(changed)


def _copies(target: Path, archives: Sequence[Mapping[str, str]]) -> list[Path]:
    """Copy the archives under their own file names, which pip reads, in one folder each: names may repeat."""
    copies = []
    for number, archive in enumerate(archives):
        copy = target / str(number) / Path(archive["path"]).name
        copy.parent.mkdir(parents=True)
        shutil.copyfile(archive["path"], copy)
        copies.append(copy)
    return copies


def code_key(archives: Sequence[Path], interpreter: Interpreter) -> str:
    """Return the key of archives with this content and these names, in this order."""
    lines = []
    for archive in archives:
        with archive.open("rb") as file:
            content = hashlib.sha256()
            while block := file.read(_CHUNK):
                content.update(block)
        lines.append(f"{archive.name} {content.hexdigest()}")
    return _key(interpreter, lines)


def _key(interpreter: Interpreter, lines: Sequence[str]) -> str:
    text = "\n".join([str(_LAYOUT), interpreter.version, str(interpreter.executable), *lines])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def main(request_file: Path) -> None:
    """Carry out the request and write the result next to it."""
    wanted = folder.read_json(request_file)
    answer = {"code": "", "environment": "", "problem": ""}
    interpreter = interpreters.find(wanted["python"], timeouts=SUPERVISOR.at_least(wanted["timeout_scale"]))
    try:
        if interpreter is None:
            raise InstallError(f"This machine has no Python {wanted['python']}.")
        code, environment = install(wanted["archives"], Path(wanted["venvs_dir"]), interpreter)
        answer.update(code=str(code), environment=str(environment or ""))
    except InstallError as error:
        answer["problem"] = str(error)
    except OSError as error:
        answer["problem"] = (
            f"The packages could not be installed: {error.strerror or error} "
            f"({error.filename or wanted['venvs_dir']}). Free space on that disk or make "
            "the folder writable, and create the job again."
        )
    folder.write_json(preparation.result_file(request_file), answer)


if __name__ == "__main__":
    os.umask(0o077)
    main(Path(sys.argv[1]))
