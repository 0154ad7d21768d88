"""Removal of folders that replicas have written, whatever their permissions and depth."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def remove_tree(path: Path) -> None:
    """Remove a file or a folder, without following links. If a part remains, log a warning.

    A folder in which a file system is mounted stays as it is: the mounted files may be a person's.
    """
    if not os.path.lexists(path):
        return
    if mounted := mounts_in(path):
        log.warning(
            "%s was not removed, because a file system is mounted at %s. Unmount it, and remove the folder "
            "manually.",
            path,
            mounted[0],
        )
        return
    if path.is_symlink() or not path.is_dir():
        with suppress(OSError):
            path.unlink()
    else:
        try:
            shutil.rmtree(path, ignore_errors=True)
        except RecursionError:  # up to Python 3.12 it fails at folders nested a thousand deep
            subprocess.run(["rm", "-rf", "--", str(path)], check=False)  # noqa: S603, S607
        if path.exists():
            _open_up(path)
            shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        log.warning("%s was not removed completely. Remove the rest of the folder manually.", path)


def mounts_in(path: Path) -> tuple[Path, ...]:
    """Return where file systems are mounted at and below a path."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:  # not Linux
        return tuple(Path(folder) for folder, _, _ in os.walk(path) if os.path.ismount(folder))
    places = (_ESCAPED.sub(lambda code: bytes([int(code[1], 8)]), line.split(b" ")[4]) for line in lines)
    top = os.fsencode(path.parent.resolve() / path.name)
    return tuple(Path(os.fsdecode(place)) for place in places if place == top or place.startswith(top + b"/"))


def remove_empty(folder: Path) -> None:
    """Remove a folder and those below it that are empty, without following links."""
    if folder.is_symlink():
        return
    for below, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            Path(below).rmdir()


def is_empty(path: Path) -> bool:
    """Return whether a path is a folder in which there are at most other folders, and no links."""
    if path.is_symlink() or not path.is_dir():
        return False
    return not any(
        names or any(Path(folder, each).is_symlink() for each in folders)
        for folder, folders, names in os.walk(path)
    )


def _open_up(path: Path) -> None:
    """Make folders accessible that a program, or overlayfs, closed to every user."""
    for folder, folders, _ in os.walk(path):
        for name in folders:
            below = Path(folder, name)
            with suppress(OSError):
                if not below.is_symlink():
                    below.chmod(0o700)
