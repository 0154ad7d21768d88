"""Write a layer: a tar archive in gzip whose bytes depend only on its entries.

Entries are sorted, their time is 0, and the tar is stored uncompressed in the gzip container. So the digest
depends neither on the machine nor on the version of zlib.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from pulumi_vertex_training.images.files.tree import Member, Node
from pulumi_vertex_training.packaging.archive import pax_record, stored_gzip, tar_header, unreadable
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.files import printable
from vertex_training.findings.problems import Problem

LAYER_TYPE: Final = "application/vnd.oci.image.layer.v1.tar+gzip"

_CHUNK = 1 << 20
_RECORD = 10_240
_KINDS: Final = {"file": b"0", "link": b"2", "folder": b"5"}
_LARGEST_ID = 0o7777777
_LARGEST_SIZE = 0o77777777777


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A written layer: the digests of the file and of the tar within, and the file's size in bytes."""

    digest: str
    diff_id: str
    size: int
    path: Path


def write_layer(nodes: Iterable[Node], folder: Path) -> Layer:
    """Write the nodes as a layer to `folder`, in one pass and constant memory.

    The file is named by its digest. Raises PackagingError if a file cannot be read or has changed since it
    was hashed.
    """
    digest, diff_id = hashlib.sha256(), hashlib.sha256()
    size = 0
    temporary = folder / "layer.part"
    try:
        with (
            temporary.open("wb") as file,
            BackgroundConsumer(file.write) as written,
            BackgroundConsumer(digest.update) as hashed,
            BackgroundConsumer(diff_id.update) as observed,
        ):
            for chunk in stored_gzip(_observed(_tar(nodes), observed.put)):
                hashed.put(chunk)
                written.put(chunk)
                size += len(chunk)
        path = folder / f"{digest.hexdigest()}.tar.gz"
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return Layer(
        digest=f"sha256:{digest.hexdigest()}", diff_id=f"sha256:{diff_id.hexdigest()}", size=size, path=path
    )


def _observed(chunks: Iterable[bytes], observe: Callable[[bytes], None]) -> Iterator[bytes]:
    for chunk in chunks:
        observe(chunk)
        yield chunk


def _tar(nodes: Iterable[Node]) -> Iterator[bytes]:
    written = 0
    for node in sorted(nodes, key=lambda node: node.path.encode()):
        header = _headers(node)
        yield header
        written += len(header)
        if node.kind == "file":
            yield from _content(node)
            padding = bytes(-node.size % 512)
            yield padding
            written += node.size + len(padding)
    yield bytes(1024 + -(written + 1024) % _RECORD)


def _content(node: Node) -> Iterator[bytes]:
    if isinstance(node.content, bytes):
        yield node.content
        return
    if isinstance(node.content, Member):
        raise TypeError(f"{node.path} was not extracted from its layer")
    remaining, sha256 = node.size, hashlib.sha256()
    try:
        with node.content.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                remaining -= len(chunk)
                if remaining < 0:
                    break
                if node.sha256:
                    sha256.update(chunk)
                yield chunk
    except OSError as error:
        raise PackagingError([unreadable(printable(node.path), error)]) from error
    if remaining or (node.sha256 and sha256.hexdigest() != node.sha256):
        message = "changed while the image was being built. Run again when nothing writes to it."
        raise PackagingError([Problem(path=printable(node.path), message=message)])


def _headers(node: Node) -> bytes:
    """Return the header of a node, after a pax header if ustar cannot hold its values."""
    name = node.path.encode() + (b"/" if node.kind == "folder" else b"")
    link = node.link.encode() if node.kind == "link" else b""
    size = node.size if node.kind == "file" else 0
    records = b""
    if len(name) > 100 or not name.isascii():
        records += pax_record(b"path", name)
        name = name.decode().encode("ascii", "replace")[-100:]
    if len(link) > 100 or not link.isascii():
        records += pax_record(b"linkpath", link)
        link = link.decode().encode("ascii", "replace")[-100:]
    numbers = {
        b"uid": (node.uid, _LARGEST_ID),
        b"gid": (node.gid, _LARGEST_ID),
        b"size": (size, _LARGEST_SIZE),
    }
    fields = {}
    for key, (value, largest) in numbers.items():
        if value > largest:
            records += pax_record(key, str(value).encode())
        fields[key] = value if value <= largest else 0
    extended = b""
    if records:
        head = tar_header(b"././@PaxHeader", len(records), 0o644, b"x", modified=0)
        extended = head + records + bytes(-len(records) % 512)
    return extended + tar_header(
        name,
        fields[b"size"],
        node.mode,
        _KINDS[node.kind],
        uid=fields[b"uid"],
        gid=fields[b"gid"],
        modified=0,
        link=link,
    )


_BATCH: Final = 1 << 20
_WAITING: Final = 2
"""Batches that may wait; together with `_BATCH` it bounds the memory."""


class BackgroundConsumer:
    """Call `consume` with every chunk in order, in a separate thread.

    Use it in a `with` block: at its end, unless by an exception, all chunks are consumed. An exception of
    `consume` is raised by a later `put` or at the end of the block. Less than one batch needs no thread.
    """

    def __init__(self, consume: Callable[[bytes], object]) -> None:
        self._consume = consume
        self._batch: list[bytes] = []
        self._size = 0
        self._waiting: deque[Future[None]] = deque()
        self._executor = ThreadPoolExecutor(max_workers=1)

    def put(self, chunk: bytes) -> None:
        """Pass on the next chunk; block while too many batches wait."""
        self._batch.append(chunk)
        self._size += len(chunk)
        if self._size >= _BATCH:
            if len(self._waiting) == _WAITING:
                self._waiting.popleft().result()
            self._waiting.append(self._executor.submit(self._consume_all, self._batch))
            self._batch, self._size = [], 0

    def _consume_all(self, batch: list[bytes]) -> None:
        for chunk in batch:
            self._consume(chunk)

    def __enter__(self) -> BackgroundConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                while self._waiting:
                    self._waiting.popleft().result()
                self._consume_all(self._batch)
        finally:
            self._executor.shutdown(cancel_futures=True)
