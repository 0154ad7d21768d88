"""Wheels and source distributions that someone else built: looked into, and taken as they are."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import IO

from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from pulumi_vertex_training.packaging.archive import unreadable
from pulumi_vertex_training.packaging.naming import runnable, same_name
from vertex_training.findings.problems import Problem

_SIGNATURES = {".whl": (b"PK\x03\x04", "a wheel"), ".tar.gz": (b"\x1f\x8b", "a gzip archive")}
_MOST_METADATA = 1 << 22
_AGAIN = "Build or download it again."


@dataclass(frozen=True, kw_only=True)
class BuiltPackage:
    """What a finished package says of itself, as far as it could be read; `modules` of a wheel alone."""

    name: str = ""
    version: str = ""
    requirements: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def built_ending(path: Path) -> str | None:
    """The ending of a file that is a package already, or None."""
    return next((ending for ending in _SIGNATURES if path.name.endswith(ending)), None)


def look_into(path: Path, ending: str) -> tuple[BuiltPackage, list[Problem]]:
    """What a file says of itself, and why pip would not take it or install it on a replica.

    Sources: PyPA specifications of wheel and source distribution file names, and "Core metadata".
    """
    signature, what = _SIGNATURES[ending]
    try:
        with path.open("rb") as file:
            start = file.read(len(signature))
    except OSError as error:
        return BuiltPackage(), [*_named(path, ending)[1], unreadable("source", error)]
    (name, version), problems = _named(path, ending)
    if start != signature:
        message = f"{path.name} is not {what}: it does not begin like one. {_AGAIN}"
        return BuiltPackage(), [*problems, _about(message)]
    if problems and any(problem.level == "error" for problem in problems):
        return BuiltPackage(), problems
    try:
        metadata, modules = _of_wheel(path) if ending == ".whl" else (_of_sdist(path), ())
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        message = f"{path.name} is not {what} that can be read: {error}. {_AGAIN}"
        return BuiltPackage(), [*problems, _about(message)]
    fields = HeaderParser().parsestr(metadata)
    found = BuiltPackage(
        name=str(fields.get("Name", "")),
        version=str(fields.get("Version", "")),
        requirements=tuple(fields.get_all("Requires-Dist", [])),
        modules=modules,
    )
    if not same_name(found.name, name) or not _same_version(found.version, version):
        message = (
            f"{path.name} holds {found.name or 'no name'} {found.version or 'without a version'}, which is "
            "not what its file name says; pip refuses that. Give the file the name that its build gave it."
        )
        problems.append(_about(message))
    return found, problems


def _named(path: Path, ending: str) -> tuple[tuple[str, str], list[Problem]]:
    """Name and version by the file's name, and what is wrong with it."""
    try:
        if ending == ".whl":
            name, version, _, tags = parse_wheel_filename(path.name)
            return (name, str(version)), list(_tag_problems(path, tags))
        name, version = parse_sdist_filename(path.name)
    except (InvalidWheelFilename, InvalidSdistFilename):
        form = "name-version-py3-none-any.whl" if ending == ".whl" else "name-version.tar.gz"
        message = f"{path.name!r} is not a file name that pip accepts. It has the form {form}."
        return ("", ""), [_about(message)]
    return (name, str(version)), []


def _tag_problems(path: Path, tags: frozenset[Tag]) -> Iterator[Problem]:
    platforms = sorted({tag.platform for tag in tags})
    if not any(name == "any" or "linux" in name for name in platforms):
        built_for = ", ".join(platforms)
        message = f"{path.name} is built for {built_for}; replicas run Linux. Build it for that."
        yield Problem(path="source", message=message, level="warning")
    interpreters = sorted({tag.interpreter for tag in tags})
    if not any(name.startswith(("py3", "cp3")) for name in interpreters):
        message = (
            f"{path.name} is built for {', '.join(interpreters)}; replicas run CPython 3. Build it for that."
        )
        yield Problem(path="source", message=message, level="warning")


def _of_wheel(path: Path) -> tuple[str, tuple[str, ...]]:
    """METADATA, and the modules that can be run. Raises ValueError, BadZipFile."""
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
        folders = [name for name in names if name.count("/") == 1 and name.endswith(".dist-info/METADATA")]
        if len(folders) != 1:
            raise ValueError("it has no *.dist-info/METADATA")
        record = folders[0].replace("/METADATA", "/RECORD")
        if record not in names:
            raise ValueError(f"it has no {record}")
        with file.open(folders[0]) as stream:
            text = _text(stream)
    return text, runnable(name for name in names if ".dist-info/" not in name and ".data/" not in name)


def _of_sdist(path: Path) -> str:
    """PKG-INFO of the top folder. Raises ValueError, TarError."""
    with tarfile.open(path, "r|gz") as file:
        for member in file:
            parts = member.name.removeprefix("./").split("/")
            if len(parts) == 2 and parts[1] == "PKG-INFO" and member.isfile():
                stream = file.extractfile(member)
                if stream is not None:
                    return _text(stream)
    raise ValueError("it has no PKG-INFO")


def _text(stream: IO[bytes]) -> str:
    content = stream.read(_MOST_METADATA + 1)
    if len(content) > _MOST_METADATA:
        raise ValueError("its metadata is too large")
    return content.decode("utf-8", "replace")


def _same_version(one: str, other: str) -> bool:
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False


def _about(message: str) -> Problem:
    return Problem(path="source", message=message)
