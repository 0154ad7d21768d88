"""The space on the disk of the data folder, and the errors of a full disk."""

from __future__ import annotations

import errno
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

LITTLE = 256 << 10
"""The free bytes that a change of the database needs: its pages in the log, some new names in folders."""


def is_out_of_space(error: BaseException) -> bool:
    """Return whether the error is a full disk, an exceeded disk quota or a file over the size limit."""
    if isinstance(error, OSError):
        return error.errno in _NO_SPACE
    return isinstance(error, sqlite3.OperationalError) and "full" in str(error)


@dataclass(frozen=True, kw_only=True)
class DiskSpace:
    """A disk by its mount point, and its bytes. `free` is what this user may still write."""

    mount: Path
    free: int
    total: int

    def __str__(self) -> str:
        return f"{size_text(self.free)} of {size_text(self.total)} free on {self.mount}"


def disk_space(path: Path) -> DiskSpace:
    """Return the space on the disk of `path`, which need not exist yet. Raises `OSError`."""
    place = path.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    status = os.statvfs(place)
    # Only root may write the blocks that a file system keeps back.
    blocks = status.f_bfree if os.geteuid() == 0 else status.f_bavail
    mount = place.resolve()
    while not mount.is_mount() and mount != mount.parent:
        mount = mount.parent
    return DiskSpace(mount=mount, free=blocks * status.f_frsize, total=status.f_blocks * status.f_frsize)


def free_bytes(folder: Path) -> int:
    """Return the bytes that this user may still write to the disk of an existing folder. Raises `OSError`."""
    status = os.statvfs(folder)
    blocks = status.f_bfree if os.geteuid() == 0 else status.f_bavail
    return blocks * status.f_frsize


def size_text(count: int) -> str:
    """Return a number of bytes for readers, such as 1.5 GiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count = count / 1024  # type: ignore[assignment]
    return f"{count:.1f} GiB"
