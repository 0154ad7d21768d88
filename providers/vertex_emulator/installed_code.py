"""Detects changes of the emulator's code since a process recorded it.

The version stays the same while files change, in a checkout that is edited, pulled or switched.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
PACKAGES = ("vertex_emulator", "vertex_training", "vertex_cluster")
"""The packages in FOLDER whose code the emulator and its supervisors run."""


@functools.lru_cache(maxsize=1)
def of_this_process() -> str:
    """Return the code as of the first call in this process: `HASH FOLDER`, with the hash of `source_hash`."""
    return _marked(FOLDER)


def has_changed(recorded: str | None, folder: Path = FOLDER, *, own: str | None = None) -> bool:
    """Return whether the code in `folder` has changed since a process recorded it as `recorded`.

    None means a process without such a record, and counts as changed. A record of another installation, or
    "", counts as unchanged. `own` is the code of this process, by default as first found.
    """
    if recorded is None:
        return True
    if not recorded or recorded.partition(" ")[2] != str(folder):
        return False
    # Without this, a process that started before the change would replace a newer emulator.
    known = own or (of_this_process() if folder == FOLDER else None)
    return recorded != known and recorded != _marked(folder)


def source_hash(folder: Path) -> str:
    """Return a hash of names, sizes and times of the source files of PACKAGES, without reading them."""
    found = sorted(line for name in PACKAGES for line in _files(str(folder / name), f"{name}/"))
    return hashlib.sha256("\n".join(found).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _marked(folder: Path) -> str:
    try:
        return f"{source_hash(folder)} {folder}"
    except OSError:
        return ""  # not a folder: a zip file, which is not edited, or a folder that is being replaced


def _files(path: str, below: str) -> Iterator[str]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{below}{entry.name} {status.st_size} {status.st_mtime_ns}"
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, f"{below}{entry.name}/")
