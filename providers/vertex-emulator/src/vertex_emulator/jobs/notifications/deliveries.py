"""The deliveries of notifications: recorded in the transaction of a job's end, and kept until sent."""

from __future__ import annotations

import enum
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from vertex_emulator.kernel.database import Database

TargetKind = Literal["webhook", "command"]

_SCHEMA = (
    """
    CREATE TABLE notification_deliveries (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        collection TEXT NOT NULL,
        job_id TEXT NOT NULL,
        event TEXT NOT NULL,
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        target TEXT NOT NULL,
        facts TEXT NOT NULL,
        summary TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        due INTEGER NOT NULL,
        error TEXT NOT NULL DEFAULT '',
        ended TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX notification_deliveries_by_job ON notification_deliveries (collection, job_id);
    CREATE INDEX notification_deliveries_pending ON notification_deliveries (due) WHERE state = 'pending';
    CREATE TABLE notification_strangers (
        collection TEXT NOT NULL,
        job_id TEXT NOT NULL,
        PRIMARY KEY (collection, job_id)
    ) WITHOUT ROWID;
    """,
)
_KEPT = 1000
_PENDING = "state = 'pending'"


class DeliveryState(str, enum.Enum):
    """The state of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A notification to one target.

    `path` is the target's place in the declaration, such as "notifications[0].webhook". `target` is the
    address, or the program with its arguments; it is empty once the delivery has ended. `due` is the time of
    the next attempt, in microseconds since 1970. `ended` is the time when it was delivered or given up (RFC
    3339).
    """

    id: str
    collection: str
    job_id: str
    event: str
    path: str
    kind: TargetKind
    target: tuple[str, ...] = field(repr=False)
    facts: Mapping[str, str] = field(repr=False)
    summary: str
    due: int
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    error: str = ""
    ended: str = ""


class Deliveries:
    """All deliveries of an emulator."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("notification deliveries", _SCHEMA)

    def add(self, one: Delivery) -> None:
        """Record a delivery. It joins the caller's transaction, the one of the job's end."""
        self._database.execute(
            "INSERT INTO notification_deliveries "
            "(id, collection, job_id, event, path, kind, target, facts, summary, state, due) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                one.id,
                one.collection,
                one.job_id,
                one.event,
                one.path,
                one.kind,
                json.dumps(one.target),
                json.dumps(dict(one.facts)),
                one.summary,
                one.state.value,
                one.due,
            ),
        )

    def note_stranger(self, collection: str, job_id: str) -> None:
        """Record a job whose labels show nothing. It joins the transaction of the job's creation."""
        self._database.execute(
            "INSERT OR REPLACE INTO notification_strangers (collection, job_id) VALUES (?, ?)",
            (collection, job_id),
        )

    def is_stranger(self, collection: str, job_id: str) -> bool:
        """Return whether `note_stranger` was called for a job."""
        row = self._database.row(
            "SELECT 1 FROM notification_strangers WHERE collection = ? AND job_id = ?", (collection, job_id)
        )
        return row is not None

    def due(self, now: int) -> Sequence[Delivery]:
        """Return the pending deliveries whose next attempt is due, oldest first."""
        return self._where(f"{_PENDING} AND due <= ? ORDER BY due, number", now)

    def next_due(self) -> int | None:
        """Return the time of the next attempt, or None if nothing is pending."""
        row = self._database.row(f"SELECT min(due) AS due FROM notification_deliveries WHERE {_PENDING}")  # noqa: S608
        return row["due"] if row else None

    def of_job(self, collection: str, job_id: str) -> Sequence[Delivery]:
        """Return the deliveries of a job, oldest first."""
        return self._where("collection = ? AND job_id = ? ORDER BY number", collection, job_id)

    def begin(self, delivery_id: str, *, next_due: int) -> None:
        """Count an attempt before it is made, so that a kill during it does not make it endless."""
        self._database.execute(
            "UPDATE notification_deliveries SET attempts = attempts + 1, due = ?, error = '' WHERE id = ?",
            (next_due, delivery_id),
        )

    def note_error(self, delivery_id: str, error: str) -> None:
        """Record why an attempt failed that is followed by another."""
        self._database.execute(
            "UPDATE notification_deliveries SET error = ? WHERE id = ?", (error, delivery_id)
        )

    def end(self, delivery_id: str, state: DeliveryState, *, error: str = "", at: str) -> None:
        """Record the last attempt, forget the target, and drop the oldest deliveries that have ended."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE notification_deliveries SET state = ?, error = ?, ended = ?, target = '[]' "
                "WHERE id = ?",
                (state.value, error, at, delivery_id),
            )
            connection.execute(
                "DELETE FROM notification_deliveries WHERE state != 'pending' AND number <= "
                "(SELECT max(number) FROM notification_deliveries) - ?",
                (_KEPT,),
            )

    def clear(self) -> None:
        """Delete all deliveries."""
        self._database.execute("DELETE FROM notification_deliveries")
        self._database.execute("DELETE FROM notification_strangers")

    def _where(self, condition: str, *parameters: object) -> list[Delivery]:
        rows = self._database.rows(
            f"SELECT * FROM notification_deliveries WHERE {condition}",  # noqa: S608
            parameters,
        )
        return list(map(_delivery, rows))


def _delivery(row: sqlite3.Row) -> Delivery:
    return Delivery(
        id=row["id"],
        collection=row["collection"],
        job_id=row["job_id"],
        event=row["event"],
        path=row["path"],
        kind=row["kind"],
        target=tuple(json.loads(row["target"])),
        facts=json.loads(row["facts"]),
        summary=row["summary"],
        due=row["due"],
        state=DeliveryState(row["state"]),
        attempts=row["attempts"],
        error=row["error"],
        ended=row["ended"],
    )
