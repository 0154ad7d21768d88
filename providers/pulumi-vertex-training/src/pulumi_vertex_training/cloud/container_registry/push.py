"""Push an image to a registry: existing blobs are not sent, layers of a base are mounted.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`, and OSError for the local files.
"""

from __future__ import annotations

import io
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.client import Manifest
from pulumi_vertex_training.cloud.container_registry.descriptors import Descriptor
from pulumi_vertex_training.cloud.container_registry.http import PUSH, registry_http
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.parallel import call_each
from vertex_emulator import machine_clock

PARALLEL = 4
"""Blobs that are sent at the same time."""

_TRIES = 5
_FIRST_PAUSE = 0.2
_OCTETS = "application/octet-stream"

ProgressCallback = Callable[[int, int], None]
"""Called with the bytes sent so far, and the total to send as far as known."""


@dataclass(frozen=True, kw_only=True)
class BlobUpload:
    """A blob of an image: its bytes, a file, or `source`, a base image's repository that has it."""

    digest: str
    size: int
    content: Path | bytes | None = None
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class PushResult:
    """The result of a push: the bytes sent, and the digests of the mounted blobs."""

    sent_bytes: int
    mounted: tuple[str, ...] = ()


class _Progress:
    """Counts the bytes of all uploads. Safe for threads."""

    def __init__(self, on_progress: ProgressCallback | None) -> None:
        self._callback, self._lock = on_progress, threading.Lock()
        self.sent = self.wanted = 0

    def add(self, count: int) -> None:
        with self._lock:
            self.sent += count
            if self._callback is not None:
                self._callback(self.sent, self.wanted)

    def want(self, count: int) -> None:
        with self._lock:
            self.wanted += count


def push(
    endpoint: Endpoint,
    name: ImageName,
    manifest: Manifest,
    parts: Sequence[BlobUpload],
    *,
    on_progress: ProgressCallback | None = None,
    before_send: Callable[[ImageName], None] | None = None,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> PushResult:
    """Push an image to the repository of `name`, under its digest; nothing is sent if it already exists.

    `before_send` is called with its name if it does not exist. Raises NotFound for the repository.
    """
    there = name.at(manifest.digest)
    if registry.digest_at(endpoint, there) == manifest.digest:
        return PushResult(sent_bytes=0)
    if before_send is not None:
        before_send(there)
    progress = _Progress(on_progress)
    mounted = call_each(lambda part: _ensure(endpoint, name, part, progress, sleep), parts, at_once=PARALLEL)
    registry.put_manifest(endpoint, there, manifest)
    digests = tuple(part.digest for part, was in zip(parts, mounted, strict=True) if was)
    return PushResult(sent_bytes=progress.sent, mounted=digests)


def tag(endpoint: Endpoint, name: ImageName, manifest: Manifest) -> bool:
    """Point a tag at an existing manifest. Return False if it already does."""
    if registry.digest_at(endpoint, name) == manifest.digest:
        return False
    registry.put_manifest(endpoint, name, manifest)
    return True


def _ensure(
    endpoint: Endpoint, name: ImageName, part: BlobUpload, progress: _Progress, sleep: Callable[[float], None]
) -> bool:
    """Upload a blob unless it exists; return whether it was mounted."""
    if registry.has_blob(endpoint, name, part.digest):
        return False
    start = _start(endpoint, name, part)
    if start is None:
        return True
    progress.want(part.size)
    with _opened(endpoint, part) as stream:
        _upload(endpoint, name, part, stream, start, progress, sleep)
    return False


def _start(endpoint: Endpoint, name: ImageName, part: BlobUpload | None) -> str | None:
    """Return the location for an upload, or None if the blob could be mounted instead."""
    http = registry_http(endpoint)
    query = {}
    if part is not None and part.source is not None:
        source = parse(part.source)
        if http.same_registry(source, name):
            query = {"mount": part.digest, "from": http.repository_path(source)}
    response = registry.ask(
        endpoint,
        name,
        "POST",
        "blobs/uploads/",
        action=f"push to {name.repository}",
        actions=PUSH,
        query=query,
        headers={"Content-Length": "0"},
        if_missing=f"Create the repository {name.repository.rpartition('/')[0]} first.",
    )
    if response.status_code == 201:
        return None
    location = response.headers.get("Location")
    if not location:
        raise errors.UnexpectedAnswer(
            f"Could not push to {name.repository} ({endpoint}): the registry returned no upload location. "
            "Check the proxy settings.",
            resource=str(name),
            endpoint=endpoint,
        )
    return location


def _upload(
    endpoint: Endpoint,
    name: ImageName,
    part: BlobUpload,
    stream: BinaryIO,
    location: str,
    progress: _Progress,
    sleep: Callable[[float], None],
) -> None:
    """Send a blob; after a broken connection, resume the upload or restart it."""
    offset, pause = 0, _FIRST_PAUSE
    for tries_left in reversed(range(_TRIES)):
        try:
            _send(endpoint, name, part, stream, location, offset, progress)
            return
        except (errors.Unavailable, errors.NotFound) as error:
            # NotFound: the registry has dropped the upload.
            if not tries_left:
                raise
            sleep(pause)
            pause *= 2
            if registry.has_blob(endpoint, name, part.digest):
                return
            reached = None if isinstance(error, errors.NotFound) else _reached(endpoint, name, location)
            if reached is None:
                again = _start(endpoint, name, None)
                location, offset = again or location, 0
            else:
                location, offset = reached


def _send(
    endpoint: Endpoint,
    name: ImageName,
    part: BlobUpload,
    stream: BinaryIO,
    location: str,
    offset: int,
    progress: _Progress,
) -> None:
    action = f"push {part.digest} to {name.repository}"
    headers = {"Content-Type": _OCTETS}
    if offset:
        sent = registry.ask(
            endpoint,
            name,
            "PATCH",
            location,
            action=action,
            actions=PUSH,
            once=True,
            headers={**headers, "Content-Range": f"{offset}-{part.size - 1}"},
            body=lambda: _Body(stream, offset, part.size, progress),
        )
        location = sent.headers.get("Location") or location
    registry.ask(
        endpoint,
        name,
        "PUT",
        f"{location}{'&' if '?' in location else '?'}digest={part.digest}",
        action=action,
        actions=PUSH,
        once=True,
        headers=headers,
        body=(lambda: b"") if offset else (lambda: _Body(stream, 0, part.size, progress)),
    )


def _reached(endpoint: Endpoint, name: ImageName, location: str) -> tuple[str, int] | None:
    """Return an upload's current location and its received bytes, or None if it must be restarted."""
    try:
        response = registry.ask(
            endpoint, name, "GET", location, action=f"ask about an upload to {name.repository}", actions=PUSH
        )
    except errors.CloudError:
        return None
    first, dash, last = response.headers.get("Range", "").rpartition("=")[2].partition("-")
    if response.status_code != 204 or not dash or first != "0" or not last.isdigit() or last == "0":
        return None
    return response.headers.get("Location") or location, int(last) + 1


class _Body:
    """The rest of a stream from an offset, for requests: with its length, read block by block."""

    def __init__(self, stream: BinaryIO, offset: int, size: int, progress: _Progress) -> None:
        self._stream, self._left, self._progress = stream, size - offset, progress
        stream.seek(offset)

    def __len__(self) -> int:
        return self._left

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(block)
        self._progress.add(len(block))
        return block


@contextmanager
def _opened(endpoint: Endpoint, part: BlobUpload) -> Iterator[BinaryIO]:
    """Open the bytes of a blob; one of a base image that could not be mounted is downloaded first."""
    if isinstance(part.content, bytes):
        yield io.BytesIO(part.content)
    elif part.content is not None:
        with part.content.open("rb") as file:
            yield file
    else:
        if part.source is None:
            raise ValueError(f"the blob {part.digest} has neither content nor source")
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "blob")
            blob = Descriptor(digest=part.digest, size=part.size)
            registry.download_blob(endpoint, parse(part.source), blob, target)
            with target.open("rb") as file:
                target.unlink()
                yield file
