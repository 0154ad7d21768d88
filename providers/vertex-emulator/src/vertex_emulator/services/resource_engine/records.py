"""The records of one kind of resource: one row each with the message as bytes.

The ID of a resource below another one, such as tensorboards/T/experiments/E, is its path below the first
collection, T/experiments/E.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from vertex_emulator.kernel.changes import EVERYTHING
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine import names
from vertex_emulator.services.resource_engine.history import ChangeHistory

_BATCH = 200
_LAST = 2**62
_CHANGES_LEAVE = 0.25
"""The part of the reserve that changes of records leave for deletions."""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """One kind of resource of the API.

    `id` is the part of a name, "customJobs", and `below` are the collections under it in the names of nested
    ones. `message` is the full name of its message; `noun` its name in the service's errors, "CustomJob".
    `state_of` returns the name of a message's state, or "" if the kind has none. `is_live` returns whether a
    resource in a state has not ended. `created` is the field of the time that lists are ordered by. `absent`
    and `taken` are the service's words for a missing resource and for an ID that is in use.
    """

    id: str
    message: str
    noun: str
    below: tuple[str, ...] = ()
    state_of: Callable[[DynamicMessage], str] = lambda _: ""
    is_live: Callable[[str], bool] = lambda _: False
    created: str = "create_time"
    absent: str = "The {noun} does not exist: {name}."
    taken: str = "The {noun} {name} already exists."

    @classmethod
    def of(cls, message: str, **more: Any) -> Collection:
        """Return a kind whose names are as in Google's definitions; `more` are its other fields."""
        first, *below = descriptors.collections(message)
        noun = message.rpartition(".")[2]
        return cls(id=first, message=message, noun=noun, below=tuple(below), **more)

    def missing(self, name: str) -> RpcError:
        """Return the error for a missing resource."""
        return RpcError("NOT_FOUND", self.absent.format(noun=self.noun, name=name))

    def exists(self, name: str) -> RpcError:
        """Return the error for an ID that is in use."""
        return RpcError("ALREADY_EXISTS", self.taken.format(noun=self.noun, name=name))

    def parse(self, name: str) -> tuple[Place, str]:
        """Return the location and the ID of a resource name. Raises `RpcError` INVALID_ARGUMENT."""
        return names.parse_name(name, self.id, *self.below)


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
    message: DynamicMessage

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

        `component` and `schema` are for a table that is not like the others.
        """
        self.collection = collection
        self.database = database
        self._message = type(descriptors.message(collection.message))
        self.table = table
        self._history: ChangeHistory[sqlite3.Row] = ChangeHistory(clock=time.seconds)
        self.report(created=lambda _collection, _id, _message: None, ended=lambda _: None)
        database.migrate(component or table, schema or (_schema(table),))

    def report(
        self, *, created: Callable[[str, str, DynamicMessage], object], ended: Callable[[Record], object]
    ) -> None:
        """Call `created` with each new resource, and `ended` with each that ends, in its transaction."""
        self._created, self._ended = created, ended

    def transaction(self) -> AbstractContextManager[object]:
        """Return a context whose writes are committed together, or not at all."""
        return self.database.transaction()

    def insert(self, place: Place, resource_id: str, message: DynamicMessage) -> None:
        """Add a resource, whose message has the time of its creation. It is on the disk on return.

        Raises `sqlite3.IntegrityError` for an ID that is in use.
        """
        state = self.collection.state_of(message)
        with self.database.transaction() as connection:
            connection.execute(
                f"INSERT INTO {self.table} (id, project, project_number, location, state, live, created, "  # noqa: S608 - a name of ours
                "message) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    resource_id,
                    place.project,
                    place.number,
                    place.location,
                    state,
                    int(self.collection.is_live(state)),
                    getattr(message, self.collection.created).ToMicroseconds(),
                    message.SerializeToString(),
                ),
            )
            self._history.record(_key(place, resource_id), before=None, counts=True)
            self._note(resource_id)
            self._created(self.collection.id, resource_id, message)

    def get(self, place: Place, resource_id: str) -> Record | None:
        """Return the resource of a location, or None."""
        return self._found(resource_id, place)

    def find(self, resource_id: str) -> Record | None:
        """Return the resource in any location, or None."""
        return self._found(resource_id, None)

    def lookup(self, name: str) -> Record:
        """Return the resource of a name. Raises `RpcError`."""
        place, resource_id = self.collection.parse(name)
        found = self.get(place, resource_id)
        if found is None:
            raise self.collection.missing(name)
        return found

    def live(self) -> list[Record]:
        """Return the live resources, oldest first."""
        return self.where("live ORDER BY created, number")

    def everywhere(self) -> list[Record]:
        """Return all resources, newest first."""
        return self.where("1 ORDER BY created DESC, number DESC")

    def where(self, condition: str, *parameters: object) -> list[Record]:
        """Return the resources that meet an SQL condition, which must be a constant of the emulator.

        Those that the thread's own transaction has written are among them.
        """
        return [self._record(row) for row in self.database.own_rows(self._select(condition), parameters)]

    def below(self, parent: Record) -> Iterator[Record]:
        """Yield the resources below `parent`, at any depth, newest first."""
        return self.newest_first(parent.place, below=f"{parent.id}/")

    def count_below(self, parent: Record) -> int:
        """Return the number of resources below `parent`."""
        rows = self.database.own_rows(
            f"SELECT COUNT(*) AS number FROM {self.table} WHERE project_number = ? AND location = ? "  # noqa: S608 - a name of ours
            "AND id >= ? AND id < ?",
            (parent.place.number, parent.location, f"{parent.id}/", f"{parent.id}0"),  # "0" follows "/"
        )
        return int(rows[0]["number"])

    def child(self, parent: Record | None, resource_id: str) -> str:
        """Return the ID of a resource below `parent`, or of one in a location."""
        return f"{parent.id}/{self.collection.below[-1]}/{resource_id}" if parent else resource_id

    def newest_first(
        self, place: Place, *, before: tuple[int, int] | None = None, below: str = ""
    ) -> Iterator[Record]:
        """Yield the resources of a location after `before`, a pair of `created` and `number`.

        `below` is the start of their IDs. Within `looking_back`, yield the resources of the past state.
        """
        start = before or (_LAST, _LAST)
        then = self._history.rows_before()
        here = [
            row
            for row in then.values()
            if row is not None
            and (row["project_number"], row["location"]) == (place.number, place.location)
            and row["id"].startswith(below)
        ]
        former = sorted((row for row in here if _position(row) < start), key=_position, reverse=True)
        unchanged = (row for row in self._rows(place, start, below) if _key(place, row["id"]) not in then)
        merged = heapq.merge(unchanged, former, key=_position, reverse=True)
        yield from map(self._record, merged)

    def change(
        self, resource_id: str, change: Callable[[DynamicMessage], bool], *, place: Place | None = None
    ) -> Record | None:
        """Apply `change` to the message, and store it if `change` returns true.

        Return the current resource. On a full disk the change may use most of the reserve: the end of a job
        must not be lost.
        """
        with self.database.reserve.spend(keep=_CHANGES_LEAVE), self.database.transaction() as connection:
            row = self._row(resource_id, place)
            if row is None:
                return None
            record = self._record(row)
            if not change(record.message):
                return record
            changed = self._write(connection, record)
            self._history.record(_key(record.place, record.id), before=row, counts=False)
            self._note(record.id)
            if record.live and not changed.live:
                self._ended(changed)
            return changed

    def end_all(self, end: Callable[[DynamicMessage], object], *, condition: str = "live") -> int:
        """Apply `end` to each resource, and report none. Return how many there were."""
        with self.database.transaction() as connection:
            found = self.where(condition)
            for record in found:
                end(record.message)
                self._write(connection, record)
        return len(found)

    def delete(self, resource_id: str, *, place: Place | None = None) -> bool:
        """Delete a resource. Return False if it did not exist."""
        with self.database.transaction() as connection:
            row = self._row(resource_id, place)
            if row is None:
                return False
            connection.execute(f"DELETE FROM {self.table} WHERE rowid = ?", (row["number"],))  # noqa: S608
            found = Place(project=row["project"], location=row["location"])
            self._history.record(_key(found, resource_id), before=row, counts=True)
            self._note(resource_id)
            return True

    def clear(self) -> None:
        """Delete all resources and their history."""
        with self.database.transaction() as connection:
            connection.execute(f"DELETE FROM {self.table}")  # noqa: S608
            self.database.note(EVERYTHING)
        self.clear_history()

    def clear_history(self) -> None:
        """Drop the history, so that no list can go back beyond this moment."""
        self._history.clear()

    def _write(self, connection: sqlite3.Connection, record: Record) -> Record:
        state = self.collection.state_of(record.message)
        live = self.collection.is_live(state)
        connection.execute(
            f"UPDATE {self.table} SET state = ?, live = ?, message = ? WHERE rowid = ?",  # noqa: S608
            (state, int(live), record.message.SerializeToString(), record.number),
        )
        return replace(record, state=state, live=live)

    def _note(self, resource_id: str) -> None:
        self.database.note(f"{self.collection.id}/{resource_id}")

    def _select(self, condition: str) -> str:
        return f"SELECT rowid AS number, * FROM {self.table} WHERE {condition}"  # noqa: S608

    def _found(self, resource_id: str, place: Place | None) -> Record | None:
        row = self._row(resource_id, place)
        return None if row is None else self._record(row)

    def _row(self, resource_id: str, place: Place | None) -> sqlite3.Row | None:
        """Return the row of a resource in a location, or in any, as the thread's transaction sees it."""
        condition = "id = ?"
        parameters: tuple[str, ...] = (resource_id,)
        if place is not None:
            condition += " AND project_number = ? AND location = ?"
            parameters += (place.number, place.location)
        return next(iter(self.database.own_rows(self._select(f"{condition} LIMIT 1"), parameters)), None)

    def _rows(self, place: Place, start: tuple[int, int], below: str) -> Iterator[sqlite3.Row]:
        created, number = start
        among = ("AND id >= ? AND id < ? ", (below, f"{below}\U0010ffff")) if below else ("", ())
        while True:
            rows = self.database.own_rows(
                self._select(
                    f"project_number = ? AND location = ? {among[0]}AND (created, rowid) < (?, ?) "
                    "ORDER BY created DESC, number DESC LIMIT ?"
                ),
                (place.number, place.location, *among[1], created, number, _BATCH),
            )
            yield from rows
            if len(rows) < _BATCH:
                return
            created, number = _position(rows[-1])

    def _record(self, row: sqlite3.Row) -> Record:
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


def _position(row: sqlite3.Row) -> tuple[int, int]:
    return row["created"], row["number"]
