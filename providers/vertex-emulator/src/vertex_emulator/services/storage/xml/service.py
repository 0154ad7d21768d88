"""The routes of the XML API, and the lists of objects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from vertex_emulator.server.http.auth import SERVICE_SEGMENTS
from vertex_emulator.server.http.messages import Handler, Headers, Request, Response, Route, with_error_form
from vertex_emulator.services.storage import names
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import StoredObject, object_of
from vertex_emulator.services.storage.names import after_prefix, decode
from vertex_emulator.services.storage.objects.calls import Objects
from vertex_emulator.services.storage.objects.listing import Listing, Page, Query, Token, folded
from vertex_emulator.services.storage.objects.transfers import Transfers
from vertex_emulator.services.storage.uploads.calls import Uploads
from vertex_emulator.services.storage.uploads.sessions import Sessions
from vertex_emulator.services.storage.xml import objects
from vertex_emulator.services.storage.xml.documents import (
    XML,
    as_xml,
    element,
    invalid_argument,
    text,
    unsupported,
    written,
)
from vertex_emulator.services.storage.xml.multipart_uploads import MultipartUploads
from vertex_emulator.services.storage.xml.objects import XmlObjects
from vertex_emulator.services.storage.xml.parts import Parts

NAMESPACE = "http://doc.s3.amazonaws.com/2006-03-01"
_MAX_KEYS = 1000


class XmlListing:
    """The handler of lists of objects."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def list(self, request: Request, bucket: str) -> Response:
        limit = objects.number(request, "max-keys", default=_MAX_KEYS, most=_MAX_KEYS)
        second = request.parameter("list-type") == "2"
        if request.parameter("list-type") not in (None, "2"):
            raise invalid_argument("list-type must be 2, or left out for version 1.")
        prefix, delimiter = request.parameter("prefix") or "", request.parameter("delimiter") or ""
        encode = _encoder(request)
        page = self._listing.page(
            Query(
                bucket=bucket,
                prefix=prefix,
                delimiter=delimiter,
                versions="versions" in request.query,
                start=_start(request.parameter("start-after") or "") if second else "",
                after=_after(request) if second else _marker(request, prefix, delimiter),
            ),
            max(limit, 1),
        )
        if limit == 0:
            page = Page([], [])
        heads = [text("Name", bucket), text("Prefix", encode(prefix))]
        heads += _version_two(request, page) if second else _version_one(request, page, encode)
        if delimiter:
            heads.append(text("Delimiter", encode(delimiter)))
        heads += [text("MaxKeys", limit), text("IsTruncated", page.next is not None)]
        return Response(
            200,
            written(
                element(
                    "ListBucketResult",
                    *heads,
                    *(_contents(stored, encode(stored.name)) for stored in map(object_of, page.objects)),
                    *(element("CommonPrefixes", text("Prefix", encode(each))) for each in page.prefixes),
                    namespace=NAMESPACE,
                )
            ),
            XML,
        )


def _contents(stored: StoredObject, key: str) -> str:
    return element(
        "Contents",
        text("Key", key),
        text("Generation", stored.generation),
        text("MetaGeneration", stored.metageneration),
        text("LastModified", stored.updated),
        text("ETag", objects.etag(stored)),
        text("Size", stored.size),
        text("StorageClass", stored.settings.get("storageClass", "STANDARD")),
    )


def _version_one(request: Request, page: Page, encode: _Encode) -> list[str]:
    elements = [text("Marker", encode(request.parameter("marker") or ""))]
    if page.next is not None:
        elements.append(text("NextMarker", encode(page.next[0])))
        if page.next[1] is not None and "versions" in request.query:
            elements.append(text("NextGenerationMarker", page.next[1]))
    return elements


def _version_two(request: Request, page: Page) -> list[str]:
    elements = [text("KeyCount", len(page.objects) + len(page.prefixes))]
    if token := request.parameter("continuation-token"):
        elements.append(text("ContinuationToken", token))
    if start := request.parameter("start-after"):
        elements.append(text("StartAfter", start))
    if page.next is not None:
        elements.append(text("NextContinuationToken", names.encode_token(page.next)))
    return elements


def _marker(request: Request, prefix: str, delimiter: str) -> Token | None:
    """Return the position after which a list of version 1 continues: a name or a folded prefix."""
    marker = request.parameter("marker")
    if not marker:
        return None
    if marker.startswith(prefix) and marker == folded(marker, prefix=prefix, delimiter=delimiter):
        return marker, None
    generation = request.parameter("generation-marker") or ""
    if generation and not re.fullmatch("[0-9]{1,18}", generation):
        raise invalid_argument("generation-marker must be a number.")
    return marker, int(generation) if generation else (1 << 63) - 1


def _after(request: Request) -> Token | None:
    token = request.parameter("continuation-token")
    if not token:
        return None
    match names.read_token(token, parameter="continuation-token"):
        case [str(name), int(generation)] if 0 <= generation < 1 << 63:
            return name, generation
        case [str(name), None] if after_prefix(name) is not None:
            return name, None
    raise invalid_argument("The continuation token does not belong to this listing.")


def _start(after: str) -> str:
    """Return the least name after a name."""
    return f"{after}\0" if after else ""


class _Encode:
    """The encoding of names in the response: none or percent-encoding, as requested."""

    def __init__(self, encoded: bool) -> None:
        self._encoded = encoded

    def __call__(self, name: str) -> str:
        return quote(name, safe="/~") if self._encoded else name


def _encoder(request: Request) -> _Encode:
    kind = request.parameter("encoding-type")
    if kind not in (None, "", "url"):
        raise invalid_argument(f"encoding-type must be url, not {kind!r}.")
    return _Encode(kind == "url")


_NAME = r"([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])"
_SUBRESOURCES = frozenset(
    {
        "acl",
        "billing",
        "compose",
        "cors",
        "encryption",
        "encryptionConfig",
        "lifecycle",
        "logging",
        "object-lock",
        "policy",
        "replication",
        "retention",
        "storageClass",
        "tagging",
        "versioning",
        "website",
        "websiteConfig",
    }
)


class XmlService:
    """The routes of the XML API. They come last, because any first path segment may be a bucket."""

    def __init__(
        self,
        object_store: ObjectStore,
        *,
        objects: Objects,
        listing: Listing,
        uploads: Uploads,
        sessions: Sessions,
        parts: Parts,
        transfers: Transfers,
    ) -> None:
        self._object_store = object_store
        self._objects = XmlObjects(object_store, objects, uploads, sessions, transfers)
        self._listing = XmlListing(listing)
        self._multipart = MultipartUploads(object_store, parts)

    def routes(self, *, shared_with_services: bool = False) -> Sequence[Route]:
        """Return the routes.

        With `shared_with_services`, they exclude buckets with the name of a service's first path segment.
        """
        outside = rf"(?!(?:{SERVICE_SEGMENTS})(?:/|$))" if shared_with_services else ""
        bucket = f"/{outside}{_NAME}/?"
        item = f"/{outside}{_NAME}/(.+)"
        routes = (
            Route("GET", bucket, self._get_bucket, "storage.objects.list"),
            Route("HEAD", bucket, self._head_bucket, "storage.buckets.get"),
            Route("PUT", bucket, self._other, ""),
            Route("POST", bucket, self._other, ""),
            Route("DELETE", bucket, self._other, ""),
            Route("GET", item, self._get, "storage.objects.get"),
            Route("HEAD", item, self._get, "storage.objects.get"),
            Route("PUT", item, self._put, "storage.objects.insert"),
            Route("POST", item, self._post, "storage.multipartUploads.create"),
            Route("DELETE", item, self._delete, "storage.objects.delete"),
        )
        return with_error_form(as_xml, (replace(each, handler=_renamed(each.handler)) for each in routes))

    def _get_bucket(self, request: Request, match: re.Match[str]) -> Response:
        bucket = decode(match[1])
        if "uploads" in request.query:
            return self._multipart.list_uploads(request, bucket)
        if "location" in request.query:
            location = self._object_store.store.bucket(bucket).settings["location"]
            return Response(
                200,
                written(element("LocationConstraint", text("Location", location), namespace=NAMESPACE)),
                XML,
            )
        _check_subresource(request)
        return self._listing.list(request, bucket)

    def _head_bucket(self, _: Request, match: re.Match[str]) -> Response:
        self._object_store.store.bucket(decode(match[1]))
        return Response(200, b"", XML)

    def _get(self, request: Request, match: re.Match[str]) -> Response:
        bucket, name = decode(match[1]), decode(match[2])
        if "uploadId" in request.query:
            return self._multipart.list_parts(request, bucket, name)
        _check_subresource(request)
        return self._objects.get(request, match, bucket, name)

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        bucket, name = decode(match[1]), decode(match[2])
        if "upload_id" in request.query:
            return self._objects.resume(request, bucket)
        if "uploadId" in request.query or "partNumber" in request.query:
            return self._multipart.put_part(request, bucket, name)
        _check_subresource(request)
        return self._objects.put(request, bucket, name)

    def _post(self, request: Request, match: re.Match[str]) -> Response:
        bucket, name = decode(match[1]), decode(match[2])
        if "upload_id" in request.query:
            return self._objects.resume(request, bucket)
        if "uploads" in request.query:
            return self._multipart.begin(request, bucket, name)
        if "uploadId" in request.query:
            return self._multipart.complete(request, bucket, name)
        _check_subresource(request)
        return self._objects.begin_resumable(request, bucket, name)

    def _delete(self, request: Request, match: re.Match[str]) -> Response:
        bucket, name = decode(match[1]), decode(match[2])
        if "upload_id" in request.query:
            return self._objects.resume(request, bucket)
        if "uploadId" in request.query:
            return self._multipart.abort(request, bucket, name)
        _check_subresource(request)
        return self._objects.delete(request, match)

    def _other(self, request: Request, _: re.Match[str]) -> Response:
        raise unsupported(f"{request.method} on a bucket", "Use the JSON API.")


def _renamed(handler: Handler) -> Handler:
    """Return a handler that gets the headers of a client of S3 by the service's own names."""

    def handle(request: Request, match: re.Match[str]) -> Response:
        if request.headers.get("authorization", "").startswith("AWS4-"):
            own = {name.replace("x-amz-", "x-goog-", 1): value for name, value in request.headers.items()}
            request = replace(request, headers=Headers(own))
        return handler(request, match)

    return handle


def _check_subresource(request: Request) -> None:
    for name in request.query:
        if name in _SUBRESOURCES:
            raise unsupported(f"the parameter {name!r}", "Use the JSON API.")
    if "uploads" in request.query or "partNumber" in request.query:
        raise invalid_argument("This method cannot have the parameters of a multipart upload.")
