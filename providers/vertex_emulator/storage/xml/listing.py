"""Objects by name in XML, versions 1 and 2 ("List objects")."""

from __future__ import annotations

import re
from urllib.parse import quote

from vertex_emulator.http.messages import Request, Response
from vertex_emulator.storage import tokens
from vertex_emulator.storage.disk.records import StoredObject, object_of
from vertex_emulator.storage.names import after_prefix
from vertex_emulator.storage.objects.listing import Listing, Page, Query, Token, folded
from vertex_emulator.storage.xml import headers
from vertex_emulator.storage.xml.documents import XML, element, text, written
from vertex_emulator.storage.xml.errors import invalid_argument

NAMESPACE = "http://doc.s3.amazonaws.com/2006-03-01"
_MOST = 1000


class XmlListing:
    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def list(self, request: Request, bucket: str) -> Response:
        limit = headers.number(request, "max-keys", default=_MOST, most=_MOST)
        second = request.parameter("list-type") == "2"
        if request.parameter("list-type") not in (None, "2"):
            raise invalid_argument("list-type has to be 2, or left out for version 1.")
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
                    *(_contents(object_of(row), encode(row.name)) for row in page.objects),
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
        text("ETag", headers.etag(stored)),
        text("Size", stored.size),
        text("StorageClass", stored.settings.get("storageClass", "STANDARD")),
    )


def _version_one(request: Request, page: Page, encode: _Encode) -> list[str]:
    found = [text("Marker", encode(request.parameter("marker") or ""))]
    if page.next is not None:
        found.append(text("NextMarker", encode(page.next[0])))
        if page.next[1] is not None and "versions" in request.query:
            found.append(text("NextGenerationMarker", page.next[1]))
    return found


def _version_two(request: Request, page: Page) -> list[str]:
    found = [text("KeyCount", len(page.objects) + len(page.prefixes))]
    if token := request.parameter("continuation-token"):
        found.append(text("ContinuationToken", token))
    if start := request.parameter("start-after"):
        found.append(text("StartAfter", start))
    if page.next is not None:
        found.append(text("NextContinuationToken", tokens.encode(page.next)))
    return found


def _marker(request: Request, prefix: str, delimiter: str) -> Token | None:
    """Where version 1 goes on: after a name, or after a folded prefix when the name ends like one."""
    marker = request.parameter("marker")
    if not marker:
        return None
    if marker.startswith(prefix) and marker == folded(marker, prefix=prefix, delimiter=delimiter):
        return marker, None
    generation = request.parameter("generation-marker") or ""
    if generation and not re.fullmatch("[0-9]{1,18}", generation):
        raise invalid_argument("generation-marker has to be a number.")
    return marker, int(generation) if generation else (1 << 63) - 1


def _after(request: Request) -> Token | None:
    token = request.parameter("continuation-token")
    if not token:
        return None
    match tokens.read(token, parameter="continuation-token"):
        case [str(name), int(generation)] if 0 <= generation < 1 << 63:
            return name, generation
        case [str(name), None] if after_prefix(name) is not None:
            return name, None
    raise invalid_argument("The continuation token is not one of this listing.")


def _start(after: str) -> str:
    """The least name beyond one."""
    return f"{after}\0" if after else ""


class _Encode:
    """How names stand in the answer: as they are, or percent-encoded as was asked."""

    def __init__(self, encoded: bool) -> None:
        self._encoded = encoded

    def __call__(self, name: str) -> str:
        return quote(name, safe="/~") if self._encoded else name


def _encoder(request: Request) -> _Encode:
    kind = request.parameter("encoding-type")
    if kind not in (None, "", "url"):
        raise invalid_argument(f"encoding-type has to be url, not {kind!r}.")
    return _Encode(kind == "url")
