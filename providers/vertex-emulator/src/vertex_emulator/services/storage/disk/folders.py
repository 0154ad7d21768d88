"""Folders that are objects, as with gcsfuse.

An object of 0 bytes whose name ends with a slash is a folder under /gcs. Clients make such objects, and so do
replicas, with mkdir. Other folders are implicit: the emulator makes them for the objects below them, and
removes them when they are empty.

Implicit folders have the sticky bit. A new folder does not inherit it, and it changes nothing in a folder
that only its owner can write to. All other folders in a bucket are objects. So the folder itself is the mark,
which is there from the folder's first moment and survives the loss of the database.
"""

from __future__ import annotations

import os
import stat

from vertex_emulator.services.storage.disk.records import FileState

Components = tuple[str, ...]

FOLDER = FileState(0, 0, 0)
"""The state of each folder that is an object."""

CONTENT_TYPE = "text/plain; charset=utf-8"
"""The type that gcsfuse's client gives an object without content."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
"""Permissions of a shared folder, whose sticky bit a program has set for its own purpose."""
IMPLICIT_MODE = stat.S_ISVTX | 0o777 & ~_OTHERS_WRITE


def is_folder(components: Components) -> bool:
    """Return whether a natural path names a folder."""
    return components[-1] == ""


def is_implicit(status: os.stat_result) -> bool:
    """Return whether a folder is no object."""
    return stat.S_ISDIR(status.st_mode) and status.st_mode & (stat.S_ISVTX | _OTHERS_WRITE) == stat.S_ISVTX


def make_implicit(directory: int) -> None:
    """Mark an open folder as no object."""
    mode = stat.S_IMODE(os.fstat(directory).st_mode)
    os.fchmod(directory, (mode | stat.S_ISVTX) & ~_OTHERS_WRITE)


def make_explicit(directory: int) -> None:
    """Mark an open folder as an object."""
    if is_implicit(status := os.fstat(directory)):
        os.fchmod(directory, stat.S_IMODE(status.st_mode) & ~stat.S_ISVTX)
