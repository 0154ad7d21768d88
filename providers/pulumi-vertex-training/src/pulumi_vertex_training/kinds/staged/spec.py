"""The spec of a staged object: a package or file that is uploaded to a bucket for jobs to read.

The object's name contains the hash of its content, so new content is a new object. Running jobs keep the
object that they read, and existing content is not uploaded again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.effects import Effect, FieldEffect, FieldTable
from vertex_training.fields.uris import GcsUri
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import shown
from vertex_training.job.rules.bucket_names import bucket_name_faults

MAX_NAME_BYTES = 1024
HASH_DIGITS = 16

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTENT_TYPE = re.compile(r"[a-z0-9.+-]+/[A-Za-z0-9.+-]+(;.*)?")


@dataclass(frozen=True, kw_only=True)
class StagedObjectSpec:
    """An object. `sha256` is the hex digest of its content, `size` its length in bytes."""

    bucket: str
    object_name: str
    sha256: str
    size: int
    content_type: str = "application/octet-stream"

    @property
    def uri(self) -> GcsUri:
        """The gs:// URI of the object."""
        return GcsUri(self.bucket, self.object_name)


_CONTENT = FieldEffect(effect=Effect.REPLACE, reason="the content of an object cannot change")
_PLACE = FieldEffect(effect=Effect.REPLACE, reason="an object cannot move")

EFFECTS: FieldTable = MappingProxyType(
    {
        "bucket": _PLACE,
        "object_name": _PLACE,
        "sha256": _CONTENT,
        "size": _CONTENT,
        "content_type": FieldEffect(
            effect=Effect.UPDATE, reason="the metadata of an object can change in place"
        ),
    }
)


def object_name(prefix: str, *, sha256: str, file_name: str) -> str:
    """Return the content-addressed name PREFIX/<16 hex digits>/FILE_NAME.

    The file's name is kept because pip reads a package's name and version from it.
    """
    return "/".join(part for part in (prefix.strip("/"), sha256[:HASH_DIGITS], file_name) if part)


def read(value: object) -> Decoded[StagedObjectSpec]:
    """Decode and check a staged object, and collect every problem with its path."""
    return decode(StagedObjectSpec, value).then(lambda spec: spec, validate)


def validate(spec: StagedObjectSpec) -> list[Problem]:
    """Return every problem of a staged object."""
    problems = [Problem(path="bucket", message=fault) for fault in bucket_name_faults(spec.bucket)]
    problems += [Problem(path="object_name", message=fault) for fault in object_name_faults(spec.object_name)]
    if not _SHA256.fullmatch(spec.sha256):
        problems.append(
            Problem(
                path="sha256",
                message=f"{shown(spec.sha256)} is not a SHA-256, which has 64 lowercase hex digits",
            )
        )
    if spec.size < 0:
        problems.append(Problem(path="size", message=f"{spec.size} bytes; a size is 0 or more"))
    if not _CONTENT_TYPE.fullmatch(spec.content_type):
        problems.append(
            Problem(
                path="content_type",
                message=f"{shown(spec.content_type)} is not a content type; write it like application/gzip",
            )
        )
    return problems


def object_name_faults(name: str) -> list[str]:
    """Return the faults of an object's name (Cloud Storage documentation, "About Cloud Storage objects")."""
    faults = []
    size = len(name.encode("utf-8", "surrogatepass"))
    if not 1 <= size <= MAX_NAME_BYTES:
        faults.append(
            f"the object name {shown(name)} has {size} bytes in UTF-8; it must have 1 to {MAX_NAME_BYTES}"
        )
    if "\r" in name or "\n" in name:
        faults.append(f"the object name {shown(name)} must not contain a line break")
    if name in (".", "..") or name.startswith(".well-known/acme-challenge/"):
        faults.append(f"the object name {shown(name)} is reserved; choose another")
    return faults
