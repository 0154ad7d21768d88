"""The journal of a run: each creation is recorded on disk before it is sent.

A line of JSON each, flushed to the disk. After SIGKILL the next start reads which resources may exist. Jobs,
models and datasets get their ids from the service, so a creation is found again by the run's label; buckets
and repositories by their names.
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
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

LABEL = "vertex-training-verify"
"""The label of everything that a run creates; its value is the run's id."""

_PREFIX = "vtv-"
_RUN = re.compile(rf"{_PREFIX}[a-z0-9]{{10}}")

Event = dict[str, Any]


class JournalError(Exception):
    """A journal cannot be used; the text has the remedy."""


def new_run() -> str:
    """Return a new id: the value of the label, and the beginning of all names."""
    letters = string.ascii_lowercase + string.digits
    return _PREFIX + "".join(secrets.choice(letters) for _ in range(10))


@dataclass(frozen=True, kw_only=True)
class Creation:
    """A resource that a run has created, or may have created.

    `kind` is the collection of the API, such as "customJobs". `name` is None while only the service knows it.
    `at` is the time in seconds since 1970 at which the creation was recorded. `was_answered`: the service has
    accepted it, perhaps with an `operation` that goes on.
    """

    number: int
    kind: str
    name: str | None
    at: float
    was_answered: bool = False
    operation: str | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """The content of a journal."""

    run: str
    project: str
    location: str
    budget: float
    spent: float
    ended: bool
    creations: tuple[Creation, ...]
    """Creations that are not known to be gone."""


class Journal:
    """Writes the events of one run. Safe for threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._number = 0

    @classmethod
    def begin(cls, folder: Path, *, run: str, project: str, location: str, budget: float) -> Journal:
        """Create the journal of a new run."""
        folder.mkdir(parents=True, exist_ok=True)
        journal = cls(folder / f"{run}.jsonl")
        journal.write("run", run=run, project=project, location=location, budget=budget)
        _sync_folder(folder)
        return journal

    def write(self, event: str, **fields: Any) -> None:
        """Append an event. It is on the disk when this returns."""
        with self._lock:
            self._append(event, fields)

    def creating(self, kind: str, name: str | None) -> int:
        """Record that a resource is about to be created. Return the number of the creation."""
        with self._lock:
            self._number = max(self._number, _last_number(self.path)) + 1
            self._append("creating", {"number": self._number, "kind": kind, "name": name})
            return self._number

    def created(self, number: int, name: str | None, *, operation: str | None = None) -> None:
        """Record that the service has accepted a creation: the name, or the operation that makes it."""
        self.write("created", number=number, name=name, operation=operation)

    def gone(self, number: int) -> None:
        """Record that the resource does not exist: it was refused or deleted."""
        self.write("gone", number=number)

    def _append(self, event: str, fields: Event) -> None:
        _end_last_line(self.path)
        now = datetime.datetime.now(datetime.timezone.utc).timestamp()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, "at": now, **fields}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read(path: Path) -> Record:
    """Return the content of a journal. An incomplete last line, cut by a kill, is left out.

    Raises JournalError.
    """
    events = list(_events(path))
    first = events[0] if events else {}
    if first.get("event") != "run" or not _RUN.fullmatch(str(first.get("run"))):
        raise JournalError(f"{path} is not a journal of `make verify-google`. Move it away.")
    creations: dict[int, Creation] = {}
    spent = 0.0
    for event in events:
        number = event.get("number", 0)
        match event["event"]:
            case "creating":
                creations[number] = Creation(
                    number=number, kind=event["kind"], name=event["name"], at=event["at"]
                )
            case "created":
                found = creations[number]
                creations[number] = replace(
                    found, name=event["name"], operation=event["operation"], was_answered=True
                )
            case "gone":
                creations.pop(number, None)
            case "reserved":
                spent += event["usd"]
            case "released":
                spent -= event["usd"]
    return Record(
        run=first["run"],
        project=first["project"],
        location=first["location"],
        budget=first["budget"],
        spent=max(spent, 0.0),
        ended=any(event["event"] == "ended" for event in events),
        creations=tuple(creations.values()),
    )


def journals(folder: Path) -> list[Path]:
    """Return all journals of a folder, oldest first."""
    return sorted(folder.glob(f"{_PREFIX}*.jsonl"), key=lambda each: (each.stat().st_mtime, each.name))


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


def _events(path: Path) -> Iterator[Event]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        with contextlib.suppress(json.JSONDecodeError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event


def _last_number(path: Path) -> int:
    return max((event.get("number", 0) for event in _events(path)), default=0) if path.exists() else 0


def _end_last_line(path: Path) -> None:
    """Add a line feed after a line that a kill has cut, so that the next event has a line of its own."""
    if path.exists() and (text := path.read_bytes()) and not text.endswith(b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
