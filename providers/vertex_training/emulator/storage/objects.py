"""The calls on one object that is there."""

from __future__ import annotations

import re

from vertex_training.emulator.http import FileRange, Request, Response
from vertex_training.emulator.storage import object_fields, parameters, preconditions
from vertex_training.emulator.storage.catalog import Catalog
from vertex_training.emulator.storage.errors import no_object, unsupported
from vertex_training.emulator.storage.names import decode
from vertex_training.emulator.storage.partial import answer
from vertex_training.emulator.storage.records import StoredObject
from vertex_training.emulator.storage.resources import object_resource

_SELECTION = preconditions.OBJECT | {"generation", "projection"}
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class Objects:
    """Handlers; groups 1 and 2 of the match are bucket and object name, percent-encoded."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def get(self, request: Request, match: re.Match[str]) -> Response:
        """The resource, or with alt=media the content."""
        parameters.check(request, _SELECTION, alternatives=("json", "media"))
        if request.parameter("alt") == "media":
            return self.download(request, match)
        bucket, name = decode(match[1]), decode(match[2])
        with self._catalog.store.locked(bucket):
            stored = self._catalog.get(bucket, name, parameters.integer(request, "generation"))
        preconditions.from_request(request).check(stored, reading=True)
        return answer(request, object_resource(stored, request.base_url))

    def download(self, request: Request, match: re.Match[str]) -> Response:
        """The content, or the part of it that the Range header asks for."""
        parameters.check(request, _SELECTION, alternatives=("json", "media"))
        bucket, name = decode(match[1]), decode(match[2])
        with self._catalog.store.locked(bucket):
            stored = self._catalog.get(bucket, name, parameters.integer(request, "generation"))
            preconditions.from_request(request).check(stored, reading=True)
            _check_transcoding(stored, request)
            span = _span(request.headers.get("range"), stored.size)
            if span is None:
                return _unsatisfiable(stored)
            file = self._catalog.open(stored)
        start, length, partial = span
        headers = _content_headers(stored)
        if partial:
            headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{stored.size}"
        content_type = stored.settings.get("contentType", "application/octet-stream")
        part = FileRange(file=file, start=start, length=length)
        return Response(206 if partial else 200, part, content_type, headers)

    def patch(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, _SELECTION)
        bucket, name = decode(match[1]), decode(match[2])
        body = request.body.json()
        with self._catalog.store.locked(bucket):
            stored = self._catalog.get(bucket, name, parameters.integer(request, "generation"))
            preconditions.from_request(request).check(stored)
            changed = self._catalog.update(stored, object_fields.patched(stored.settings, body))
        return answer(request, object_resource(changed, request.base_url))

    def delete(self, request: Request, match: re.Match[str]) -> Response:
        """Without a generation, in a bucket that keeps versions, the live one becomes noncurrent."""
        parameters.check(request, preconditions.OBJECT | {"generation"})
        bucket, name = decode(match[1]), decode(match[2])
        generation = parameters.integer(request, "generation")
        with self._catalog.store.locked(bucket):
            stored = self._catalog.get(bucket, name, generation)
            if generation is None and not stored.live:
                raise no_object(bucket, name)
            preconditions.from_request(request).check(stored)
            keep = generation is None and self._catalog.store.bucket(bucket).keeps_versions
            self._catalog.remove(stored, keep_version=keep)
        return Response(204)


def _content_headers(stored: StoredObject) -> dict[str, str]:
    settings = stored.settings
    headers = {
        "ETag": stored.etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": settings.get("cacheControl", "no-cache, no-store, max-age=0, must-revalidate"),
        "X-Goog-Generation": str(stored.generation),
        "X-Goog-Metageneration": str(stored.metageneration),
        "X-Goog-Hash": f"crc32c={stored.crc32c},md5={stored.md5}",
        "X-Goog-Storage-Class": settings.get("storageClass", "STANDARD"),
        "X-Goog-Stored-Content-Encoding": settings.get("contentEncoding", "identity"),
        "X-Goog-Stored-Content-Length": str(stored.size),
    }
    for header, name in (
        ("Content-Encoding", "contentEncoding"),
        ("Content-Disposition", "contentDisposition"),
        ("Content-Language", "contentLanguage"),
    ):
        if value := settings.get(name):
            headers[header] = value
    return headers


def _check_transcoding(stored: StoredObject, request: Request) -> None:
    if stored.settings.get("contentEncoding") == "gzip" and "gzip" not in request.headers.get(
        "accept-encoding", ""
    ):
        raise unsupported(
            "decompressing an object on its way out", "Send Accept-Encoding: gzip and decompress it yourself."
        )


def _span(header: str | None, size: int) -> tuple[int, int, bool] | None:
    """Start, length, and whether that is a part; None when nothing of it is there (RFC 9110, section 14)."""
    match = _RANGE.fullmatch((header or "").strip())
    if match is None or not (match[1] or match[2]):
        return 0, size, False
    if not match[1]:
        length = min(int(match[2]), size)
        return (size - length, length, True) if length else None
    start = int(match[1])
    end = min(int(match[2]), size - 1) if match[2] else size - 1
    if match[2] and int(match[2]) < start:
        return 0, size, False
    return (start, end - start + 1, True) if start < size else None


def _unsatisfiable(stored: StoredObject) -> Response:
    return Response(
        416,
        b"The requested range cannot be satisfied.",
        "text/html; charset=UTF-8",
        {"Content-Range": f"bytes */{stored.size}"},
    )
