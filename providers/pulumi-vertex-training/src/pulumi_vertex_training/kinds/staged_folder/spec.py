"""The spec of a staged folder: the hash of its files, and the names of their objects.

All objects of a folder are below `PREFIX/HASH/`, where the hash is that of all paths and contents. So a
changed folder is a new one beside the old: a running job reads what it was given, and never a mixture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from pulumi_vertex_training.kinds.staged.manifest import FolderFile
from vertex_training.fields.uris import GcsUri

HASH_DIGITS = 16

KEPT = "kept"
"""Value of the key `vertex-training-staged` for objects that no deployment deletes."""

_VERSION = "vertex-training folder 1"


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
