"""The content of an upload, decompressed if it was sent with gzip, and the target object.

Files are not synced to the disk: stored content survives the death of any process, but a power failure may
lose the last seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from vertex_emulator.server.http.bodies import decompressed
from vertex_emulator.server.http.messages import Body, Request
from vertex_emulator.services.storage.disk import checksums, soft_deletion
from vertex_emulator.services.storage.disk.checksums import Checksums, Expected
from vertex_emulator.services.storage.disk.files import state_of
from vertex_emulator.services.storage.disk.records import FileState
from vertex_emulator.services.storage.errors import invalid, required, unsupported
from vertex_emulator.services.storage.fields import checks
from vertex_emulator.services.storage.fields import object as object_fields
from vertex_emulator.services.storage.names import check_object_name


class Incoming:
    """A file being written, with its checksums. Leaving the context removes it unless `taken` is set."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sums = Checksums()
        self.taken = False
        self._file: BinaryIO = path.open("xb", buffering=0)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self.sums.update(data)

    def finish(self) -> FileState:
        """Close the complete file, and return its state."""
        state = state_of(self._file)
        self._file.close()
        return state

    def __enter__(self) -> Incoming:
        return self

    def __exit__(
        self, _: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()
        if not self.taken:
            self.path.unlink(missing_ok=True)


def decompressed_body(request: Request) -> Body:
    """Return the request's body, decompressed. Raises `StorageError` 400."""
    return decompressed(
        request.body,
        request.headers,
        invalid=invalid,
        unsupported=lambda coding: unsupported(
            f"request bodies with Content-Encoding {coding}", "Send gzip, or no encoding."
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Target:
    """The object that an upload will create."""

    bucket: str
    name: str
    settings: Mapping[str, Any]
    expected: tuple[Expected, ...]


def target_of(
    request: Request, bucket: str, resource: Mapping[str, Any], *, part_type: str | None = None
) -> Target:
    """Return the target from the resource, parameters and headers. Raises `StorageError` 400."""
    name = request.parameter("name") or resource.get("name")
    if name is None:
        raise required("name")
    check_object_name(checks.text("name", name))
    default = request.headers.get("x-upload-content-type") or part_type
    settings = object_fields.created(resource, bucket=bucket, default_type=default)
    return Target(
        bucket=bucket,
        name=name,
        settings={
            **settings,
            **object_fields.encoding_parameter(request),
            **object_fields.access_list_parameter(request, "predefinedAcl"),
            **soft_deletion.encryption("kmsKeyName", request.parameter("kmsKeyName")),
        },
        expected=(
            checksums.from_resource(resource.get("crc32c"), resource.get("md5Hash")),
            checksums.from_header(request.headers),
        ),
    )
