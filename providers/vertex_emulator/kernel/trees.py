"""Removal of folders that replicas have written, whatever their permissions and depth."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)


def remove_tree(path: Path) -> None:
    """Remove a file or a folder, without following links. If a part remains, log a warning."""
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


def remove_empty(folder: Path) -> None:
    """Remove a folder and those below it that are empty, without following links."""
    for below, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            Path(below).rmdir()


def is_empty(path: Path) -> bool:
    """Return whether a path is a folder in which there are at most other folders."""
    return not path.is_symlink() and path.is_dir() and not any(names for _, _, names in os.walk(path))


def _open_up(path: Path) -> None:
    """Make folders accessible that a program, or overlayfs, closed to every user."""
    for folder, folders, _ in os.walk(path):
        for name in folders:
            below = Path(folder, name)
            with suppress(OSError):
                if not below.is_symlink():
                    below.chmod(0o700)
