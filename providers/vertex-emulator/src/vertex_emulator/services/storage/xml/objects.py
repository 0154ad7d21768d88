"""The calls on objects in the XML API: GET, HEAD, PUT and DELETE ("Object operations")."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from typing import Any

from vertex_emulator.kernel import times
from vertex_emulator.server.http.messages import Body, Headers, Request, Response
from vertex_emulator.services.storage.disk import checksums, soft_deletion
from vertex_emulator.services.storage.disk.checksums import Expected
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.preconditions import Preconditions
from vertex_emulator.services.storage.disk.records import StoredObject
from vertex_emulator.services.storage.errors import StorageError, condition_not_met
from vertex_emulator.services.storage.fields import object as object_fields
from vertex_emulator.services.storage.fields import parameters
from vertex_emulator.services.storage.names import check_object_name, decode
from vertex_emulator.services.storage.objects.calls import Objects
from vertex_emulator.services.storage.objects.transfers import ObjectName, Transfers
from vertex_emulator.services.storage.uploads.calls import Uploads, blocks
from vertex_emulator.services.storage.uploads.incoming import Target
from vertex_emulator.services.storage.uploads.sessions import Sessions
from vertex_emulator.services.storage.xml.documents import (
    XML,
    XmlError,
    element,
    invalid_argument,
    text,
    unsupported,
    written,
)

_FIELDS: Mapping[str, str] = {
    "cache-control": "cacheControl",
    "content-disposition": "contentDisposition",
    "content-encoding": "contentEncoding",
    "content-language": "contentLanguage",
    "content-type": "contentType",
    "x-goog-custom-time": "customTime",
    "x-goog-storage-class": "storageClass",
}
_CONDITIONS: Mapping[str, str] = {
    "x-goog-if-generation-match": "ifGenerationMatch",
    "x-goog-if-generation-not-match": "ifGenerationNotMatch",
    "x-goog-if-metageneration-match": "ifMetagenerationMatch",
    "x-goog-if-metageneration-not-match": "ifMetagenerationNotMatch",
}
_META = "x-goog-meta-"
_KMS_KEY = "x-goog-encryption-kms-key-name"
_REFUSED: Mapping[str, str] = {
    "x-goog-copy-source": "Send it with PUT on an object, or use the JSON API's rewriteTo.",
    "x-goog-encryption-key": "Send no key.",
    "x-goog-encryption-algorithm": "Send no key.",
}
_COPY = "x-goog-copy-source"
_COPY_SOURCE = re.compile(r"/?([^/?#]+)/([^?#]+)(?:[?#]generation=([0-9]{1,18}))?")
_UNKNOWN_CONDITIONS = frozenset(
    f"{_COPY}-if-{what}" for what in ("match", "none-match", "modified-since", "unmodified-since")
)
COPY_NAMESPACE = "http://doc.s3.amazonaws.com/2006-03-01"
_WHOLE = re.compile(r"[0-9]{1,18}")


def resource(headers: Headers) -> dict[str, Any]:
    """Return the fields of an object's resource from the headers of a request. Raises `XmlError` 400."""
    for name, remedy in _REFUSED.items():
        if name in headers:
            raise unsupported(f"the header {name}", remedy)
    fields: dict[str, Any] = {
        field: headers[header] for header, field in _FIELDS.items() if headers.get(header)
    }
    fields["storageClass"] = fields["storageClass"].upper() if "storageClass" in fields else None
    if metadata := {name[len(_META) :]: headers[name] for name in headers if name.startswith(_META)}:
        fields["metadata"] = metadata
    return {name: value for name, value in fields.items() if value is not None}


def conditions(headers: Headers) -> dict[str, list[str]]:
    """Convert the preconditions in the headers to parameters of the JSON API."""
    return {name: [headers[header]] for header, name in _CONDITIONS.items() if header in headers}


def preconditions(headers: Headers) -> Preconditions:
    """Return the preconditions in the headers. Raises `XmlError` 400."""
    numbers = {name: _whole(header, headers.get(header)) for header, name in _CONDITIONS.items()}
    return Preconditions(
        generation_match=numbers["ifGenerationMatch"],
        generation_not_match=numbers["ifGenerationNotMatch"],
        metageneration_match=numbers["ifMetagenerationMatch"],
        metageneration_not_match=numbers["ifMetagenerationNotMatch"],
        etag_match=headers.get("if-match"),
        etag_none_match=headers.get("if-none-match"),
    )


def of_object(stored: StoredObject) -> dict[str, str]:
    """Return the headers of every response about an object."""
    headers = {
        "ETag": etag(stored),
        "Last-Modified": http_date(stored.updated),
        "X-Goog-Generation": str(stored.generation),
        "X-Goog-Metageneration": str(stored.metageneration),
        "X-Goog-Hash": hashes(stored.crc32c, stored.md5),
        "X-Goog-Storage-Class": stored.settings.get("storageClass", "STANDARD"),
        "X-Goog-Stored-Content-Encoding": stored.settings.get("contentEncoding", "identity"),
        "X-Goog-Stored-Content-Length": str(stored.size),
    }
    for key, value in stored.settings.get("metadata", {}).items():
        if re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", key):
            headers[f"{_META}{key}"] = value
    return headers


def hashes(crc32c: str, md5: str | None) -> str:
    """Return the value of X-Goog-Hash from checksums in base64."""
    return f"crc32c={crc32c},md5={md5}" if md5 else f"crc32c={crc32c}"


def etag(stored: StoredObject) -> str:
    """Return the quoted etag of the XML API."""
    return f'"{stored.xml_etag}"'


def http_date(moment: str) -> str:
    """Convert a time from RFC 3339 to the format of HTTP headers."""
    return format_datetime(times.parse(moment), usegmt=True)


def number(request: Request, name: str, *, default: int, most: int) -> int:
    """Return a parameter that is a whole number, limited to `most`. Raises `XmlError` 400."""
    value = _whole(name, request.parameter(name))
    return default if value is None else min(value, most)


def _whole(name: str, value: str | None) -> int | None:
    if value is None or value == "":
        return None
    if not _WHOLE.fullmatch(value):
        raise invalid_argument(f"{name} must be a whole number, not {value!r}.")
    return int(value)


_TEXT = "text/html; charset=UTF-8"
_ANSWER_HEADERS = {
    "response-content-disposition": "Content-Disposition",
    "response-content-encoding": "Content-Encoding",
    "response-cache-control": "Cache-Control",
}


class XmlObjects:
    """The handlers. The names of bucket and object are decoded already."""

    def __init__(
        self,
        object_store: ObjectStore,
        objects: Objects,
        uploads: Uploads,
        sessions: Sessions,
        transfers: Transfers,
    ) -> None:
        self._object_store = object_store
        self._transfers = transfers
        self._objects = objects
        self._uploads = uploads
        self._sessions = sessions

    def get(self, request: Request, match: re.Match[str], bucket: str, name: str) -> Response:
        """Return the content. Groups 1 and 2 of the match are the percent-encoded bucket and object."""
        call, check = _as_json_call(request, alt="media"), partial(_check_times, request.headers)
        response = self._objects.download(call, match, check=check)
        if response.status not in (200, 206):
            return response
        headers = dict(response.headers)
        generation = headers.get("X-Goog-Generation", "")
        if generation.isdigit():
            stored = self._object_store.store.generation(bucket, name, int(generation))
            if stored is not None:
                headers |= {
                    key: value
                    for key, value in of_object(stored).items()
                    if key not in headers or key == "ETag"
                }
        content_type = request.parameter("response-content-type") or response.content_type
        for parameter, header in _ANSWER_HEADERS.items():
            if value := request.parameter(parameter):
                headers[header] = value
        return replace(response, content_type=content_type, headers=headers)

    def put(self, request: Request, bucket: str, name: str) -> Response:
        if _COPY in request.headers:
            return self._copy(request, ObjectName(bucket=bucket, name=name))
        target = target_of(request, bucket, name)
        self._object_store.store.bucket(bucket)
        stored = self._uploads.store(target, blocks(request), preconditions(request.headers))
        return stored_answer(stored)

    def _copy(self, request: Request, target: ObjectName) -> Response:
        stored = self._transfers.copied(*_copy_call(request), target)
        document = element(
            "CopyObjectResult",
            text("LastModified", stored.updated),
            text("ETag", etag(stored)),
            namespace=COPY_NAMESPACE,
        )
        return Response(200, written(document), XML, of_object(stored))

    def delete(self, request: Request, match: re.Match[str]) -> Response:
        return self._objects.delete(_as_json_call(request), match)

    def begin_resumable(self, request: Request, bucket: str, name: str) -> Response:
        """Begin a resumable upload, for POST with `x-goog-resumable: start`."""
        if request.headers.get("x-goog-resumable", "").lower() != "start":
            raise invalid_argument("POST on an object needs x-goog-resumable: start, ?uploads or ?uploadId.")
        self._object_store.store.bucket(bucket)
        # The headers of this request describe the object, whose bytes come later.
        target = replace(target_of(request, bucket, name), expected=())
        begun = self._sessions.begin(request, target, preconditions(request.headers))
        return replace(begun, status=201, content_type=_TEXT)

    def resume(self, request: Request, bucket: str) -> Response:
        done = self._sessions.advance(request, bucket)
        return stored_answer(done) if isinstance(done, StoredObject) else done


def _copy_call(request: Request) -> tuple[Request, ObjectName]:
    """Convert a copy to a call of the JSON API. Return the call and the source. Raises `XmlError` 400."""
    headers = request.headers
    found = _COPY_SOURCE.fullmatch(headers[_COPY])
    if found is None:
        raise invalid_argument(f"{_COPY} must be BUCKET/OBJECT, not {headers[_COPY]!r}.")
    conditional = [name for name in headers if name in _UNKNOWN_CONDITIONS]
    if conditional:
        raise unsupported(f"the header {conditional[0]}", "Send a condition on the generation.")
    directive = headers.get("x-goog-metadata-directive", "COPY").upper()
    if directive not in ("COPY", "REPLACE"):
        raise invalid_argument(f"x-goog-metadata-directive must be COPY or REPLACE, not {directive!r}.")
    own = {name: value for name, value in headers.items() if not name.startswith(_COPY)}
    parameters.reject_headers({name: "" for name in headers if name != _KMS_KEY})
    fields = resource(Headers(own))
    body = (
        {"metadata": {}, **fields}
        if directive == "REPLACE"
        else {name: value for name, value in fields.items() if name == "storageClass"}
    )
    query = conditions(headers) | {
        name.replace("if", "ifSource", 1): [headers[f"{_COPY}{header[len('x-goog') :]}"]]
        for header, name in _CONDITIONS.items()
        if f"{_COPY}{header[len('x-goog') :]}" in headers
    }
    if found[3]:
        query["sourceGeneration"] = [found[3]]
    if key := headers.get(_KMS_KEY):
        query["destinationKmsKeyName"] = [key]
    call = replace(request, query=query, headers=Headers(), body=Body(json.dumps(body).encode()))
    return call, ObjectName(bucket=decode(found[1]), name=decode(found[2]))


def target_of(request: Request, bucket: str, name: str) -> Target:
    """Return the target of an upload from a request's headers. Raises `StorageError`, `XmlError`."""
    parameters.reject_headers({key: "" for key in request.headers if key != _KMS_KEY})
    check_object_name(name)
    settings = object_fields.created(resource(request.headers), bucket=bucket) | soft_deletion.encryption(
        _KMS_KEY, request.headers.get(_KMS_KEY)
    )
    given = request.headers.get("content-md5")
    expected = (
        Expected() if given is None else checksums.from_resource(None, given),
        checksums.from_header(request.headers),
    )
    return Target(bucket=bucket, name=name, settings=settings, expected=expected)


def stored_answer(stored: StoredObject) -> Response:
    """Return the response to an upload."""
    return Response(200, b"", _TEXT, of_object(stored))


def _check_times(headers: Headers, stored: StoredObject) -> None:
    """Check conditions on the time of an object (RFC 9110, section 13.2.2). Raises `StorageError` 304, 412.

    A condition on the etag comes first, and a time that cannot be read is ignored.
    """
    modified = times.parse(stored.updated).replace(microsecond=0)
    since = _http_time(headers.get("if-unmodified-since"))
    if since is not None and "if-match" not in headers and modified > since:
        raise condition_not_met()
    since = _http_time(headers.get("if-modified-since"))
    if since is not None and "if-none-match" not in headers and modified <= since:
        raise StorageError(304, "notModified", "Not Modified")


def _http_time(value: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(value).astimezone(timezone.utc) if value else None
    except ValueError:
        return None


def _as_json_call(request: Request, *, alt: str | None = None) -> Request:
    query = conditions(request.headers)
    if generation := request.parameter("generation"):
        if not generation.isdigit():
            raise XmlError(400, "InvalidArgument", f"Invalid generation: {generation!r}.")
        query["generation"] = [generation]
    if alt is not None:
        query["alt"] = [alt]
    return replace(request, query=query, headers=Headers(dict(request.headers)))
