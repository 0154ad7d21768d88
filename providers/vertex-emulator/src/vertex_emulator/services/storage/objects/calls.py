"""The calls on one existing object, and the decompression of gzipped content.

"Transcoding of gzip-compressed files": an object with contentEncoding gzip and no `no-transform` in its
cacheControl is decompressed for a request without `Accept-Encoding: gzip`, which always gets the whole
content.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from vertex_emulator.server.http.messages import FileRange, Request, Response
from vertex_emulator.services.storage.disk import preconditions
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import StoredObject
from vertex_emulator.services.storage.errors import no_object
from vertex_emulator.services.storage.fields import access_lists, parameters
from vertex_emulator.services.storage.fields import object as object_fields
from vertex_emulator.services.storage.fields.parameters import answer
from vertex_emulator.services.storage.names import decode
from vertex_emulator.services.storage.resources import object_resource

_BLOCK = 1 << 18
_GZIP = 16 + zlib.MAX_WBITS


def is_transcoded(stored: StoredObject) -> bool:
    """Return whether a client gets the content as it accepts it, with the header Vary."""
    settings = stored.settings
    return settings.get("contentEncoding") == "gzip" and "no-transform" not in settings.get(
        "cacheControl", ""
    )


def needs_decompression(stored: StoredObject, headers: Mapping[str, str]) -> bool:
    """Return whether the content must be decompressed for this request."""
    return is_transcoded(stored) and "gzip" not in headers.get("accept-encoding", "")


def decompressed(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of a gzip file in blocks of limited size, and close the file.

    A file that is not a gzip file is not changed. A truncated or damaged file ends the connection
    (`ConnectionError`), which is the only way to report the error to the client.
    """
    with file:
        data = file.read(_BLOCK)
        if not data.startswith(b"\x1f\x8b"):
            while data:
                yield data
                data = file.read(_BLOCK)
            return
        while data:
            member = zlib.decompressobj(_GZIP)
            while not member.eof:
                data = data or file.read(_BLOCK)
                if not data:
                    raise ConnectionAbortedError("the gzip content of the object ends early")
                try:
                    block = member.decompress(data, _BLOCK)
                except zlib.error as error:
                    raise ConnectionAbortedError("the gzip content of the object is damaged") from error
                data = member.unused_data if member.eof else member.unconsumed_tail
                if block:
                    yield block
            data = data or file.read(_BLOCK)
            if not data.startswith(b"\x1f"):
                return  # padding after the last member


_SELECTION = preconditions.OBJECT | {"generation", "projection"}
_CHANGE = _SELECTION | {"overrideUnlockedRetention", "predefinedAcl"}
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class Objects:
    """The handlers. Groups 1 and 2 of the match are the percent-encoded names of bucket and object."""

    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store

    def get(self, request: Request, match: re.Match[str]) -> Response:
        """Return the resource, or with alt=media the content."""
        if request.parameter("alt") == "media":
            return self.download(request, match)
        parameters.check(request, _SELECTION | {"softDeleted", "restoreToken"})
        bucket, name = decode(match[1]), decode(match[2])
        if parameters.flag(request, "softDeleted"):
            return self._get_soft_deleted(request, bucket, name)
        self._object_store.hash_large_file(bucket, name)
        with self._object_store.store.locked(bucket):
            stored = self._object_store.get(bucket, name, parameters.integer(request, "generation"))
        preconditions.from_request(request).check(stored, reading=True)
        return answer(request, self._resource(request, stored))

    def _get_soft_deleted(self, request: Request, bucket: str, name: str) -> Response:
        parameters.text(request, "generation")
        self._object_store.store.bucket(bucket)
        stored = self._object_store.store.soft_deleted(
            bucket, name, parameters.integer(request, "generation") or 0
        )
        if stored is None:
            raise no_object(bucket, name)
        preconditions.from_request(request).check(stored, reading=True)
        return answer(request, object_resource(stored, request.base_url))

    def download(
        self,
        request: Request,
        match: re.Match[str],
        *,
        check: Callable[[StoredObject], None] = lambda _: None,
    ) -> Response:
        """Return the content, or the part that the Range header requests. `check` may refuse the object."""
        parameters.check(request, _SELECTION, alternatives=("json", "media"))
        bucket, name = decode(match[1]), decode(match[2])
        self._object_store.hash_large_file(bucket, name)
        with self._object_store.store.locked(bucket):
            stored = self._object_store.get(bucket, name, parameters.integer(request, "generation"))
            preconditions.from_request(request).check(stored, reading=True)
            check(stored)
            if needs_decompression(stored, request.headers):
                return self._decompressed(stored)
            span = _span(request.headers.get("range"), stored.size)
            if span is None:
                return _unsatisfiable(stored)
            file = self._object_store.open(stored)
        start, length, partial = span
        headers = _content_headers(stored)
        if partial:
            headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{stored.size}"
        content_type = stored.settings.get("contentType", "application/octet-stream")
        part = FileRange(file=file, start=start, length=length)
        return Response(206 if partial else 200, part, content_type, headers)

    def _decompressed(self, stored: StoredObject) -> Response:
        """Return the whole content, even for a range. Its length is not known in advance."""
        headers = _content_headers(stored)
        del headers["Content-Encoding"], headers["Accept-Ranges"]
        headers["Warning"] = "214 UploadServer gunzipped"
        content_type = stored.settings.get("contentType", "application/octet-stream")
        content = decompressed(self._object_store.open(stored))
        return Response(200, content, content_type, headers)

    def patch(self, request: Request, match: re.Match[str]) -> Response:
        return self._change(request, match, object_fields.patched)

    def update(self, request: Request, match: re.Match[str]) -> Response:
        """Replace the whole resource: missing fields are removed."""
        return self._change(request, match, object_fields.replaced)

    def _change(
        self, request: Request, match: re.Match[str], settings_after: Callable[..., dict[str, Any]]
    ) -> Response:
        parameters.check(request, _CHANGE)
        bucket, name = decode(match[1]), decode(match[2])
        body = request.body.json()
        override = parameters.flag(request, "overrideUnlockedRetention")
        predefined = object_fields.access_list_parameter(request, "predefinedAcl")
        self._object_store.hash_large_file(bucket, name)
        with self._object_store.store.locked(bucket):
            stored = self._object_store.get(bucket, name, parameters.integer(request, "generation"))
            preconditions.from_request(request).check(stored)
            owner = self._object_store.store.bucket(bucket)
            settings = settings_after(stored.settings, body)
            if (name_of_list := predefined.get("predefinedAcl")) is not None:
                settings["acl"] = access_lists.of_object(name_of_list, owner.project)
            if settings.get("acl") != stored.settings.get("acl"):
                access_lists.check_allowed(settings.get("acl", ()), owner.settings)
            preconditions.check_retention_allowed(settings, owner)
            now = self._object_store.store.clock.now()
            preconditions.check_retention_change(stored.settings, settings, override=override, now=now)
            changed = self._object_store.update(stored, settings)
        return answer(request, self._resource(request, changed))

    def _resource(self, request: Request, stored: StoredObject) -> dict[str, Any]:
        full = parameters.full(request, lambda: self._object_store.store.bucket(stored.bucket))
        return object_resource(stored, request.base_url, full=full)

    def delete(self, request: Request, match: re.Match[str]) -> Response:
        """Delete an object.

        Without a generation, in a bucket with versioning, the live object becomes noncurrent. Otherwise the
        object becomes soft-deleted, if the bucket's policy says so.
        """
        parameters.check(request, preconditions.OBJECT | {"generation", "versions"})
        bucket, name = decode(match[1]), decode(match[2])
        self._object_store.hash_large_file(bucket, name)
        generation = parameters.integer(request, "generation")
        with self._object_store.store.locked(bucket):
            stored = self._object_store.get(bucket, name, generation)
            if generation is None and not stored.live:
                raise no_object(bucket, name)
            preconditions.from_request(request).check(stored)
            keep = generation is None and self._object_store.store.bucket(bucket).keeps_versions
            self._object_store.remove(stored, keep_version=keep)
        return Response(204)


def _content_headers(stored: StoredObject) -> dict[str, str]:
    settings = stored.settings
    headers = {
        "ETag": stored.etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": settings.get("cacheControl", "no-cache, no-store, max-age=0, must-revalidate"),
        "X-Goog-Generation": str(stored.generation),
        "X-Goog-Metageneration": str(stored.metageneration),
        "X-Goog-Hash": f"crc32c={stored.crc32c}" + (f",md5={stored.md5}" if stored.md5 else ""),
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
    if is_transcoded(stored):
        headers["Vary"] = "Accept-Encoding"
    return headers


def _span(header: str | None, size: int) -> tuple[int, int, bool] | None:
    """Return start, length and whether it is a part, or None if unsatisfiable (RFC 9110, section 14)."""
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
