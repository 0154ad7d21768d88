"""The blob endpoints: pull all or a part of a blob, push in one or several requests, mount, delete."""

from __future__ import annotations

import re

from vertex_emulator.server.http.messages import FileRange, Request, Response
from vertex_emulator.services.container_registry import names
from vertex_emulator.services.container_registry.authority import Authority
from vertex_emulator.services.container_registry.errors import (
    RegistryError,
    blob_unknown,
    digest_invalid,
    upload_invalid,
)
from vertex_emulator.services.container_registry.registry import Registry
from vertex_emulator.services.container_registry.uploads import Chunk, Uploads, range_of

_BYTES = "application/octet-stream"
_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))")
_CONTENT_RANGE = re.compile(r"(\d{1,18})-(\d{1,18})")


class BlobsApi:
    """The handlers below /v2/NAME/blobs/."""

    def __init__(self, registry: Registry, uploads: Uploads, authority: Authority) -> None:
        self._registry = registry
        self._uploads = uploads
        self._authority = authority

    def get(self, request: Request, match: re.Match[str]) -> Response:
        """Handle GET and HEAD of a blob, or of a part of it if the request has a Range header."""
        repository, digest = self._authority.canonical(match["name"]), names.check_digest(match["digest"])
        size = self._registry.blob_size(repository, digest)
        path = self._registry.blob_path(digest)
        if size is None or path is None:
            raise blob_unknown(repository, digest)
        headers = {"Docker-Content-Digest": digest, "Accept-Ranges": "bytes", "ETag": f'"{digest}"'}
        part = _requested_range(request.headers.get("range"), size)
        if part is None:
            start, length, status = 0, size, 200
        else:
            start, length, status = part[0], part[1], 206
            headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{size}"
        try:
            file = path.open("rb")
        except FileNotFoundError:  # the garbage collection has just deleted it
            raise blob_unknown(repository, digest) from None
        return Response(status, FileRange(file=file, start=start, length=length), _BYTES, headers)

    def delete(self, _: Request, match: re.Match[str]) -> Response:
        repository, digest = self._authority.canonical(match["name"]), names.check_digest(match["digest"])
        self._authority.check_removable(repository)
        if not self._registry.delete_blob(repository, digest):
            raise blob_unknown(repository, digest)
        return Response(202)

    def begin(self, request: Request, match: re.Match[str]) -> Response:
        """Begin an upload, or store the body as a blob (`digest`), or mount an existing blob (`mount`)."""
        repository = self._writable(match["name"])
        if (mount := request.parameter("mount")) is not None and self._mounted(request, repository, mount):
            return _created(match["name"], mount)
        digest = request.parameter("digest")
        if digest is not None:
            names.check_digest(digest)
        identifier = self._uploads.begin(repository)
        if digest is None:
            return self._accepted(202, match["name"], identifier, 0)
        try:
            self._uploads.finish(repository, identifier, request.body, _chunk(request), digest=digest)
        except BaseException:
            self._uploads.discard(identifier)
            raise
        return _created(match["name"], digest)

    def append(self, request: Request, match: re.Match[str]) -> Response:
        repository = self._writable(match["name"])
        size = self._uploads.append(repository, match["upload"], request.body, _chunk(request))
        return self._accepted(202, match["name"], match["upload"], size)

    def finish(self, request: Request, match: re.Match[str]) -> Response:
        repository = self._writable(match["name"])
        digest = request.parameter("digest")
        if digest is None:
            raise digest_invalid("The parameter digest is missing. Set it to the digest of the whole blob.")
        names.check_digest(digest)
        self._uploads.finish(repository, match["upload"], request.body, _chunk(request), digest=digest)
        return _created(match["name"], digest)

    def status(self, _: Request, match: re.Match[str]) -> Response:
        repository = self._authority.canonical(match["name"])
        size = self._uploads.size(repository, match["upload"])
        return self._accepted(204, match["name"], match["upload"], size)

    def cancel(self, _: Request, match: re.Match[str]) -> Response:
        self._uploads.cancel(self._authority.canonical(match["name"]), match["upload"])
        return Response(204)

    def _writable(self, name: str) -> str:
        repository = self._authority.canonical(name)
        self._authority.check_writable(repository)
        return repository

    def _mounted(self, request: Request, repository: str, digest: str) -> bool:
        names.check_digest(digest)
        source = request.parameter("from")
        if not source:
            return self._registry.mount(repository, digest)
        try:
            canonical = self._authority.canonical(source)
        except RegistryError:
            return False
        return self._registry.mount(repository, digest, source=canonical)

    def _accepted(self, status: int, name: str, identifier: str, size: int) -> Response:
        return Response(
            status,
            headers={
                "Location": f"/v2/{name}/blobs/uploads/{identifier}",
                "Range": range_of(size),
                "Docker-Upload-UUID": identifier,
            },
        )


def _created(name: str, digest: str) -> Response:
    return Response(201, headers={"Location": f"/v2/{name}/blobs/{digest}", "Docker-Content-Digest": digest})


def _chunk(request: Request) -> Chunk | None:
    """Parse the Content-Range header. Raises `RegistryError` 416."""
    given = request.headers.get("content-range")
    if given is None:
        return None
    match = _CONTENT_RANGE.fullmatch(given.strip())
    if match is None or int(match[2]) < int(match[1]):
        raise upload_invalid(
            f"Content-Range must be FIRST-LAST, such as 0-1023, not {given[:100]!r}.", status=416
        )
    return Chunk(first=int(match[1]), last=int(match[2]))


def _requested_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return start and length of the requested part, or None for all of it. Raises `RegistryError` 416."""
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None:
        return None  # several ranges, or an invalid one: RFC 9110 allows the response to have all bytes
    if match[3] is not None:
        length = min(int(match[3]), size)
        start = size - length
    else:
        start = int(match[1])
        length = min(int(match[2]) + 1 if match[2] else size, size) - start
    if length <= 0:  # includes a range that ends before it begins (RFC 9110, 15.5.17: "invalid ranges")
        raise RegistryError(
            416,
            "BLOB_UNKNOWN",
            f"The blob has {size} bytes; the range {header!r} is outside of it.",
            headers={"Content-Range": f"bytes */{size}"},
        )
    return start, length
