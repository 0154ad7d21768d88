"""The virtual environment of a job's Python packages, cached by their content.

    python -m vertex_emulator.custom_jobs.replica.python_packages REQUEST

The supervisor runs this as a process of its own, which can be killed at any moment: an environment is valid
only with its marker, and is built under a lock. It sees the packages of the Python that runs the emulator, as
a prebuilt image has packages of its own. Further requirements of a job's packages are installed from the
package index, and so are the build backends of source distributions.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vertex_emulator.custom_jobs.replica import preparation
from vertex_emulator.custom_jobs.replica.pip import (
    InstallError,
    PipError,
    create_environment,
    print_line,
    run_pip,
)
from vertex_emulator.custom_jobs.replica.source_distributions import build_wheel, is_source_distribution
from vertex_emulator.job_folder import folder

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_MARKER = "vertex-training.json"
_LAYOUT = 2


def install(archives: Sequence[Mapping[str, str]], venvs: Path) -> Path:
    """Return the environment with the archives installed in their order. Raises `InstallError`, `OSError`."""
    for archive in archives:
        path = Path(archive["path"])
        if not archive["path"] or not path.is_file() or path.resolve() != path:  # a link is not an object
            raise InstallError(
                f"The package {archive['uri']} does not exist in the emulator. Upload it first, then create "
                "the job again."
            )
    venvs.mkdir(parents=True, exist_ok=True)
    key = _key([Path(archive["path"]) for archive in archives])
    path = venvs / key
    with _locked(venvs / f"{key}.lock"):
        requirements = _installed(path)
        if requirements is not None and not _missing(path, requirements):
            print_line(f"The packages are already installed in {path}.")
            return path
        shutil.rmtree(path, ignore_errors=True)
        _build(path, archives)
    return path


def _build(path: Path, archives: Sequence[Mapping[str, str]]) -> None:
    names = ", ".join(archive["uri"] for archive in archives)
    create_environment(path, names)
    print_line(f"Installing {names} in {path}.")
    files = _copies(path / "archives", archives)
    if _key(files) != path.name:
        raise InstallError(
            f"The packages {names} were replaced while they were being installed. Create the job again."
        )
    wheels = [
        build_wheel(path, file, archive["uri"]) if is_source_distribution(file) else file
        for file, archive in zip(files, archives, strict=True)
    ]
    _install_wheels(path, wheels, names)
    # Only now: a build must not see the packages of the emulator's Python.
    lines = [f"import site; site.addsitedir({entry!r})\n" for entry in _host_site_packages()]
    (_site_packages(path) / "_vertex_training_host.pth").write_text("".join(lines), encoding="utf-8")
    requirements = _requirements(path)
    if missing := _missing(path, requirements):
        _install_requirements(path, missing, names)
    shutil.rmtree(path / "archives")
    folder.write_json(path / _MARKER, {"requirements": requirements})


def _install_wheels(path: Path, wheels: Sequence[Path], names: str) -> None:
    try:
        run_pip(path, "install", ["--no-index", "--no-deps", "--force-reinstall", *map(str, wheels)])
    except PipError as error:
        raise InstallError(
            f"The packages {names} could not be installed. Check that each is a wheel for Linux and Python "
            f"{platform.python_version()}.\nThe last lines of pip:{error}"
        ) from None


def _install_requirements(path: Path, missing: Sequence[str], names: str) -> None:
    print_line(f"Installing their requirements: {', '.join(missing)}.")
    try:
        run_pip(path, "install", missing)
    except PipError as error:
        wanted = " ".join(f"'{requirement}'" for requirement in missing)
        raise InstallError(
            f"Requirements of the packages {names} could not be installed: {', '.join(missing)}. This needs "
            "a reachable package index (pip's own settings apply). Without one, install them for the "
            f"emulator's Python: `{sys.executable} -m pip install {wanted}`.\nThe last lines of pip:{error}"
        ) from None


def _copies(target: Path, archives: Sequence[Mapping[str, str]]) -> list[Path]:
    """Copy the archives under their own file names, which pip reads, in one folder each: names may repeat."""
    copies = []
    for number, archive in enumerate(archives):
        copy = target / str(number) / Path(archive["path"]).name
        copy.parent.mkdir(parents=True)
        shutil.copyfile(archive["path"], copy)
        copies.append(copy)
    return copies


def _key(archives: Sequence[Path]) -> str:
    digest = hashlib.sha256(f"{_LAYOUT} {platform.python_version()} {sys.prefix}".encode())
    for archive in archives:
        with archive.open("rb") as file:
            content = hashlib.sha256()
            while block := file.read(1 << 20):
                content.update(block)
        digest.update(f"{archive.name} {content.hexdigest()}".encode())
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _installed(path: Path) -> list[str] | None:
    """Return the requirements of a finished environment, or None if there is no such environment."""
    marker = folder.read_json(path / _MARKER)
    return None if marker is None else list(marker["requirements"])


def _site_packages(path: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return path / "lib" / version / "site-packages"


def _host_site_packages() -> list[str]:
    return [entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]


def _requirements(path: Path) -> list[str]:
    """Return the requirements of the installed packages on this Python."""
    from importlib.metadata import distributions

    found: dict[str, None] = {}
    for distribution in distributions(path=[str(_site_packages(path))]):
        for text in distribution.requires or []:
            requirement = _parsed(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                requirement.marker = None
                found[str(requirement)] = None
    return list(found)


def _missing(path: Path, requirements: Sequence[str]) -> list[str]:
    """Return the requirements that neither the environment nor the host's packages satisfy.

    A requirement with extras is always left to pip, which knows their meaning.
    """
    from importlib.metadata import distributions

    entries = [str(_site_packages(path)), *sys.path]
    missing = []
    for text in requirements:
        requirement = _parsed(text)
        present = next(iter(distributions(name=requirement.name, path=entries)), None)
        met = present is not None and requirement.specifier.contains(present.version, prereleases=True)
        if not met or (requirement.extras and not _extras_met(path, requirement)):
            missing.append(text)
    return missing


def _extras_met(path: Path, requirement: Requirement) -> bool:
    from importlib.metadata import distributions

    entries = [str(_site_packages(path)), *sys.path]
    present = next(iter(distributions(name=requirement.name, path=entries)))
    wanted = [
        each
        for each in map(_parsed, present.requires or [])
        if each.marker and any(each.marker.evaluate({"extra": extra}) for extra in requirement.extras)
    ]
    for each in wanted:
        each.marker = None
    return not _missing(path, [str(each) for each in wanted])


def _parsed(text: str) -> Requirement:
    from packaging.requirements import Requirement

    return Requirement(text)


def main(request_file: Path) -> None:
    """Carry out the request and write the result next to it."""
    wanted = folder.read_json(request_file)
    answer = {"path": "", "problem": ""}
    try:
        answer["path"] = str(install(wanted["archives"], Path(wanted["venvs_dir"])))
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
