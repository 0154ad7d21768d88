"""Parse a lock file: a requirements.txt with one version and hashes in every line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pulumi_vertex_training.images.dockerfile.rules import HASHED_LOCK
from pulumi_vertex_training.packaging.archive import unreadable
from vertex_training.findings.problems import Problem

LOCK_REMEDY: Final = (
    "Write the file with `uv pip compile --generate-hashes` or `pip-compile --generate-hashes`."
)

_INDEX_OPTIONS: Final = (
    *("--index-url", "-i", "--extra-index-url", "--no-index"),
    *("--find-links", "-f", "--trusted-host"),
)
_IGNORED_OPTIONS: Final = ("--only-binary", "--prefer-binary", "--require-hashes", "--pre")
_HASH = re.compile(r"--hash[= ](\S+)")
_MACHINES: Final = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}


@dataclass(frozen=True, kw_only=True)
class Pin:
    """A requirement without its marker, in pip's format, and its hashes: SHA-256, in hex, sorted."""

    name: str
    requirement: str
    hashes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Lock:
    """The requirements that apply, by name, and the options that tell pip where to find them."""

    pins: tuple[Pin, ...]
    options: tuple[str, ...]


def read_lock(path: Path, *, python_version: str, platform: str) -> tuple[Lock, list[Problem]]:
    """Return the lock for a Python ("3.11") and a platform ("linux/amd64"), and the problems of its lines.

    Markers are evaluated for that Python and platform, not for the machine that runs this.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"{path} does not exist. Give the path of the lock file, or leave it out. {LOCK_REMEDY}"
        return Lock(pins=(), options=()), [HASHED_LOCK.broken("requirements", message)]
    except OSError as error:
        return Lock(pins=(), options=()), [unreadable(path.name, error)]
    except UnicodeDecodeError:
        message = f"is not text in UTF-8. {LOCK_REMEDY}"
        return Lock(pins=(), options=()), [HASHED_LOCK.broken(path.name, message)]
    environment = target_environment(python_version, platform)
    problems: list[Problem] = []
    pins: dict[str, Pin] = {}
    options: list[str] = []
    for number, line in _logical_lines(text):
        place = f"{path.name}:{number}"
        if line.startswith("-"):
            option = re.split(r"[= ]", line, maxsplit=1)[0]
            if option in _INDEX_OPTIONS:
                options.append(line)
            elif option not in _IGNORED_OPTIONS:
                message = f"{without_credentials(line)!r} cannot be part of a lock file. {LOCK_REMEDY}"
                problems.append(HASHED_LOCK.broken(place, message))
            continue
        try:
            pin = _pin(line, environment)
        except ValueError as error:
            problems.append(HASHED_LOCK.broken(place, f"{without_credentials(str(error))} {LOCK_REMEDY}"))
            continue
        if pin and pin.name in pins:
            message = f"{pin.name} is required twice for Python {python_version}. Remove one of the lines."
            problems.append(HASHED_LOCK.broken(place, message))
        elif pin:
            pins[pin.name] = pin
    return Lock(pins=tuple(pins[name] for name in sorted(pins)), options=tuple(options)), problems


def without_credentials(text: str) -> str:
    """Mask the part before the host of every address in a message: it may be a password."""
    return re.sub(r"://[^/@\s'\"]*@", "://****@", text)


def target_environment(python_version: str, platform: str) -> dict[str, str]:
    """Return the values for the markers of requirements (PyPA specification "Dependency specifiers")."""
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python_version}.0",
        "os_name": "posix",
        "platform_machine": _MACHINES.get(platform, "x86_64"),
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{python_version}.0",
        "python_version": python_version,
        "sys_platform": "linux",
        "extra": "",
    }


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; continued lines are joined, comments dropped."""
    start = 0
    parts: list[str] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*$", "", raw).strip()
        start = start if parts else number
        if line.endswith("\\"):
            parts.append(line[:-1].strip())
            continue
        joined = " ".join(part for part in [*parts, line] if part)
        parts = []
        if joined:
            yield start, joined
    if parts:
        yield start, " ".join(parts)


def _pin(line: str, environment: dict[str, str]) -> Pin | None:
    """Return the pin of a line, or None if its marker does not apply. Raises ValueError."""
    hashes = _HASH.findall(line)
    text = _HASH.sub("", line).strip()
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is not a requirement.") from error
    marker: Marker | None = requirement.marker
    if marker is not None and not marker.evaluate(environment):
        return None
    exact = [each for each in requirement.specifier if each.operator in ("==", "===")]
    if requirement.url is None and (len(exact) != 1 or "*" in exact[0].version):
        raise ValueError(f"{text!r} does not pin a single version.")
    wanted = sorted({value.partition(":")[2].lower() for value in hashes if value.startswith("sha256:")})
    if not wanted:
        raise ValueError(f"{text!r} has no hash.")
    malformed = [value for value in wanted if not re.fullmatch(r"[0-9a-f]{64}", value)]
    if malformed:
        raise ValueError(f"{malformed[0]!r} is not a SHA-256.")
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    where = f" @ {requirement.url}" if requirement.url else str(requirement.specifier)
    name = str(canonicalize_name(requirement.name))
    return Pin(name=name, requirement=f"{requirement.name}{extras}{where}", hashes=tuple(wanted))
