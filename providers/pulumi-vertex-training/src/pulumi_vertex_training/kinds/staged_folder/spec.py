"""The spec of a staged folder: its files, their hashes, and the names of their objects.

All objects of a folder are below `PREFIX/HASH/`, where the hash is that of all paths and contents. So a
changed folder is a new one beside the old: a running job reads what it was given, and never a mixture.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vertex_training.fields.uris import GcsUri

HASH_DIGITS = 16

KEPT = "kept"
"""Value of the key `vertex-training-staged` for objects that no deployment deletes."""

MANIFEST = "__manifest"
"""The input with the files' paths, sizes and checksums: two underscores keep it out of diffs."""

_VERSION = "vertex-training folder 1"


@dataclass(frozen=True, kw_only=True)
class FolderFile:
    """A file of a folder: its relative path, size in bytes, and hashes; `crc32c` as in the API.

    `sha256` is in hex digits, and "" in a manifest that was read from a state.
    """

    path: str
    size: int
    crc32c: str
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class FolderSpec:
    """The folder of a bucket with one version of the files. `sha256` is the hash of all of them."""

    bucket: str
    prefix: str
    sha256: str

    @property
    def name(self) -> str:
        """The path of the folder in the bucket, without a slash at its end."""
        return f"{self.prefix}/{self.sha256[:HASH_DIGITS]}"

    @property
    def uri(self) -> GcsUri:
        """The gs:// URI of the folder."""
        return GcsUri(self.bucket, self.name)

    def object_name(self, path: str) -> str:
        """Return the name of a file's object."""
        return f"{self.name}/{path}"


def content_hash(files: Iterable[FolderFile]) -> str:
    """Return the SHA-256 of all paths, sizes and contents, in hex digits. The order does not matter."""
    digest = hashlib.sha256(_VERSION.encode())
    for file in sorted(files, key=lambda file: file.path):
        digest.update(f"\n{file.sha256} {file.size} {file.path}".encode())
    return digest.hexdigest()


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


def amount(size: int) -> str:
    """Return a number of bytes for people, such as "4.2 MB"."""
    if size < 1000:
        return f"{size} bytes"
    value = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.95 or unit == "TB":
            break
    return f"{value:.1f} {unit}"
