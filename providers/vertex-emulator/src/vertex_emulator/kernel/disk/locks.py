"""Locks between processes. A lock is held as long as its file is open, so the holder's death releases it.

The library filelock does not serve here: its `flock` is exclusive only, its shared lock is an SQLite file,
and neither names its holder in a message.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.disk.data_folder import unusable
from vertex_emulator.kernel.disk.disk_space import is_out_of_space

_POLL_SECONDS = 0.01


class LockHeldError(Exception):
    """Another process held the lock for the whole timeout. `holder` is its process id, or None if unknown."""

    def __init__(self, path: Path, holder: int | None) -> None:
        super().__init__(f"{path} is held by process {holder or 'unknown'}")
        self.holder = holder


class FileLock:
    """An exclusive lock on `path`, held until `release` or the end of the process."""

    def __init__(self, path: Path, *, timeout: float = 0.0, note: bool = True) -> None:
        """Acquire the lock within `timeout` seconds; with `note`, write the process id into the file.

        Raises `LockHeldError`, `DataFolderError`.
        """
        until = machine_clock.monotonic() + timeout
        self._path = path
        try:
            # Not inheritable: a child process must not keep the lock alive.
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unusable(path, error) from error
        try:
            while not self._try(path):
                if machine_clock.monotonic() >= until:
                    raise LockHeldError(path, _holder(self._descriptor))
                machine_clock.sleep(_POLL_SECONDS)
            if note:
                self._note()
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
        # If the data folder was deleted during the wait, this would be a lock that no other process sees.
        if self.is_seen():
            return True
        other = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.close(self._descriptor)
        self._descriptor = other
        return False

    def is_seen(self) -> bool:
        """Return whether the lock's file is still at its path, where other processes look for it."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _note(self) -> None:
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)
        except OSError as error:  # on a full disk the holder is unknown
            if not is_out_of_space(error):
                raise

    def release(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


def hold(path: Path, how: int = fcntl.LOCK_EX) -> int:
    """Lock a file, which is created, by `fcntl.flock`. Return the descriptor that holds the lock.

    Raises `OSError`. A lock that was removed meanwhile locks nothing, so it is made again.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, how)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)


@contextmanager
def held(path: Path, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Hold the lock of a file, see `hold`, for the length of a block."""
    descriptor = hold(path, how)
    try:
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path, how: int = fcntl.LOCK_SH) -> bool:
    """Return whether a process holds a lock of a file or folder that excludes a lock of the kind `how`.

    Raises `OSError`. It takes the lock for a moment: a shared one disturbs no other such question.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


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
