"""Wheels and source distributions that someone else built, taken as they are."""

from __future__ import annotations

from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)

from vertex_training.packaging.archive import unreadable
from vertex_training.topology.problems import Problem

_SIGNATURES = {".whl": (b"PK\x03\x04", "a wheel"), ".tar.gz": (b"\x1f\x8b", "a gzip archive")}


def built_ending(path: Path) -> str | None:
    """The ending of a file that is a package already, or None."""
    return next((ending for ending in _SIGNATURES if path.name.endswith(ending)), None)


def built_problems(path: Path, ending: str) -> list[Problem]:
    """Why pip would not take the file (PyPA specifications of wheel and source distribution file names)."""
    problems: list[Problem] = []
    try:
        if ending == ".whl":
            _, _, _, tags = parse_wheel_filename(path.name)
            platforms = sorted({tag.platform for tag in tags})
            if not any(name == "any" or "linux" in name for name in platforms):
                built_for = ", ".join(platforms)
                message = f"{path.name} is built for {built_for}; replicas run Linux. Build it for that."
                problems.append(Problem(path="source", message=message, level="warning"))
        else:
            parse_sdist_filename(path.name)
    except (InvalidWheelFilename, InvalidSdistFilename):
        form = "name-version-py3-none-any.whl" if ending == ".whl" else "name-version.tar.gz"
        message = f"{path.name!r} is not a file name that pip accepts. It has the form {form}."
        problems.append(Problem(path="source", message=message))
    signature, what = _SIGNATURES[ending]
    try:
        with path.open("rb") as file:
            start = file.read(len(signature))
    except OSError as error:
        return [*problems, unreadable("source", error)]
    if start != signature:
        message = f"{path.name} is not {what}: it does not begin like one. Build or download it again."
        problems.append(Problem(path="source", message=message))
    return problems
