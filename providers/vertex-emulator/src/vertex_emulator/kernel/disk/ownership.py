"""The owner of a data folder: the emulator, nobody yet, or a person.

The emulator deletes files in its data folder, so it uses only a folder that it has marked. It marks a folder
that is missing or empty, before it writes anything else. A start that was killed leaves an empty folder, one
with an unfinished marker, or a marked one, and the next start accepts each of them. The mode of a folder is
set only when the folder is created.

In the emulator's own folder, a file is deleted only if the database knows it, or if it has the name
and form of the emulator's files.
"""

from __future__ import annotations

import enum
import json
import os
import re
import secrets
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path

VARIABLE = "VERTEX_TRAINING_DATA_DIR"

MARKER = "data-folder.json"
OWNER = "vertex-training emulator"
VERSION = 1

_UNFINISHED = re.compile(rf"\.{re.escape(MARKER)}\.[0-9a-f]{{16}}")
_OF_FILE_SYSTEM = "lost+found"
"""The entry of an empty disk that is mounted as the data folder."""

NOTE = re.compile(r".+(?:-[0-9a-f]{16}|\.[0-9a-f]+\.(?:begun|made))")
"""The names of the notes that deployments write into two folders of the data folder."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SHOWN = 5


class DataFolderError(Exception):
    """The data folder cannot be used; the message names the path and the remedy."""


class _State(enum.Enum):
    UNUSED = "missing or empty"
    MARKED = "marked"


def claim(root: Path) -> None:
    """Create the folder if it is missing, and mark it as the emulator's.

    Raises `DataFolderError` if it is a person's, and `OSError`.
    """
    state = _state(root)
    if state is _State.UNUSED:
        _check_place(root)
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = stat.S_IMODE(root.stat().st_mode)
    if mode & 0o022:
        raise DataFolderError(
            f"Other users may write to the emulator's data folder {root} (mode {mode:04o}), and could "
            "replace its files. If it is yours alone, run this, then try again: chmod 700 "
            f"{shlex.quote(str(root))}. {_other_folder()}"
        )
    if state is not _State.MARKED:
        _mark(root)


def is_own(root: Path) -> bool:
    """Return whether a folder is the emulator's. It is nobody's if it is missing or empty.

    Raises `DataFolderError` if it is a person's, and `OSError`.
    """
    return _state(root) is not _State.UNUSED


def _state(root: Path) -> _State:
    try:
        status = root.stat()
    except FileNotFoundError:
        return _State.UNUSED
    if not stat.S_ISDIR(status.st_mode):
        raise DataFolderError(
            f"The emulator's data folder cannot be used: {root} is a file, not a folder. {_other_folder()}"
        )
    if status.st_uid != os.geteuid():
        raise DataFolderError(
            f"The emulator's data folder {root} belongs to user {status.st_uid}, not to you "
            f"({os.geteuid()}). {_other_folder()}"
        )
    if _is_marked(root):
        return _State.MARKED
    names = sorted(
        path.name
        for path in root.iterdir()
        if path.name != _OF_FILE_SYSTEM and not _UNFINISHED.fullmatch(path.name)
    )
    if not names:
        return _State.UNUSED
    if _is_marked(root):  # by another start, after the first look
        return _State.MARKED
    raise DataFolderError(
        f"{root} is not a data folder of the emulator: it has {_listed(root, names)}. Nothing in it was "
        "changed. The emulator deletes files in its data folder, so it takes only a folder that is new, "
        f"empty or its own. {_other_folder()}, such as "
        f"--data-dir {shlex.quote(str(root / 'emulator-data'))}"
    )


def _other_folder() -> str:
    return f"Choose another folder with --data-dir or {VARIABLE}"


def _listed(root: Path, names: Sequence[str]) -> str:
    shown = [f"{name}/" if (root / name).is_dir() else name for name in names[:_SHOWN]]
    more = len(names) - len(shown)
    return f"{', '.join(shown)} and {more} more" if more else ", ".join(shown)


def _check_place(root: Path) -> None:
    """Check that a new data folder is not in another one, which may delete it."""
    for parent in root.resolve().parents:
        if _is_marked(parent):
            raise DataFolderError(
                f"{root} is in {parent}, the data folder of another emulator, which could delete it. "
                f"{_other_folder()}"
            )


def _is_marked(root: Path) -> bool:
    data = _content(root / MARKER, most=4096)
    try:
        marker = json.loads(data or b"")
        version = int(marker["version"]) if marker["owner"] == OWNER else 0
    except (ValueError, KeyError, TypeError):
        return False
    if version > VERSION:
        raise DataFolderError(
            f"A newer emulator made the data folder {root} (version {version} in {MARKER}; this one knows up "
            f"to {VERSION}). Install the newer version. {_other_folder()}"
        )
    return version > 0


def _mark(root: Path) -> None:
    """Write the marker in one step, and to the disk, so that no other file of the emulator is there first."""
    unfinished = root / f".{MARKER}.{secrets.token_hex(8)}"
    text = json.dumps({"owner": OWNER, "version": VERSION}) + "\n"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(root / MARKER)


def _content(path: Path, *, most: int = -1) -> bytes | None:
    """Return the content of a regular file, or None for anything else."""
    try:
        descriptor = os.open(path, _READ)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
