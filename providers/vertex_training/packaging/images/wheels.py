"""Fetches the wheels of a lock file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
) -> WheelFolder:
    """Downloads the wheels that the lock file pins into `folder`, each held to its hash.

    Raises PackagingError with all problems; the network's are of one sentence at the file.
    """
    raise NotImplementedError
