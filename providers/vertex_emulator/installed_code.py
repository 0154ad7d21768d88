"""Whether the emulator's code has changed since a process wrote down what it was.

A version stays the same while files change: in a checkout that is edited, pulled or switched.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
PACKAGES = ("vertex_emulator", "vertex_training", "vertex_cluster")
"""The packages of FOLDER whose code the emulator and its supervisors run."""


@functools.lru_cache(maxsize=1)
def of_this_process() -> str:
    """The code as this process found it when it asked first: `HASH FOLDER`, with `look`'s hash."""
    return _marked(FOLDER)


def has_changed(recorded: str | None, folder: Path = FOLDER, *, own: str | None = None) -> bool:
    """Whether a process that runs the code in `folder` wrote `recorded` before that code was changed.

    None is what a process had to say before there was such a record: it has changed since. Another
    installation's record, whose files say nothing of ours, and "" for none have not. `own` is the code of
    this process, by default as it found it.
    """
    if recorded is None:
        return True
    if not recorded or recorded.partition(" ")[2] != str(folder):
        return False
    # Else a process that started before the change would take a newer emulator for an older one.
    known = own or (of_this_process() if folder == FOLDER else None)
    return recorded != known and recorded != _marked(folder)


def look(folder: Path) -> str:
    """Hash names, sizes and times of the source files of PACKAGES: a few milliseconds. No file is read."""
    found = sorted(line for name in PACKAGES for line in _files(str(folder / name), f"{name}/"))
    return hashlib.sha256("\n".join(found).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _marked(folder: Path) -> str:
    try:
        return f"{look(folder)} {folder}"
    except OSError:
        return ""  # No folder: a zip file, which nobody edits, or one that is just being replaced.


def _files(path: str, below: str) -> Iterator[str]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{below}{entry.name} {status.st_size} {status.st_mtime_ns}"
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, f"{below}{entry.name}/")
