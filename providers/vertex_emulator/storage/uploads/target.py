"""What an upload is to become: read from the object's resource, the parameters and the headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vertex_emulator.http.messages import Request
from vertex_emulator.storage.disk import checksums
from vertex_emulator.storage.disk.checksums import Expected
from vertex_emulator.storage.errors import required
from vertex_emulator.storage.fields import checks as fields
from vertex_emulator.storage.fields import object as object_fields
from vertex_emulator.storage.names import check_object_name


@dataclass(frozen=True, kw_only=True)
class Target:
    """What an upload is to become."""

    bucket: str
    name: str
    settings: Mapping[str, Any]
    expected: tuple[Expected, ...]


def target_of(
    request: Request, bucket: str, resource: Mapping[str, Any], *, part_type: str | None = None
) -> Target:
    """What the request's resource, parameters and headers say. Raises `StorageError` 400, 501."""
    name = request.parameter("name") or resource.get("name")
    if name is None:
        raise required("name")
    check_object_name(fields.text("name", name))
    default = request.headers.get("x-upload-content-type") or part_type or "application/octet-stream"
    settings = object_fields.created(resource, bucket=bucket, default_type=default)
    return Target(
        bucket=bucket,
        name=name,
        settings={**settings, **object_fields.encoding_parameter(request)},
        expected=(
            checksums.from_resource(resource.get("crc32c"), resource.get("md5Hash")),
            checksums.from_header(request.headers),
        ),
    )
