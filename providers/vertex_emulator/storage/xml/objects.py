"""Objects by the XML API: GET, HEAD, PUT, DELETE ("Object operations")."""

from __future__ import annotations

import re
from dataclasses import replace

from vertex_emulator.http.messages import Headers, Request, Response
from vertex_emulator.storage.disk import checksums
from vertex_emulator.storage.disk.catalog import Catalog
from vertex_emulator.storage.disk.checksums import Expected
from vertex_emulator.storage.disk.records import StoredObject
from vertex_emulator.storage.fields import object as object_fields
from vertex_emulator.storage.fields import parameters
from vertex_emulator.storage.names import check_object_name
from vertex_emulator.storage.objects.calls import Objects
from vertex_emulator.storage.uploads.calls import Uploads, blocks
from vertex_emulator.storage.uploads.sessions import Sessions
from vertex_emulator.storage.uploads.target import Target
from vertex_emulator.storage.xml import headers
from vertex_emulator.storage.xml.errors import XmlError, invalid_argument

_TEXT = "text/html; charset=UTF-8"
_ANSWER_HEADERS = {
    "response-content-disposition": "Content-Disposition",
    "response-content-encoding": "Content-Encoding",
    "response-cache-control": "Cache-Control",
}


class XmlObjects:
    """The calls on one object; bucket and name come decoded."""

    def __init__(self, catalog: Catalog, objects: Objects, uploads: Uploads, sessions: Sessions) -> None:
        self._catalog = catalog
        self._objects = objects
        self._uploads = uploads
        self._sessions = sessions

    def get(self, request: Request, match: re.Match[str], bucket: str, name: str) -> Response:
        """The content; groups 1 and 2 of the match are bucket and name as they came."""
        response = self._objects.download(_as_json_call(request, alt="media"), match)
        if response.status not in (200, 206):
            return response
        found = dict(response.headers)
        generation = found.get("X-Goog-Generation", "")
        if generation.isdigit():
            stored = self._catalog.store.generation(bucket, name, int(generation))
            if stored is not None:
                found |= {
                    key: value
                    for key, value in headers.of_object(stored).items()
                    if key not in found or key == "ETag"
                }
        content_type = request.parameter("response-content-type") or response.content_type
        for parameter, header in _ANSWER_HEADERS.items():
            if value := request.parameter(parameter):
                found[header] = value
        return replace(response, content_type=content_type, headers=found)

    def put(self, request: Request, bucket: str, name: str) -> Response:
        target = target_of(request, bucket, name)
        self._catalog.store.bucket(bucket)
        stored = self._uploads.store(target, blocks(request), headers.preconditions(request.headers))
        return stored_answer(stored)

    def delete(self, request: Request, match: re.Match[str]) -> Response:
        return self._objects.delete(_as_json_call(request), match)

    def begin_resumable(self, request: Request, bucket: str, name: str) -> Response:
        """POST with `x-goog-resumable: start`: the address of the upload is in the header Location."""
        if request.headers.get("x-goog-resumable", "").lower() != "start":
            raise invalid_argument("POST on an object needs x-goog-resumable: start, ?uploads or ?uploadId.")
        self._catalog.store.bucket(bucket)
        # The headers of this request describe the object, whose bytes come later.
        target = replace(target_of(request, bucket, name), expected=())
        begun = self._sessions.begin(request, target, headers.preconditions(request.headers))
        return replace(begun, status=201, content_type=_TEXT)

    def resume(self, request: Request, bucket: str) -> Response:
        done = self._sessions.advance(request, bucket)
        return stored_answer(done) if isinstance(done, StoredObject) else done


def target_of(request: Request, bucket: str, name: str) -> Target:
    """What a request with headers makes of its bytes. Raises `StorageError`, `XmlError`."""
    parameters.refuse_headers({key: "" for key in request.headers if key != "x-goog-encryption-kms-key-name"})
    check_object_name(name)
    settings = object_fields.created(
        headers.resource(request.headers), bucket=bucket, default_type="application/octet-stream"
    )
    given = request.headers.get("content-md5")
    expected = (
        Expected() if given is None else checksums.from_resource(None, given),
        checksums.from_header(request.headers),
    )
    return Target(bucket=bucket, name=name, settings=settings, expected=expected)


def stored_answer(stored: StoredObject) -> Response:
    """The answer to what stored an object."""
    return Response(200, b"", _TEXT, headers.of_object(stored))


def _as_json_call(request: Request, *, alt: str | None = None) -> Request:
    query = headers.conditions(request.headers)
    if generation := request.parameter("generation"):
        if not generation.isdigit():
            raise XmlError(400, "InvalidArgument", f"Invalid generation: {generation!r}.")
        query["generation"] = [generation]
    if alt is not None:
        query["alt"] = [alt]
    return replace(request, query=query, headers=Headers(dict(request.headers)))
