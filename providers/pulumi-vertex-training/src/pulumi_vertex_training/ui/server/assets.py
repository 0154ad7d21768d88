"""Style sheets, scripts and pictures of the dashboard: compressed once, and sent again only if they differ.

Pages are not compressed: they have a token beside texts of others, and the length of a compressed page would
tell about it.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_FOLDER = Path(__file__).parents[1] / "assets"
_PATH = "/assets/{name}"


@dataclass(frozen=True, kw_only=True)
class _Asset:
    """A file of the dashboard. `tag` differs with its content."""

    content: bytes
    compressed: bytes
    kind: str
    tag: str


def routes() -> list[Route]:
    """Return the route of all assets."""
    return [Route(_PATH, _asset, methods=["GET"])]


async def _asset(request: Request) -> Response:
    found = _assets().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    takes = [one.partition(";")[0].strip() for one in request.headers.get("accept-encoding", "").split(",")]
    headers = {"ETag": found.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" not in takes:
        return Response(found.content, media_type=found.kind, headers=headers)
    return Response(found.compressed, media_type=found.kind, headers={**headers, "Content-Encoding": "gzip"})


@functools.cache
def _assets() -> dict[str, _Asset]:
    """Return all files by name: a request chooses among them, and has no path."""
    return {file.name: _read(file) for file in _FOLDER.iterdir() if file.is_file()}


def _read(file: Path) -> _Asset:
    content = file.read_bytes()
    return _Asset(
        content=content,
        compressed=gzip.compress(content, mtime=0),
        kind=mimetypes.guess_type(file.name)[0] or "application/octet-stream",
        tag=f'"{hashlib.sha256(content).hexdigest()[:16]}"',
    )
