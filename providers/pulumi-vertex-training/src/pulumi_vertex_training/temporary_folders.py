"""Temporary folders that are removed at their end, or by the next one if their process was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_SECONDS_UNTIL_LOCKED = 60.0
"""More than it takes to lock a new folder. Younger ones are kept: they may not be locked yet."""


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a folder that is locked while this process lives. First remove what killed processes left."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        newest = folder.stat().st_mtime - _SECONDS_UNTIL_LOCKED
        with _locked(folder):
            for other in folder.parent.glob(f"{prefix}*"):
                with contextlib.suppress(OSError):  # it is another user's, or somebody removes it
                    if other.stat().st_mtime < newest:
                        with _locked(other):
                            shutil.rmtree(other)
            yield folder


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. Raises `BlockingIOError` if another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
