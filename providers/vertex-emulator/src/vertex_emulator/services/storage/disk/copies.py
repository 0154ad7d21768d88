"""Copies of the content of open files, which share blocks if the file system supports it."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from vertex_emulator.services.storage.disk.files import state_of
from vertex_emulator.services.storage.disk.records import FileState

_CLONE = 0x40049409
"""FICLONE of linux/fs.h."""
_BLOCK = 1 << 20
_PIECE = 64 << 20
_CANNOT = (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.ENOTTY, errno.EPERM, errno.EBADF)


def duplicate(sources: Sequence[BinaryIO], target: Path) -> FileState:
    """Create `target` from the concatenated content of open files. Remove it on failure."""
    try:
        with target.open("xb", buffering=0) as file:
            if len(sources) != 1 or not _cloned(sources[0], file):
                for source in sources:
                    _append(source, file)
            return state_of(file)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _cloned(source: BinaryIO, target: BinaryIO) -> bool:
    try:
        import fcntl

        fcntl.ioctl(target.fileno(), _CLONE, source.fileno())
    except ImportError:
        return False
    except OSError as error:
        if error.errno in _CANNOT:
            return False
        raise
    return True


def _append(source: BinaryIO, target: BinaryIO) -> None:
    at = 0
    try:
        while copied := os.copy_file_range(source.fileno(), target.fileno(), _PIECE, offset_src=at):
            at += copied
    except AttributeError:
        pass
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    source.seek(at)
    while block := source.read(_BLOCK):
        view = memoryview(block)
        while view:
            view = view[target.write(view) :]
