"""The journal of a run, on the disk before a command can create anything.

After SIGKILL, the next start reads which run may have left something, and what it had counted. A run of which
nothing is left has no journal any more.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import string
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

_RUN = re.compile(r"vtv-[a-z0-9]{10}")


class JournalError(Exception):
    """A journal cannot be used; the text has the remedy."""


def new_run() -> str:
    """Return a new id. It names the stacks, so it is in labels or names of everything that a run makes."""
    letters = string.ascii_lowercase + string.digits
    return "vtv-" + "".join(secrets.choice(letters) for _ in range(10))


@dataclass(frozen=True, kw_only=True)
class Record:
    """The content of a journal; `counted` are dollars."""

    run: str
    project: str
    location: str
    counted: float


def write(folder: Path, record: Record) -> None:
    """Write the journal of a run. It is on the disk when this returns, whole or not at all."""
    path = folder / f"{record.run}.json"
    new = path.with_suffix(".new")
    with new.open("w") as file:
        json.dump(asdict(record), file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def end(folder: Path, record: Record) -> None:
    """Remove the journal of a run of which nothing is left."""
    (folder / f"{record.run}.json").unlink()


def unfinished(folder: Path) -> list[Record]:
    """Return the runs of a folder that may have left something. Raises JournalError."""
    return [_read(path) for path in sorted(folder.glob("vtv-*.json"))]


def _read(path: Path) -> Record:
    try:
        record = Record(**json.loads(path.read_text()))
        if _RUN.fullmatch(record.run):  # everything with this id in its name is deleted
            return record
    except (ValueError, TypeError):
        pass
    raise JournalError(f"{path} is not a journal of `make verify-google`. Move it away.")


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which ends with the process. Raises JournalError while another run has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                "Another `make verify-google` is running in this clone. Wait for it, or end it."
            ) from None
        yield
