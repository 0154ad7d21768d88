"""The journal of a run: each command is recorded on disk before it can create anything.

A line of JSON each, flushed to the disk. After SIGKILL, the next start reads which run may have left
something, what it had counted, and which process of it may still be alive.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import re
import secrets
import string
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_RUN = re.compile(r"vtv-[a-z0-9]{10}")


class JournalError(Exception):
    """A journal cannot be used; the text has the remedy."""


def new_run() -> str:
    """Return a new id. It names the stacks, so it is in labels or names of everything that a run makes."""
    letters = string.ascii_lowercase + string.digits
    return "vtv-" + "".join(secrets.choice(letters) for _ in range(10))


@dataclass(frozen=True, kw_only=True)
class Record:
    """The content of a journal.

    `spent` are the dollars that were counted. `process` is the command that was under way, or 0, and `at` the
    time of its start in seconds since 1970.
    """

    path: Path
    run: str
    project: str
    location: str
    spent: float
    process: int
    at: float
    ended: bool


@dataclass(frozen=True)
class Journal:
    """Writes the events of one run."""

    path: Path

    @classmethod
    def begin(cls, folder: Path, *, run: str, project: str, location: str) -> Journal:
        """Create the journal of a new run."""
        folder.mkdir(parents=True, exist_ok=True)
        journal = cls(folder / f"{run}.jsonl")
        journal.write("run", run=run, project=project, location=location)
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return journal

    def write(self, event: str, **fields: Any) -> None:
        """Append an event. It is on the disk when this returns."""
        now = datetime.datetime.now(datetime.timezone.utc).timestamp()
        with self.path.open("a+b") as file:
            if file.tell() and not self.path.read_bytes().endswith(b"\n"):
                file.write(b"\n")  # a kill has cut the last line
            file.write(json.dumps({"event": event, "at": now, **fields}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def read(path: Path) -> Record:
    """Return the content of a journal without a line that a kill has cut. Raises JournalError."""
    events = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            events.append(json.loads(line))
    first = events[0] if events else {}
    if first.get("event") != "run" or not _RUN.fullmatch(str(first.get("run"))):
        raise JournalError(f"{path} is not a journal of `make verify-google`. Move it away.")
    started = [each for each in events if each["event"] == "command"]
    return Record(
        path=path,
        run=first["run"],
        project=first["project"],
        location=first["location"],
        spent=sum(each["usd"] for each in events if each["event"] == "reserved"),
        process=started[-1]["process"] if started else 0,
        at=started[-1]["at"] if started else 0.0,
        ended=any(each["event"] == "ended" for each in events),
    )


def unfinished(folder: Path) -> list[Record]:
    """Return the runs of a folder that have not ended, oldest first."""
    records = [read(path) for path in sorted(folder.glob("vtv-*.jsonl"), key=lambda one: one.stat().st_mtime)]
    return [record for record in records if not record.ended]


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
