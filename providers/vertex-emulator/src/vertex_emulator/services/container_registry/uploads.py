"""Uploads of blobs: in one or several requests, hashed on arrival, resumable after a crash, cancellable.

The received bytes are in the file uploads/ID. Their hash is kept in memory, and computed again from the file
after a restart.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO
from weakref import WeakValueDictionary

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.disk.disk_space import is_out_of_space
from vertex_emulator.kernel.timeouts import DAEMON, DaemonTimeouts
from vertex_emulator.server.http.messages import Body
from vertex_emulator.services.container_registry import blobs, names
from vertex_emulator.services.container_registry.errors import (
    RegistryError,
    digest_invalid,
    upload_invalid,
    upload_unknown,
)
from vertex_emulator.services.container_registry.registry import Registry

LIFETIME_SECONDS = 7 * 24 * 3600
"""Time after which an upload without new data is deleted."""

_MAX_SUMS = 512


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """The first and last byte of a chunk, from its Content-Range."""

    first: int
    last: int


class _Sum:
    """Hash and size of the received bytes of an upload."""

    def __init__(self) -> None:
        self.size = 0
        self.sha256: Any = hashlib.sha256()

    def update(self, data: bytes | memoryview) -> None:
        self.sha256.update(data)
        self.size += len(data)


class _Lock:
    """A lock in a weak dictionary, which drops it once it is unused."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Uploads:
    """All uploads to a registry."""

    def __init__(self, registry: Registry, clock: Clock, *, timeouts: DaemonTimeouts = DAEMON) -> None:
        self._timeouts = timeouts
        self._registry = registry
        self._store, self._files = registry.store, registry.files
        self._clock = clock
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[str, _Lock] = WeakValueDictionary()
        self._sums: OrderedDict[str, _Sum] = OrderedDict()

    def begin(self, repository: str) -> str:
        """Begin an upload and return its identifier."""
        identifier = self._files.new_upload()
        self._store.put_upload(identifier, repository, at=self._clock.microseconds())
        return identifier

    def size(self, repository: str, identifier: str) -> int:
        """Return the number of received bytes. Raises `RegistryError` 404."""
        with self._locked(repository, identifier), self._opened(identifier) as file:
            return os.fstat(file.fileno()).st_size

    def append(self, repository: str, identifier: str, body: Body, chunk: Chunk | None) -> int:
        """Receive a chunk and return the total size. Raises `RegistryError` 400, 404, 416."""
        with self._locked(repository, identifier), self._opened(identifier) as file:
            return self._receive(identifier, file, body, chunk).size

    def finish(
        self, repository: str, identifier: str, body: Body, chunk: Chunk | None, *, digest: str
    ) -> None:
        """Receive the last chunk, if any, and store the upload as a blob.

        Raises `RegistryError` 400, 404, 416. An upload whose content does not match the digest is deleted.
        """
        with self._locked(repository, identifier):
            with self._opened(identifier) as file:
                total = self._receive(identifier, file, body, chunk)
                if not _has(digest, file, total):
                    self._delete(identifier)
                    raise digest_invalid(
                        f"The upload has the digest sha256:{total.sha256.hexdigest()} ({total.size} bytes), "
                        f"not {digest}. Upload it again."
                    )
                blobs.flush(file)
            path = self._files.upload_path(identifier)
            try:
                self._registry.adopt_blob(repository, path, digest=digest, size=total.size)
            except FileNotFoundError:  # the emulator was reset in the meantime
                raise upload_unknown() from None
            self._delete(identifier)

    def cancel(self, repository: str, identifier: str) -> None:
        """Delete an upload. Raises `RegistryError` 404."""
        with self._locked(repository, identifier):
            self._delete(identifier)

    def discard(self, identifier: str) -> None:
        """Delete an upload whose identifier no client has seen."""
        self._delete(identifier)

    def keep_active(self) -> None:
        """Record that uploads with a running request are in use."""
        with self._guard:
            active = list(self._locks)
        for identifier in active:
            self._store.touch_upload(identifier, at=self._clock.microseconds())

    def delete_abandoned(self) -> int:
        """Delete uploads without new data for a week. Return their number."""
        before = self._clock.microseconds() - LIFETIME_SECONDS * 1_000_000
        with self._guard:
            in_use = set(self._locks)
        old = [each for each, touched in self._store.uploads().items() if touched < before]
        forgotten = [each for each in old if each not in in_use]
        for identifier in forgotten:
            self._delete(identifier)
        return len(forgotten)

    @contextmanager
    def _locked(self, repository: str, identifier: str) -> Iterator[None]:
        """Lock an upload for one request."""
        with self._guard:
            held = self._locks.get(identifier)
            if held is None:
                held = self._locks[identifier] = _Lock()
        if not held.lock.acquire(timeout=self._timeouts.upload):
            raise RegistryError(
                429, "TOOMANYREQUESTS", "Another request sends to this upload. Try again once it has ended."
            )
        try:
            path = self._files.upload_path(identifier)
            if self._store.upload(identifier) != repository or not path.is_file():
                raise upload_unknown()
            yield
        finally:
            held.lock.release()

    @contextmanager
    def _opened(self, identifier: str) -> Iterator[BinaryIO]:
        self._store.touch_upload(identifier, at=self._clock.microseconds())
        self._store.step("open upload")
        try:
            opened = self._files.upload_path(identifier).open("r+b", buffering=0)
        except FileNotFoundError:  # the repository was deleted, or the emulator reset, since the check
            raise upload_unknown() from None
        with opened as file:
            try:
                yield file
            except OSError as error:
                if is_out_of_space(error):
                    # Clients give up on this response, and a partial upload only fills the disk.
                    self._delete(identifier)
                raise

    def _receive(self, identifier: str, file: BinaryIO, body: Body, chunk: Chunk | None) -> _Sum:
        """Append the body. If the client disconnects, the received bytes are kept."""
        total = self._current_sum(identifier, file)
        had = total.size
        if chunk is not None and chunk.first != had:
            raise upload_invalid(
                f"The chunk begins at byte {chunk.first}, but {had} bytes were received. Send the rest from "
                f"byte {had}.",
                status=416,
                headers={"Range": range_of(had)},
            )
        while data := body.read(blobs.BLOCK):
            if chunk is not None and total.size + len(data) > chunk.last + 1:
                self._undo(identifier, file, had)
                raise upload_invalid(
                    f"The body is longer than its Content-Range, which ends at {chunk.last}."
                )
            view = memoryview(data)
            while view:
                written = file.write(view)
                total.update(view[:written])
                view = view[written:]
        if chunk is not None and total.size != chunk.last + 1:
            came = total.size
            self._undo(identifier, file, had)
            raise upload_invalid(
                f"The body ends before its Content-Range does, at byte {came} of {chunk.last + 1}."
            )
        return total

    def _undo(self, identifier: str, file: BinaryIO, size: int) -> None:
        with self._guard:
            self._sums.pop(identifier, None)
        file.truncate(size)

    def _current_sum(self, identifier: str, file: BinaryIO) -> _Sum:
        """Return hash and size of the received bytes, and leave `file` at its end."""
        size = os.fstat(file.fileno()).st_size
        with self._guard:
            total = self._sums.get(identifier)
        if total is None or total.size != size:
            total = _Sum()
            file.seek(0)
            while data := file.read(blobs.BLOCK):
                total.update(data)
        file.seek(0, os.SEEK_END)
        with self._guard:
            self._sums[identifier] = total
            self._sums.move_to_end(identifier)
            while len(self._sums) > _MAX_SUMS:
                self._sums.popitem(last=False)
        return total

    def _delete(self, identifier: str) -> None:
        with suppress(FileNotFoundError):
            self._files.remove_upload(identifier)
        self._store.remove_upload(identifier)
        with self._guard:
            self._sums.pop(identifier, None)


def range_of(size: int) -> str:
    """Return the Range header for that many received bytes."""
    return f"0-{max(size - 1, 0)}"


def _has(digest: str, file: BinaryIO, total: _Sum) -> bool:
    if names.algorithm_of(digest) == "sha256":
        return digest == f"sha256:{total.sha256.hexdigest()}"
    return blobs.has_digest(file, digest)
