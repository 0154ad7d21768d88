"""The owner of a data folder: the emulator, nobody yet, or a person.

The emulator deletes files in its data folder, so it uses only a folder that it has marked. It marks a folder
that is missing or empty, before it writes anything else. A start that was killed leaves an empty folder, one
with an unfinished marker, or a marked one, and the next start accepts each of them. The mode of a folder is
set only when the folder is created.

Earlier versions wrote no marker. Their folders are marked once they are recognised, by one of these:

* the table `schema_versions` of state.sqlite3, with the columns that only the emulator gives it. No other
  program creates that table, so other files in the folder do not matter. The file is read as immutable and
  the write-ahead log as bytes, because SQLite would create files beside a person's database.
* without such a database, as after a reset: a lock with a process id, and no entry with a name that the
  emulator does not use. Besides, there is the emulator's token, or the folders for data are empty.
* nothing but the notes of deployments, which may have used Google Cloud alone.

Even a folder that is recognised by mistake loses nothing: in the emulator's own folder, a file is deleted
only if the database knows it, or if its name and form are those of the emulator's files.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import re
import secrets
import shlex
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

VARIABLE = "VERTEX_TRAINING_DATA_DIR"

MARKER = "data-folder.json"
OWNER = "vertex-training emulator"
VERSION = 1

_UNFINISHED = re.compile(rf"\.{re.escape(MARKER)}\.[0-9a-f]{{16}}")
_OF_FILE_SYSTEM = "lost+found"
"""The entry of an empty disk that is mounted as the data folder."""

_DATA = ("buckets", "jobs", "objects-aside", "objects-incoming", "objects-parts", "registry")
_NAMES = re.compile(
    r"\.?(?:data-folder\.json|emulator\.json|token|service-account\.json|clock\.json)(?:\.[0-9a-f]{16})?"
    r"|emulator\.lock|start\.lock|emulator\.log(?:\.1)?|file-shares(?:-mounted)?|gcloud|docker|proxy|images|venvs"
    rf"|notifications|lost|state\.sqlite3(?:-wal|-shm|-journal|\.reserve)?|\.probe-\w+|{'|'.join(_DATA)}"
)
"""The names in the data folders of earlier versions."""

_NOTES = ("creations", "deletions")
NOTE = re.compile(r".+(?:-[0-9a-f]{16}|\.[0-9a-f]+\.(?:begun|made))")
"""The names of the notes that deployments write into two folders of the data folder."""

_TABLE = "CREATE TABLE schema_versions (component TEXT PRIMARY KEY, version INTEGER NOT NULL)"
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}\s*")
_PROCESS = re.compile(rb"[0-9]{0,10}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SHOWN = 5


class DataFolderError(Exception):
    """The data folder cannot be used; the message names the path and the remedy."""


class _State(enum.Enum):
    UNUSED = "missing or empty"
    EARLIER = "of an earlier version"
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
    if _has_database(root) or _has_traces(root, names):
        return _State.EARLIER
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


def _has_database(root: Path) -> bool:
    path = root / "state.sqlite3"
    if _content(path, most=16) != b"SQLite format 3\0":
        return False
    with contextlib.suppress(sqlite3.Error):
        address = f"file:{quote(str(path))}?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            query = "SELECT sql FROM sqlite_master WHERE name = 'schema_versions'"
            if (found := connection.execute(query).fetchone()) is not None:
                return bool(found[0] == _TABLE)
    # The tables of a young database may all be in its log.
    return _TABLE.encode() in (_content(root / "state.sqlite3-wal") or b"")


def _has_traces(root: Path, names: Sequence[str]) -> bool:
    if set(names) <= set(_NOTES):
        return all(NOTE.fullmatch(path.name) for name in names for path in _entries(root / name))
    if not all(_NAMES.fullmatch(name) or name in _NOTES for name in names):
        return False
    locks = [_content(root / name, most=32) for name in ("emulator.lock", "start.lock")]
    if not any(lock is not None and _PROCESS.fullmatch(lock) for lock in locks):
        return False
    return bool(_TOKEN.fullmatch(_content(root / "token", most=64) or b"")) or not any(
        _entries(root / name) for name in _DATA
    )


def _entries(path: Path) -> Sequence[Path]:
    """Return the entries of a folder, none if it is missing, or the path itself if it is a file."""
    try:
        return list(path.iterdir())
    except FileNotFoundError:
        return ()
    except NotADirectoryError:
        return (path,)


def _content(path: Path, *, most: int = -1) -> bytes | None:
    """Return the content of a regular file, or None for anything else."""
    try:
        descriptor = os.open(path, _READ)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
