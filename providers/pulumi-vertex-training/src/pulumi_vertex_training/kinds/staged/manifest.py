"""The files of a staged folder or package, which the state keeps: a new version is told by names of files."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MANIFEST = "__manifest"
"""The input with the files' paths, sizes and checksums: two underscores keep it out of diffs."""


@dataclass(frozen=True, kw_only=True)
class FolderFile:
    """A file of a folder or package: its relative path, size in bytes, and hashes.

    `crc32c` is as in the API; of a package, whose files are no objects, it is a CRC-32 in hex digits.
    `sha256` is in hex digits, and "" in a manifest that was read from a state.
    """

    path: str
    size: int
    crc32c: str
    sha256: str = ""


def packed(files: Iterable[FolderFile]) -> str:
    """Return the manifest for the state: path, size and checksum of each file, compressed, in base64."""
    ordered = sorted(files, key=lambda file: file.path)
    text = "\n".join(f"{file.crc32c} {file.size} {file.path}" for file in ordered)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def unpacked(manifest: object) -> Mapping[str, FolderFile]:
    """Return the files of a manifest by their paths; none for anything else."""
    try:
        text = zlib.decompress(base64.b64decode(str(manifest))).decode()
        return {file.path: file for file in map(_line, text.split("\n"))}
    except (ValueError, zlib.error):
        return {}


def _line(line: str) -> FolderFile:
    crc32c, size, path = line.split(" ", 2)
    return FolderFile(path=path, size=int(size), crc32c=crc32c)


def change(old: Mapping[str, FolderFile], new: Mapping[str, FolderFile]) -> str:
    """Return what is different in the new files, such as "1 changed (a.csv), 2 added (b.csv and 1 more)"."""
    groups = {
        "changed": [path for path in new if path in old and not same(old[path], new[path])],
        "added": [path for path in new if path not in old],
        "removed": [path for path in old if path not in new],
    }
    return ", ".join(f"{len(paths):,} {word} ({some(paths)})" for word, paths in groups.items() if paths)


def same(one: FolderFile, other: FolderFile) -> bool:
    """Return whether two files have the same size and checksum."""
    return (one.size, one.crc32c) == (other.size, other.crc32c)


def some(paths: Iterable[str]) -> str:
    """Return the first paths and the number of the others, such as "a.csv, b.csv, c.csv and 7 more"."""
    ordered = sorted(paths)
    shown = ", ".join(_shortened(ordered[:3]))
    return f"{shown} and {len(ordered) - 3:,} more" if len(ordered) > 3 else shown


def _shortened(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield path if len(path) <= 60 else f"...{path[-57:]}"
