"""The records of one kind of resource: one row each with the message as bytes, and their recent history.

The history is in memory: the last changes of jobs, each with the previous row.
"""

from __future__ import annotations

import heapq
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.changes import EVERYTHING
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc import descriptors
from vertex_emulator.vertex import names

_MAX_CHANGES = 500

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class LookBack:
    """A past state of lists: `seconds` ago, or before the last `changes` creations and deletions of jobs."""

    seconds: float | None = None
    changes: int | None = None


_LOOK_BACK: ContextVar[LookBack | None] = ContextVar("look_back", default=None)


@contextmanager
def looking_back(how_far: LookBack) -> Iterator[None]:
    """Run the context's body with lists of jobs in this thread as of that past state."""
    token = _LOOK_BACK.set(how_far)
    try:
        yield
    finally:
        _LOOK_BACK.reset(token)


@dataclass(frozen=True)
class _Change(Generic[Row]):
    at: float
    job_id: str
    before: Row | None
    counts: bool


class ChangeHistory(Generic[Row]):
    """The last changes of one store. `clock` returns seconds."""

    def __init__(
        self, *, kept: int = _MAX_CHANGES, clock: Callable[[], float] = machine_clock.monotonic
    ) -> None:
        self._changes: deque[_Change[Row]] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self._clock = clock

    def record(self, job_id: str, *, before: Row | None, counts: bool) -> None:
        """Record a change of a job.

        `before` is None for a new job. `counts` is true if the job was created or deleted.
        """
        with self._lock:
            self._changes.append(_Change(self._clock(), job_id, before, counts))

    def clear(self) -> None:
        """Drop all changes."""
        with self._lock:
            self._changes.clear()

    def rows_before(self) -> Mapping[str, Row | None]:
        """Return the rows before the changes since the past state, by job; None for a job that did not exist.

        The result is empty outside of `looking_back`.
        """
        how_far = _LOOK_BACK.get()
        if how_far is None:
            return {}
        found: dict[str, Row | None] = {}
        with self._lock:
            oldest = None if how_far.seconds is None else self._clock() - how_far.seconds
            left = how_far.changes or 0
            for change in reversed(self._changes):
                if change.at <= oldest if oldest is not None else left == 0:
                    break
                found[change.job_id] = change.before
                left -= change.counts
        return found


_BATCH = 200
_LAST = 2**62
_CHANGES_LEAVE = 0.25
"""The part of the reserve that changes of records leave for deletions."""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """One kind of resource of the API.

    `id` is the part of a name, "customJobs"; `message` the full name of its message; `noun` its name in the
    service's errors, "CustomJob". `state_of` returns the name of a message's state, or "" if the kind has
    none. `is_live` returns whether a resource in a state has not ended.
    """

    id: str
    message: str
    noun: str
    state_of: Callable[[Any], str] = lambda _: ""
    is_live: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, kw_only=True)
class Record:
    """A stored resource; `created` is in microseconds since 1970.

    `number` orders records of the same time, as with a frozen clock: the later one has the higher number.
    """

    number: int
    collection: str
    id: str
    project: str
    location: str
    state: str
    live: bool
    created: int
    message: Any

    @property
    def place(self) -> Place:
        return Place(project=self.project, location=self.location)

    @property
    def name(self) -> str:
        return names.name_of(self.place, self.collection, self.id)


class Records:
    """All resources of one kind, in their own table.

    IDs may be unique within a location only. Lookups without a location use IDs that the emulator generated.
    """

    def __init__(
        self,
        database: Database,
        time: Clock,
        collection: Collection,
        *,
        table: str,
        component: str = "",
        schema: Sequence[str] = (),
    ) -> None:
        """Open the table.

        `component` and `schema` are for a table that an earlier version created differently.
        """
        self.collection = collection
        self.database = database
        self._message: type[Any] = type(descriptors.message(collection.message))
        self._table = table
        self._history: ChangeHistory[sqlite3.Row] = ChangeHistory(clock=time.seconds)
        self.ended: Callable[[Record], object] = lambda _: None
        """Called with each resource that ends, within the transaction of its end."""
        self.created: Callable[[str, str, Any], object] = lambda _collection, _id, _message: None
        """Called with each new resource, within the transaction of its creation."""
        database.migrate(component or table, schema or (_schema(table),))

    def transaction(self) -> AbstractContextManager[object]:
        """Return a context whose writes are committed together, or not at all."""
        return self.database.transaction()

    def insert(self, place: Place, resource_id: str, message: Any) -> None:
        """Add a resource, whose message has a `create_time`. It is on the disk on return.

        Raises `sqlite3.IntegrityError` for an ID that is in use.
        """
        state = self.collection.state_of(message)
        with self.database.transaction() as connection:
            connection.execute(
                f"INSERT INTO {self._table} (id, project, project_number, location, state, live, created, "  # noqa: S608 - a name of ours
                "message) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    resource_id,
                    place.project,
                    place.number,
                    place.location,
                    state,
                    int(self.collection.is_live(state)),
                    message.create_time.ToMicroseconds(),
                    message.SerializeToString(),
                ),
            )
            self._history.record(_key(place, resource_id), before=None, counts=True)
            self._note(resource_id)
            self.created(self.collection.id, resource_id, message)

    def get(self, place: Place, resource_id: str) -> Record | None:
        """Return the resource of a location, or None."""
        return self._first(
            "id = ? AND project_number = ? AND location = ?", resource_id, place.number, place.location
        )

    def find(self, resource_id: str) -> Record | None:
        """Return the resource in any location, or None."""
        return self._first("id = ?", resource_id)

    def live(self) -> list[Record]:
        """Return the live resources, oldest first."""
        return self.where("live ORDER BY created, number")

    def everywhere(self) -> list[Record]:
        """Return all resources, newest first."""
        return self.where("1 ORDER BY created DESC, number DESC")

    def where(self, condition: str, *parameters: object) -> list[Record]:
        """Return the resources that meet an SQL condition, which must be a constant of the emulator."""
        return [self._record(row) for row in self.database.rows(self._select(condition), parameters)]

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[Record]:
        """Yield the resources of a location after `before`, a pair of `created` and `number`.

        Within `looking_back`, yield those of the past state.
        """
        start = before or (_LAST, _LAST)
        then = self._history.rows_before()
        here = [
            row for row in then.values() if row is not None and _place(row) == (place.number, place.location)
        ]
        former = sorted((row for row in here if _position(row) < start), key=_position, reverse=True)
        unchanged = (row for row in self._rows(place, start) if _key(place, row["id"]) not in then)
        merged = heapq.merge(unchanged, former, key=_position, reverse=True)
        yield from map(self._record, merged)

    def change(
        self, resource_id: str, change: Callable[[Any], bool], *, place: Place | None = None
    ) -> Record | None:
        """Apply `change` to the message, and store it if `change` returns true.

        Return the current resource. On a full disk the change may use most of the reserve: the end of a job
        must not be lost.
        """
        with self.database.reserve.spend(keep=_CHANGES_LEAVE), self.database.transaction() as connection:
            row = self._locked(connection, resource_id, place)
            if row is None:
                return None
            record = self._record(row)
            if not change(record.message):
                return record
            state = self.collection.state_of(record.message)
            connection.execute(
                f"UPDATE {self._table} SET state = ?, live = ?, message = ? WHERE rowid = ?",  # noqa: S608
                (
                    state,
                    int(self.collection.is_live(state)),
                    record.message.SerializeToString(),
                    row["number"],
                ),
            )
            self._history.record(_key(record.place, record.id), before=row, counts=False)
            self._note(record.id)
            changed = self._record(self._locked(connection, resource_id, place))
            if record.live and not changed.live:
                self.ended(changed)
            return changed

    def delete(self, resource_id: str, *, place: Place | None = None) -> bool:
        """Delete a resource. Return False if it did not exist."""
        with self.database.transaction() as connection:
            row = self._locked(connection, resource_id, place)
            if row is None:
                return False
            connection.execute(f"DELETE FROM {self._table} WHERE rowid = ?", (row["number"],))  # noqa: S608
            found = Place(project=row["project"], location=row["location"])
            self._history.record(_key(found, resource_id), before=row, counts=True)
            self._note(resource_id)
            return True

    def clear(self) -> None:
        """Delete all resources and their history."""
        with self.database.transaction() as connection:
            connection.execute(f"DELETE FROM {self._table}")  # noqa: S608
            self.database.note(EVERYTHING)
        self.clear_history()

    def clear_history(self) -> None:
        """Drop the history, so that no list can go back beyond this moment."""
        self._history.clear()

    def _note(self, resource_id: str) -> None:
        self.database.note(f"{self.collection.id}/{resource_id}")

    def _select(self, condition: str) -> str:
        return f"SELECT rowid AS number, * FROM {self._table} WHERE {condition}"  # noqa: S608

    def _first(self, condition: str, *parameters: object) -> Record | None:
        row = self.database.row(self._select(condition), parameters)
        return self._record(row) if row else None

    def _locked(self, connection: sqlite3.Connection, resource_id: str, place: Place | None) -> Any:
        """Return the row as the transaction sees it."""
        if place is None:
            return connection.execute(self._select("id = ?"), (resource_id,)).fetchone()
        return connection.execute(
            self._select("id = ? AND project_number = ? AND location = ?"),
            (resource_id, place.number, place.location),
        ).fetchone()

    def _rows(self, place: Place, start: tuple[int, int]) -> Iterator[sqlite3.Row]:
        created, number = start
        while True:
            rows = self.database.rows(
                self._select(
                    "project_number = ? AND location = ? AND (created, rowid) < (?, ?) "
                    "ORDER BY created DESC, number DESC LIMIT ?"
                ),
                (place.number, place.location, created, number, _BATCH),
            )
            yield from rows
            if len(rows) < _BATCH:
                return
            created, number = _position(rows[-1])

    def _record(self, row: Any) -> Record:
        message = self._message()
        message.ParseFromString(row["message"])
        return Record(
            number=row["number"],
            collection=self.collection.id,
            id=row["id"],
            project=row["project"],
            location=row["location"],
            state=row["state"],
            live=bool(row["live"]),
            created=row["created"],
            message=message,
        )


def _schema(table: str) -> str:
    return f"""
    CREATE TABLE {table} (
        id TEXT NOT NULL,
        project TEXT NOT NULL,
        project_number TEXT NOT NULL,
        location TEXT NOT NULL,
        state TEXT NOT NULL,
        live INTEGER NOT NULL,
        created INTEGER NOT NULL,
        message BLOB NOT NULL,
        UNIQUE (project_number, location, id)
    );
    CREATE INDEX {table}_by_place ON {table} (project_number, location, created DESC, id DESC);
    CREATE INDEX {table}_live ON {table} (live) WHERE live;
    """


def _key(place: Place, resource_id: str) -> str:
    return f"{place}/{resource_id}"


def _place(row: sqlite3.Row) -> tuple[str, str]:
    return row["project_number"], row["location"]


def _position(row: sqlite3.Row) -> tuple[int, int]:
    return row["created"], row["number"]
