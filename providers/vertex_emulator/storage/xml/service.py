"""The XML API's paths: which call a method and query mean."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vertex_emulator.http.auth import SERVICE_SEGMENTS
from vertex_emulator.http.messages import Request, Response, Route, with_error_form
from vertex_emulator.storage.disk.catalog import Catalog
from vertex_emulator.storage.names import decode
from vertex_emulator.storage.objects.calls import Objects
from vertex_emulator.storage.objects.listing import Listing
from vertex_emulator.storage.uploads.calls import Uploads
from vertex_emulator.storage.uploads.sessions import Sessions
from vertex_emulator.storage.xml.documents import XML, element, text, written
from vertex_emulator.storage.xml.errors import as_xml, invalid_argument, not_there
from vertex_emulator.storage.xml.listing import NAMESPACE, XmlListing
from vertex_emulator.storage.xml.multipart_uploads import MultipartUploads
from vertex_emulator.storage.xml.objects import XmlObjects
from vertex_emulator.storage.xml.parts import Parts

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
    """Routes of the XML API. They come after all others, because a bucket may be called anything."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        objects: Objects,
        listing: Listing,
        uploads: Uploads,
        sessions: Sessions,
        parts: Parts,
    ) -> None:
        self._catalog = catalog
        self._objects = XmlObjects(catalog, objects, uploads, sessions)
        self._listing = XmlListing(listing)
        self._multipart = MultipartUploads(catalog, parts)

    def routes(self, *, beside_services: bool = False) -> Sequence[Route]:
        """With `beside_services`, not for buckets that are called like the first segment of a service."""
        outside = rf"(?!(?:{SERVICE_SEGMENTS})(?:/|$))" if beside_services else ""
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
        return with_error_form(as_xml, routes)

    def _get_bucket(self, request: Request, match: re.Match[str]) -> Response:
        bucket = decode(match[1])
        if "uploads" in request.query:
            return self._multipart.list_uploads(request, bucket)
        if "location" in request.query:
            location = self._catalog.store.bucket(bucket).settings["location"]
            return Response(
                200,
                written(element("LocationConstraint", text("Location", location), namespace=NAMESPACE)),
                XML,
            )
        _check_subresource(request)
        return self._listing.list(request, bucket)

    def _head_bucket(self, _: Request, match: re.Match[str]) -> Response:
        self._catalog.store.bucket(decode(match[1]))
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
        raise not_there(f"{request.method} on a bucket", "Use the JSON API, which does.")


def _check_subresource(request: Request) -> None:
    for name in request.query:
        if name in _SUBRESOURCES:
            raise not_there(f"the parameter {name!r}", "Use the JSON API, which has what it is about.")
    if "uploads" in request.query or "partNumber" in request.query:
        raise invalid_argument("This method does not go with the parameters of a multipart upload.")
