"""Locks between processes. A lock lasts as long as its file stays open: the death of the holder frees it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vertex_emulator.kernel.data_folder import unusable

_POLL_SECONDS = 0.01


class LockHeldError(Exception):
    """Another process, `holder`, kept the lock for the whole time; None when it did not say who it is."""

    def __init__(self, path: Path, holder: int | None) -> None:
        super().__init__(f"{path} is held by process {holder or 'unknown'}")
        self.holder = holder


class FileLock:
    """An exclusive lock on `path`. `release` it, or end."""

    def __init__(self, path: Path, *, timeout: float = 0.0, note: bool = True) -> None:
        """Wait up to `timeout` seconds; with `note` the file then holds the process id.

        Raises `LockHeldError`, `DataFolderError`.
        """
        until = time.monotonic() + timeout
        try:
            # Not inheritable: a child process must not keep the lock alive.
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unusable(path, error) from error
        try:
            while not self._try(path):
                if time.monotonic() >= until:
                    raise LockHeldError(path, _holder(self._descriptor))
                time.sleep(_POLL_SECONDS)
            if note:
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)
        except OSError as error:
            os.close(self._descriptor)
            raise unusable(path, error) from error
        except LockHeldError:
            os.close(self._descriptor)
            raise

    def _try(self, path: Path) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        # Whoever deletes the data folder while we wait would leave us a lock that nobody else sees.
        try:
            same = os.path.samestat(os.fstat(self._descriptor), path.stat())
        except FileNotFoundError:
            same = False
        if not same:
            os.close(self._descriptor)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return same

    def release(self) -> None:
        """Give the lock up."""
        os.close(self._descriptor)


@contextmanager
def locked(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the lock for the length of a block."""
    lock = FileLock(path, timeout=timeout)
    try:
        yield
    finally:
        lock.release()


def _holder(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0)
    return int(text) if text.isdigit() else None
