"""Download the wheels of a lock file with pip. Nothing else uses the network while an image is built."""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name, parse_wheel_filename

from pulumi_vertex_training.images.dockerfile.rules import HASHED_LOCK
from pulumi_vertex_training.images.wheels.requirements_lock import Lock, read_lock, without_credentials
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts
from vertex_training.findings.problems import Problem

NEWEST_GLIBC: Final = 31
"""Wheels up to manylinux_2_31 are accepted: older images of Vertex AI are Debian 11, with glibc 2.31."""

_MACHINES: Final = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}
_OLDEST_GLIBC: Final = {"x86_64": 5, "aarch64": 17}
_LEGACY: Final = {5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}
_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A wheel in a folder and its SHA-256 in hex."""

    path: Path
    sha256: str


@dataclass(frozen=True, kw_only=True)
class WheelFolder:
    """The wheels of a lock file, by file name, for one Python ("3.11") and platform ("linux/amd64")."""

    wheels: tuple[Wheel, ...]
    python_version: str
    platform: str


def fetch_wheels(
    requirements: Path,
    python_version: str,
    platform: str,
    folder: Path,
    *,
    find_links: str | None = None,
    index_url: str | None = None,
    timeouts: Timeouts = ORDINARY,
) -> WheelFolder:
    """Download the pinned wheels of a lock file to `folder`, and check the hash of each.

    With `find_links`, a folder or page of wheels, no index is used unless `index_url` names one. pip's
    options in the environment and in its own configuration files apply, so that a mirror works as usual.
    Raises PackagingError with all problems; the network's are one sentence, at the file.
    """
    lock, problems = read_lock(requirements, python_version=python_version, platform=platform)
    if problems:
        raise PackagingError(problems)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="pip-") as temporary:
        if lock.pins:
            pinned = Path(temporary, "requirements.txt")
            pinned.write_text(
                "\n".join(_lines(lock, requirements.parent, find_links, index_url)) + "\n", encoding="utf-8"
            )
            _download(
                requirements.name, pinned, Path(temporary), _target(python_version, platform), timeouts.pip
            )
        wheels = tuple(_kept(lock, Path(temporary), folder, requirements.name))
    return WheelFolder(wheels=wheels, python_version=python_version, platform=platform)


def platform_tags(platform: str) -> tuple[str, ...]:
    """Return the accepted platform tags of wheels, newest first (PEP 600; glibc only, no PEP 656)."""
    machine = _MACHINES[platform]
    tags = []
    for minor in range(NEWEST_GLIBC, _OLDEST_GLIBC[machine] - 1, -1):
        tags.append(f"manylinux_2_{minor}_{machine}")
        if minor in _LEGACY:
            tags.append(f"{_LEGACY[minor]}_{machine}")
    return (*tags, f"linux_{machine}")


def _target(python_version: str, platform: str) -> list[str]:
    tags = [word for tag in platform_tags(platform) for word in ("--platform", tag)]
    return ["--python-version", python_version, "--implementation", "cp", *tags]


def _lines(lock: Lock, folder: Path, find_links: str | None, index_url: str | None) -> Iterator[str]:
    """Yield a requirements file for pip. Markers are evaluated before, for the image's Python."""
    for line in lock.options:
        option, value = (*re.split(r"[= ]+", line, maxsplit=1), "")[:2]
        # As in pip, a folder is relative to the lock file.
        local = folder / value if option in ("--find-links", "-f") and value else None
        yield f"--find-links {shlex.quote(str(local.resolve()))}" if local and local.exists() else line
    if find_links is not None:
        yield f"--find-links {find_links}"
        if index_url is None:
            yield "--no-index"
    if index_url is not None:
        yield f"--index-url {index_url}"
    for pin in lock.pins:
        yield " ".join([pin.requirement, *(f"--hash=sha256:{each}" for each in pin.hashes)])


def _download(name: str, pinned: Path, folder: Path, target: Sequence[str], timeout: float) -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"),
        *("--require-hashes", "--only-binary=:all:", "--no-deps", "--dest", str(folder)),
        *target,
        *("--requirement", str(pinned)),
    ]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        message = f"pip did not finish within {timeout:g} s. Check whether the index responds, and run again."
        raise PackagingError([HASHED_LOCK.broken(name, message)]) from error
    if done.returncode:
        raise PackagingError([_failure(name, done.stderr + done.stdout)])


def _failure(name: str, output: str) -> Problem:
    """Summarize the output of pip in a sentence or two."""
    unanswered = re.search(r"(connection broken by|Could not fetch URL|Failed to resolve)", output)
    if unanswered:
        message = "the package index does not respond. Check its address and the network."
        return HASHED_LOCK.broken(name, f"{message} To use a mirror, set --index-url in this file.")
    missing = re.search(r"No matching distribution found for ([^\s(]+)", output)
    if missing:
        pinned = re.sub(r"[,\s]*(--hash|;).*", "", missing[1])
        message = f"{pinned} has no wheel for this Python and platform with one of the locked hashes."
        return HASHED_LOCK.broken(name, f"{message} Lock a version that has one, or build it into the base.")
    wrong = re.search(r"HASHES.*?\n\s*(\S+).*?Expected sha256 (\w+).*?Got\s+(\w+)", output, re.DOTALL)
    if wrong:
        message = f"{wrong[1]} has the hash {wrong[3]}, not {wrong[2]}: the file is not the locked one."
        return HASHED_LOCK.broken(name, f"{message} Find out why before you lock it again.")
    if "No module named pip" in output:
        message = f"pip, which fetches the wheels, is not installed for {sys.executable}. Install it there."
        return HASHED_LOCK.broken(name, message)
    lines = [line.partition("ERROR: ")[2].strip() for line in output.splitlines() if "ERROR: " in line]
    reason = (lines or output.strip().splitlines() or ["no reason given"])[-1].rstrip(".")
    reason = without_credentials(reason)
    return HASHED_LOCK.broken(name, f"pip could not fetch the wheels: {reason}. Fix that and run again.")


def _kept(lock: Lock, temporary: Path, folder: Path, name: str) -> Iterator[Wheel]:
    """Move the wheels to `folder`; check the hash of each against its pin once more."""
    hashes = {pin.name: pin.hashes for pin in lock.pins}
    for path in sorted(temporary.glob("*.whl")):
        sha256 = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                sha256.update(chunk)
        distribution = str(canonicalize_name(parse_wheel_filename(path.name)[0]))
        if sha256.hexdigest() not in hashes.get(distribution, ()):
            message = f"{path.name} has the hash {sha256.hexdigest()}, which is not locked. Lock it again."
            raise PackagingError([HASHED_LOCK.broken(name, message)])
        yield Wheel(path=path.replace(folder / path.name), sha256=sha256.hexdigest())
