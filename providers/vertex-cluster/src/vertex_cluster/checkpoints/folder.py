"""A folder of checkpoints: their names, their markers, which one is whole, and the removal of old ones."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Container, Dict, Iterable, Iterator, List, Mapping, Optional, Union

__all__ = ["MARKER", "Checkpoint", "CheckpointError", "newest"]

MARKER = "COMPLETE.json"
"""Name of the file that makes a checkpoint whole."""

_NAME = re.compile(r"step-(0|[1-9][0-9]{0,17})-([A-Za-z0-9_]{1,63})-([1-9][0-9]{0,8})")
_LARGEST_MARKER = 64 * 2**20
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR)


class CheckpointError(Exception):
    """A checkpoint cannot be saved or resumed; the message says why, and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder with the state of a training after a step."""

    path: Path
    """The folder."""
    step: int
    """The step after which it was saved."""
    job: str
    """The job that saved it, as in its name."""
    start: int
    """The start of the training that saved it, counted from 1 over all jobs."""

    @property
    def name(self) -> str:
        """The name of the folder, which no other checkpoint ever has."""
        return self.path.name


def checkpoint_of(folder: Path, *, step: int, job: str, start: int) -> Checkpoint:
    """Return the checkpoint that a start of a job saves after a step. Nothing is written."""
    return Checkpoint(folder / f"step-{step}-{job}-{start}", step, job, start)


def job_part(job: str) -> str:
    """Return the id of a job as a part of a name: other characters than letters and digits become ``_``."""
    return re.sub(r"[^A-Za-z0-9_]", "_", job)[:63] or "local"


def begun(folder: Path) -> List[Checkpoint]:
    """Return all checkpoints, whole or not, the newest first. Other names, files and links are left out."""
    folders = (entry.name for entry in entries_of(folder) if entry.is_dir(follow_symlinks=False))
    return named(folder, folders)


def named(folder: Path, names: Iterable[str]) -> List[Checkpoint]:
    """Return the checkpoints of a folder among names, the newest first."""
    matches = filter(None, map(_NAME.fullmatch, names))
    found = [Checkpoint(folder / match[0], int(match[1]), match[2], int(match[3])) for match in matches]
    return sorted(found, key=_age, reverse=True)


def _age(checkpoint: Checkpoint) -> Any:
    return checkpoint.step, checkpoint.start, checkpoint.job


def newest(folder: Union[str, Path], *, without: Container[str] = ()) -> Optional[Checkpoint]:
    """Return the whole checkpoint of the highest step, or None. `without` has names to pass over.

    For processes that only read, such as an evaluator. Raises OSError if the folder cannot be read.
    """
    for checkpoint in begun(Path(folder)):
        if checkpoint.name not in without and is_whole(checkpoint):
            return checkpoint
    return None


def has_marker(checkpoint: Checkpoint) -> bool:
    """Return whether a checkpoint was complete once: its marker exists, whatever it says."""
    return any(entry.name == MARKER for entry in entries_of(checkpoint.path))


def is_whole(checkpoint: Checkpoint) -> bool:
    """Return whether the marker of a checkpoint exists and each file has the size that it names.

    Raises OSError for other errors than missing files: a bucket that cannot be read is no reason to begin
    with an older checkpoint.
    """
    # The listing decides whether there is a marker: below /gcs, a cache may answer a lookup of a name.
    if not has_marker(checkpoint):
        return False
    sizes = sizes_in(checkpoint, _marker(checkpoint))
    return bool(sizes) and all(_has_size(checkpoint.path, name, size) for name, size in sizes.items())


def saved_at(checkpoint: Checkpoint) -> str:
    """Return when a checkpoint was saved, in UTC; "" if its marker does not say so. Raises OSError."""
    try:
        time = json.loads(_marker(checkpoint))["time"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return time if isinstance(time, str) else ""


def _marker(checkpoint: Checkpoint) -> bytes:
    """Return the content of a marker, empty if it is not there. Raises OSError."""
    try:
        with (checkpoint.path / MARKER).open("rb") as file:
            return file.read(_LARGEST_MARKER + 1)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return b""
        raise


def sizes_in(checkpoint: Checkpoint, text: bytes) -> Mapping[str, int]:
    """Return the sizes by name in the content of a checkpoint's marker; empty if it is damaged."""
    try:
        marker = json.loads(text)
        if (marker["step"], marker["start"]) != (checkpoint.step, checkpoint.start):
            return {}
        sizes = dict(marker["files"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return sizes if all(_is_entry(name, size) for name, size in sizes.items()) else {}


def _is_entry(name: object, size: object) -> bool:
    if not isinstance(name, str) or not isinstance(size, int) or isinstance(size, bool):
        return False
    return "\0" not in name and not {"", ".", ".."} & set(name.split("/"))


def _has_size(folder: Path, name: str, size: int) -> bool:
    try:
        status = os.lstat(folder / name)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise
    except ValueError:  # a name that this system's encoding does not have
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == size


def complete(checkpoint: Checkpoint, **more: object) -> None:
    """Write the marker of a checkpoint, whose files are all closed. Raises CheckpointError, OSError."""
    sizes: Dict[str, int] = {}
    for path, status in _files(checkpoint.path):
        name = path.relative_to(checkpoint.path).as_posix()
        if not stat.S_ISREG(status.st_mode):
            raise CheckpointError(f"{path} is not a file. Save files and folders only, without links.")
        sizes[name] = status.st_size
    if MARKER in sizes:
        raise CheckpointError(f"{checkpoint.path / MARKER} exists. Save no file of that name.")
    if not sizes:
        raise CheckpointError(
            f"{checkpoint.path} is empty. Write the state into the folder that is passed to the function."
        )
    text = json.dumps({"step": checkpoint.step, "start": checkpoint.start, **more, "files": sizes})
    with (checkpoint.path / MARKER).open("x", encoding="ascii") as file:
        file.write(text)


def remove(checkpoint: Checkpoint) -> None:
    """Delete a checkpoint, its marker first, so that a part of it never looks whole. Raises OSError."""
    if has_marker(checkpoint):
        (checkpoint.path / MARKER).unlink()
    _remove_tree(checkpoint.path)


def _remove_tree(folder: Path) -> None:
    for entry in entries_of(folder):
        if entry.is_dir(follow_symlinks=False):
            _remove_tree(Path(entry.path))
        else:
            Path(entry.path).unlink()
    folder.rmdir()


def _files(folder: Path) -> Iterator[Any]:
    """Yield the path and the status of everything below a folder but folders. Links are not followed."""
    for entry in entries_of(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        else:
            yield Path(entry.path), os.lstat(entry.path)


def entries_of(folder: Path) -> List[Any]:
    """Return what is in a folder by name, nothing if there is no such folder. Raises OSError."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return []
        raise
