"""The folders of an image, one above the other: the files that overlayfs shows of them.

In the folder of a layer, a removed file is a character device 0/0, and a folder whose lower files are removed
has the attribute `user.overlay.opaque` (Linux, Documentation/filesystems/overlayfs.rst). No name in an image
is followed as a link here.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

OPAQUE = "user.overlay.opaque"
MAX_FOLDERS = 120
"""Folders of one image at most. Their paths have to fit into the page of options of mount(2)."""


def is_whiteout(status: os.stat_result) -> bool:
    """Return whether an entry of a layer means that the lower layers' file is removed."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def is_opaque(folder: Path) -> bool:
    """Return whether a folder of a layer hides the lower layers' folder."""
    try:
        return os.getxattr(folder, OPAQUE, follow_symlinks=False) == b"y"
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.ENOTSUP):
            return False
        raise


def entries_at(folders: Sequence[Path], path: str) -> list[tuple[int, Path]]:
    """Return the entries that make up a path, the highest first, each with the number of its folder.

    Several entries are folders that are merged. The list is empty if nothing is there.
    """
    merged, merges = list(enumerate(folders)), True
    for part in [each for each in path.split("/") if each not in ("", ".")]:
        if not merges:
            return []
        below: list[tuple[int, Path]] = []
        for number, folder in merged:
            entry = folder / part
            status = _lstat(entry)
            if status is None:
                continue
            if not stat.S_ISDIR(status.st_mode):
                if not below and not is_whiteout(status):
                    below.append((number, entry))
                    merges = False
                break
            below.append((number, entry))
            if is_opaque(entry):
                break
        merged = below
    return merged


def find(folders: Sequence[Path], path: str) -> Path | None:
    """Return the file, folder or link that is shown at a path, or None."""
    entries = entries_at(folders, path)
    return entries[0][1] if entries else None


def names_in(folders: Sequence[Path]) -> list[str]:
    """Return the names that are shown in folders which are merged."""
    names = {name for folder in folders for name in os.listdir(folder)}  # noqa: PTH208 - names only
    return sorted(name for name in names if find(folders, name) is not None)


def folders_at(folders: Sequence[Path], path: str) -> tuple[Path, ...]:
    """Return the folders that are merged at a path; none if it is no folder."""
    selected = tuple(entry for _, entry in entries_at(folders, path))
    return selected if selected and selected[0].is_dir() and not selected[0].is_symlink() else ()


def copy(folders: Sequence[Path], target: Path) -> None:
    """Copy the files that merged folders show into a folder. Raises `OSError`."""
    target.mkdir(parents=True, exist_ok=True)
    for name in names_in(folders):
        below = folders_at(folders, name)
        entry = find(folders, name)
        if below:
            copy(below, target / name)
            shutil.copymode(below[0], target / name)
        elif entry is not None:
            shutil.copy2(entry, target / name, follow_symlinks=False)


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
