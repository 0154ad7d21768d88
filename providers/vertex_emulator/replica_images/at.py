"""Entries of folders that are named by their descriptors; no link is followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_at(directory: int, name: str) -> None:
    """Remove an entry of a folder with all below it; links are not followed. Raises `OSError`."""
    status = lstat(name, directory)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=directory)
        return
    below = os.open(name, FOLDER, dir_fd=directory)
    try:
        for entry in os.listdir(below):  # noqa: PTH208 - a descriptor
            remove_at(below, entry)
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=directory)


def lstat(name: str, directory: int) -> os.stat_result | None:
    """The state of an entry, None where there is none."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def ignores_case(folder: Path) -> bool:
    """Whether the file system takes `a` and `A` for one name; tried out in an empty folder."""
    probe = folder / "case-a"
    probe.touch()
    try:
        return (folder / "CASE-A").exists()
    finally:
        probe.unlink()
