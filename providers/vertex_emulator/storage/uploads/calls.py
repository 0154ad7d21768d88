"""Storing objects in one request: the content alone (media), or with its resource (multipart)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vertex_emulator.http.messages import Request, Response
from vertex_emulator.storage.disk import checksums, preconditions
from vertex_emulator.storage.disk.catalog import Catalog, Content
from vertex_emulator.storage.disk.preconditions import Preconditions
from vertex_emulator.storage.disk.records import StoredObject
from vertex_emulator.storage.errors import invalid
from vertex_emulator.storage.fields import checks as fields
from vertex_emulator.storage.fields import parameters
from vertex_emulator.storage.fields.partial import answer
from vertex_emulator.storage.names import decode
from vertex_emulator.storage.resources import object_resource
from vertex_emulator.storage.uploads import inflated
from vertex_emulator.storage.uploads.incoming import Incoming
from vertex_emulator.storage.uploads.multipart import Multipart
from vertex_emulator.storage.uploads.sessions import Sessions
from vertex_emulator.storage.uploads.target import Target, target_of

BLOCK = 1 << 20
_PARAMETERS = preconditions.OBJECT | {"contentEncoding", "name", "projection", "uploadType"}


class Uploads:
    """The handler of all upload paths; group 1 of the match is the bucket's name, percent-encoded."""

    def __init__(self, catalog: Catalog, sessions: Sessions) -> None:
        self._catalog = catalog
        self._sessions = sessions

    def handle(self, request: Request, match: re.Match[str]) -> Response:
        bucket = decode(match[1])
        if "upload_id" in request.query:
            return self._sessions.resume(request, bucket)
        kind = parameters.text(request, "uploadType")
        parameters.check(request, _PARAMETERS)
        if request.method != "POST":
            raise invalid(f"{request.method} belongs to a resumable upload and needs its upload_id.")
        self._catalog.store.bucket(bucket)
        if kind == "media":
            return self._media(request, bucket)
        if kind == "multipart":
            return self._multipart(request, bucket)
        if kind == "resumable":
            target = target_of(request, bucket, fields.document(request.body.json()))
            return self._sessions.begin(request, target, preconditions.from_request(request))
        raise invalid(
            f"uploadType has to be media, multipart or resumable, not {kind!r}.", location="uploadType"
        )

    def _media(self, request: Request, bucket: str) -> Response:
        content_type = request.headers.get("content-type")
        resource = {"contentType": content_type, "md5Hash": request.headers.get("content-md5")}
        target = target_of(request, bucket, resource)
        return self._answer(request, target, blocks(request))

    def _multipart(self, request: Request, bucket: str) -> Response:
        parts = Multipart(inflated.body_of(request), request.headers.get("content-type", ""))
        resource = parts.resource()
        target = target_of(request, bucket, resource, part_type=parts.content_type)
        return self._answer(request, target, parts.content())

    def _answer(self, request: Request, target: Target, data: Iterable[bytes]) -> Response:
        stored = self.store(target, data, preconditions.from_request(request))
        return answer(request, object_resource(stored, request.base_url))

    def store(self, target: Target, data: Iterable[bytes], conditions: Preconditions) -> StoredObject:
        """Store an object of the bytes. Raises `StorageError` 400, 404, 412."""
        with self._catalog.store.locked(target.bucket):
            # Checked once more when the bytes have come; here it saves sending them in vain.
            conditions.check(self._catalog.current(target.bucket, target.name))
        with Incoming(self._catalog.files.new_incoming()) as incoming:
            for block in data:
                incoming.write(block)
            state = incoming.finish()
            checksums.verify(incoming.sums, *target.expected)
            stored = self._catalog.put(
                target.bucket,
                target.name,
                Content(path=incoming.path, state=state, sums=incoming.sums),
                settings=target.settings,
                preconditions=conditions,
            )
            incoming.taken = True
        return stored


def blocks(request: Request) -> Iterable[bytes]:
    """The bytes of the request's body, as they come."""
    while block := request.body.read(BLOCK):
        yield block
