"""Uploads in one request: the content alone (media), or with its resource (multipart).

Lines end with CRLF or, from gcloud, with LF, as the first delimiter line does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from vertex_emulator.server.http.messages import Body, Request, Response, parse_json
from vertex_emulator.services.storage.disk import checksums, preconditions
from vertex_emulator.services.storage.disk.object_store import Content, ObjectStore
from vertex_emulator.services.storage.disk.preconditions import Preconditions
from vertex_emulator.services.storage.disk.records import StoredObject
from vertex_emulator.services.storage.errors import StorageError, invalid
from vertex_emulator.services.storage.fields import checks, parameters
from vertex_emulator.services.storage.fields.checks import document
from vertex_emulator.services.storage.fields.parameters import answer
from vertex_emulator.services.storage.names import decode
from vertex_emulator.services.storage.resources import object_resource
from vertex_emulator.services.storage.uploads.incoming import Incoming, Target, decompressed_body, target_of
from vertex_emulator.services.storage.uploads.sessions import Sessions

_BOUNDARY = re.compile(r"""(?:^|;)\s*boundary\s*=\s*(?:"([^"]+)"|'([^']+)'|([^;\s]+))""", re.IGNORECASE)
_BLOCK = 1 << 20
_MAX_HEAD = 64 * 1024
_MAX_RESOURCE = 2 << 20


class Multipart:
    """A body with two parts. Call `resource` first, which sets `content_type`, and then `content`."""

    def __init__(self, body: Body, content_type: str) -> None:
        self._body = body
        self._data = bytearray()
        self._ended = False
        self.content_type: str | None = None
        match = _BOUNDARY.search(content_type)
        if not content_type.lower().startswith("multipart/") or match is None:
            raise invalid(
                "The Content-Type of a multipart upload must be multipart/related; boundary=..., not "
                f"{content_type!r}."
            )
        self._boundary = b"--" + (match[1] or match[2] or match[3]).encode("latin-1", "replace")

    def resource(self) -> dict[str, Any]:
        """Return the object's resource from the first part. Raises `StorageError` 400."""
        line = self._until(b"\n", _MAX_HEAD).lstrip(b"\r\n")
        while not line:
            line = self._until(b"\n", _MAX_HEAD).lstrip(b"\r\n")
        if not line.startswith(self._boundary):
            raise _malformed("it does not begin with its boundary")
        self._newline = b"\r\n" if line.endswith(b"\r") else b"\n"
        self._delimiter = self._newline + self._boundary
        self._head()
        # The words are known from the system tests of Google's client for Node, which exceed 2 MiB.
        text = self._until(self._delimiter, _MAX_RESOURCE, beyond="Metadata part is too large.")
        self._end_of_delimiter()
        self.content_type = self._head().get("content-type")
        try:
            return document(parse_json(text or b"{}"))
        except (ValueError, RecursionError) as error:
            raise _malformed("its first part is not JSON") from error

    def content(self) -> Iterator[bytes]:
        """Yield the object's bytes from the second part. Raises `StorageError` 400 if the end is missing."""
        keep = len(self._delimiter) - 1
        while True:
            at = self._data.find(self._delimiter)
            if at >= 0:
                yield self._taken(at)
                del self._data[: len(self._delimiter)]
                self._last_line()
                return
            if len(self._data) > keep:
                yield self._taken(len(self._data) - keep)
            if not self._more():
                raise _malformed("its last boundary is missing")

    def _last_line(self) -> None:
        while len(self._data) < 2 and self._more():
            pass
        if not self._data.startswith(b"--"):
            raise _malformed("it has more than two parts")
        while self._body.read(_BLOCK):
            pass

    def _head(self) -> dict[str, str]:
        """Return the header fields of a part."""
        fields: dict[str, str] = {}
        size = 0
        while line := self._until(b"\n", _MAX_HEAD).rstrip(b"\r"):
            size += len(line)
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or size > _MAX_HEAD:
                raise _malformed("a part has an invalid header line, or too many header lines")
            fields[name.strip().lower()] = value.strip()
        return fields

    def _end_of_delimiter(self) -> None:
        if self._until(b"\n", _MAX_HEAD).strip():
            raise _malformed("it has only one part")

    def _until(self, end: bytes, most: int, *, beyond: str = "") -> bytes:
        """Consume the bytes up to and including `end`, and return those before it.

        `beyond` is the message for more than `most` bytes.
        """
        searched = 0
        while (at := self._data.find(end, searched)) < 0 and len(self._data) <= most + len(end):
            searched = max(len(self._data) - len(end) + 1, 0)
            if not self._more():
                raise _malformed("it ends early")
        if not 0 <= at <= most:
            raise invalid(beyond) if beyond else _malformed("a line is too long")
        data = self._taken(at)
        del self._data[: len(end)]
        return data

    def _taken(self, size: int) -> bytes:
        with memoryview(self._data) as view:
            data = bytes(view[:size])
        del self._data[:size]  # this moves no data, so many small pieces are fast
        return data

    def _more(self) -> bool:
        block = self._body.read(_BLOCK)
        self._data += block
        return bool(block)


def _malformed(why: str) -> StorageError:
    return invalid(f"Malformed multipart upload: {why}.")


BLOCK = 1 << 20
_PARAMETERS = preconditions.OBJECT | {
    *("contentEncoding", "kmsKeyName", "name", "predefinedAcl", "projection", "uploadType")
}


class Uploads:
    """The handler of all upload paths. Group 1 of the match is the bucket's percent-encoded name."""

    def __init__(self, object_store: ObjectStore, sessions: Sessions) -> None:
        self._object_store = object_store
        self._sessions = sessions

    def handle(self, request: Request, match: re.Match[str]) -> Response:
        bucket = decode(match[1])
        if "upload_id" in request.query:
            return self._sessions.resume(request, bucket)
        kind = parameters.text(request, "uploadType")
        parameters.check(request, _PARAMETERS)
        if request.method != "POST":
            raise invalid(f"{request.method} belongs to a resumable upload and needs its upload_id.")
        self._object_store.store.bucket(bucket)
        if kind == "media":
            return self._media(request, bucket)
        if kind == "multipart":
            return self._multipart(request, bucket)
        if kind == "resumable":
            target = target_of(request, bucket, checks.document(decompressed_body(request).json()))
            return self._sessions.begin(request, target, preconditions.from_request(request))
        raise invalid(
            f"uploadType must be media, multipart or resumable, not {kind!r}.", location="uploadType"
        )

    def _media(self, request: Request, bucket: str) -> Response:
        content_type = request.headers.get("content-type")
        resource = {"contentType": content_type, "md5Hash": request.headers.get("content-md5")}
        target = target_of(request, bucket, resource)
        return self._answer(request, target, blocks(request))

    def _multipart(self, request: Request, bucket: str) -> Response:
        parts = Multipart(decompressed_body(request), request.headers.get("content-type", ""))
        resource = parts.resource()
        target = target_of(request, bucket, resource, part_type=parts.content_type)
        return self._answer(request, target, parts.content())

    def _answer(self, request: Request, target: Target, data: Iterable[bytes]) -> Response:
        stored = self.store(target, data, preconditions.from_request(request))
        full = parameters.full(request, lambda: self._object_store.store.bucket(target.bucket))
        return answer(request, object_resource(stored, request.base_url, full=full))

    def store(self, target: Target, data: Iterable[bytes], conditions: Preconditions) -> StoredObject:
        """Store an object. Raises `StorageError` 400, 404, 412."""
        with self._object_store.store.locked(target.bucket):
            # Checked again when the object is stored. This check saves a useless upload.
            conditions.check(self._object_store.current(target.bucket, target.name))
        with Incoming(self._object_store.files.new_incoming()) as incoming:
            for block in data:
                incoming.write(block)
            state = incoming.finish()
            checksums.verify(incoming.sums, *target.expected)
            stored = self._object_store.put(
                target.bucket,
                target.name,
                Content(path=incoming.path, state=state, sums=incoming.sums),
                settings=target.settings,
                preconditions=conditions,
            )
            incoming.taken = True
        return stored


def blocks(request: Request) -> Iterable[bytes]:
    """Yield the request's body in blocks."""
    while block := request.body.read(BLOCK):
        yield block
