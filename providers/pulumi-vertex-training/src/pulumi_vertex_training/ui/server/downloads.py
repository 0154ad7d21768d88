"""Content of objects: as a file to keep, or as a picture. It is never a document of the dashboard's address.

The content is somebody else's. A download is an attachment of no particular type. A picture has a type that
its own first bytes show, and is a raster picture, which has no code.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from urllib.parse import quote

from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pulumi_vertex_training.cloud import object_content
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.pages.storage.page import DOWNLOAD, PICTURE, object_at
from pulumi_vertex_training.ui.server.views import query_of
from pulumi_vertex_training.ui.source.source import Source
from pulumi_vertex_training.ui.source.storage.objects import StoredObject
from pulumi_vertex_training.ui.source.storage.preview import MOST_PICTURE, picture_type

_MOST_NAME = 120
_HEAD = 64
"""Bytes that show the type of a picture."""

POLICY = "default-src 'none'; sandbox"
"""The policy of content: if a browser opens it as a document, nothing in it runs or is loaded."""


def routes(source: Source) -> list[Route]:
    """Return the routes of content."""

    async def download(request: Request) -> Response:
        endpoint, found = await run_in_threadpool(_found, source, request)
        return _content(endpoint, found, media_type="application/octet-stream", kind="attachment")

    async def picture(request: Request) -> Response:
        endpoint, found = await run_in_threadpool(_found, source, request)
        head = await run_in_threadpool(
            object_content.beginning, endpoint, found.bucket, found.name, count=_HEAD
        )
        media_type = picture_type(head)
        if not media_type or found.size > MOST_PICTURE or found.encoding:
            text = "The object is no picture that the dashboard shows.\n"
            return Response(text, 415, media_type="text/plain")
        return _content(endpoint, found, media_type=media_type, kind="inline")

    return [Route(DOWNLOAD, download, methods=["GET"]), Route(PICTURE, picture, methods=["GET"])]


def file_name(name: str) -> str:
    """Return a name for a file on any system, by an object's name: one part, without control characters."""
    last = name.rstrip("/").rpartition("/")[2]
    kept = "".join(
        "_" if unicodedata.category(each)[0] == "C" or each in '\\/:*?"<>|' else each for each in last
    )
    return kept.strip(". ")[:_MOST_NAME] or "object"


def _found(source: Source, request: Request) -> tuple[Endpoint, StoredObject]:
    endpoint = source.endpoint()
    return endpoint, object_at(endpoint, query_of(request))


def _content(endpoint: Endpoint, found: StoredObject, *, media_type: str, kind: str) -> Response:
    """Return the answer that streams an object."""
    blocks: Iterator[bytes] = object_content.blocks(endpoint, found.bucket, found.name)
    headers = {**_headers(found, kind=kind), "Content-Length": str(found.size)}
    return StreamingResponse(iterate_in_threadpool(blocks), media_type=media_type, headers=headers)


def _headers(found: StoredObject, *, kind: str) -> dict[str, str]:
    name = file_name(found.name)
    plain = "".join(each if " " <= each <= "~" and each not in "%;'" else "_" for each in name)
    return {
        "Content-Disposition": f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": POLICY,
    }
