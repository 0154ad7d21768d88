"""The records of custom jobs: one row each, the message as bytes beside what is searched by."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from vertex_training.emulator import descriptors
from vertex_training.emulator.clock import Clock
from vertex_training.emulator.database import Database
from vertex_training.emulator.jobs import names, states
from vertex_training.emulator.jobs.past import Past

CUSTOM_JOB = "google.cloud.aiplatform.v1.CustomJob"

_SCHEMA = (
    """
    CREATE TABLE custom_jobs (
        id TEXT PRIMARY KEY,
        project TEXT NOT NULL,
        project_number TEXT NOT NULL,
        location TEXT NOT NULL,
        state TEXT NOT NULL,
        live INTEGER NOT NULL,
        created INTEGER NOT NULL,
        job BLOB NOT NULL
    );
    CREATE INDEX custom_jobs_by_place ON custom_jobs (project_number, location, created DESC, id DESC);
    CREATE INDEX custom_jobs_live ON custom_jobs (live) WHERE live;
    """,
)
_BATCH = 200
_LAST = 2**62


@dataclass(frozen=True, kw_only=True)
class Record:
    """A job as it is stored; `created` is in microseconds since 1970, `job` a `CustomJob` message.

    `number` tells apart jobs that were created at one moment of a frozen clock: the later one has the higher.
    """

    number: int
    id: str
    project: str
    location: str
    state: str
    created: int
    job: Any

    @property
    def place(self) -> names.Place:
        return names.Place(project=self.project, location=self.location)

    @property
    def name(self) -> str:
        return names.job_name(self.place, self.id)


class JobStore:
    """All jobs of an emulator."""

    def __init__(self, database: Database, time: Clock) -> None:
        self._database = database
        self._past: Past[sqlite3.Row] = Past(clock=time.seconds)
        database.migrate("custom jobs", _SCHEMA)

    def transaction(self) -> AbstractContextManager[object]:
        """All or nothing of what is written in the block."""
        return self._database.transaction()

    def insert(self, place: names.Place, job_id: str, job: Any) -> None:
        """Add a job; it is on the disk when this returns."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO custom_jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    job_id,
                    place.project,
                    place.number,
                    place.location,
                    states.state_of(job),
                    int(states.state_of(job) not in states.TERMINAL),
                    job.create_time.ToMicroseconds(),
                    job.SerializeToString(),
                ),
            )
            self._past.remember(job_id, before=None, counts=True)

    def get(self, place: names.Place, job_id: str) -> Record | None:
        """The job of that place."""
        record = self.find(job_id)
        if record is None or (record.place.number, record.location) != (place.number, place.location):
            return None
        return record

    def find(self, job_id: str) -> Record | None:
        """The job wherever it is."""
        row = self._database.row("SELECT rowid AS number, * FROM custom_jobs WHERE id = ?", (job_id,))
        return _record(row) if row else None

    def started(self) -> list[Record]:
        """The jobs that have not ended, without those that wait for their start (`waiting`)."""
        rows = self._database.rows(
            "SELECT rowid AS number, * FROM custom_jobs "
            "WHERE live AND id NOT IN (SELECT id FROM waiting_jobs)"
        )
        return [_record(row) for row in rows]

    def started_ids(self) -> list[str]:
        """The ids of those."""
        rows = self._database.rows(
            "SELECT id FROM custom_jobs WHERE live AND id NOT IN (SELECT id FROM waiting_jobs)"
        )
        return [row["id"] for row in rows]

    def ids_in(self, state: str) -> list[str]:
        """The ids of the jobs in a state that is no end."""
        rows = self._database.rows("SELECT id FROM custom_jobs WHERE live AND state = ?", (state,))
        return [row["id"] for row in rows]

    def holding_quota(self) -> list[Record]:
        """The jobs that have not ended, without those that are queued."""
        rows = self._database.rows(
            "SELECT rowid AS number, * FROM custom_jobs WHERE live AND state != ?", (states.QUEUED,)
        )
        return [_record(row) for row in rows]

    def everywhere(self) -> list[Record]:
        """All jobs, the newest first."""
        rows = self._database.rows(
            "SELECT rowid AS number, * FROM custom_jobs ORDER BY created DESC, number DESC"
        )
        return [_record(row) for row in rows]

    def projects(self) -> list[str]:
        """The ids of the projects that have jobs."""
        return [row["project"] for row in self._database.rows("SELECT DISTINCT project FROM custom_jobs")]

    def newest_first(self, place: names.Place, *, before: tuple[int, int] | None = None) -> Iterator[Record]:
        """The jobs of a place that come after `before`, a pair of `created` and `number`.

        Within `past.looking_back`: those that were there then, as they were.
        """
        start = before or (_LAST, _LAST)
        then = self._past.undone()
        here = [
            row for row in then.values() if row is not None and _place(row) == (place.number, place.location)
        ]
        former = sorted((row for row in here if _position(row) < start), key=_position, reverse=True)
        unchanged = (row for row in self._rows(place, start) if row["id"] not in then)
        yield from map(_record, heapq.merge(unchanged, former, key=_position, reverse=True))

    def _rows(self, place: names.Place, start: tuple[int, int]) -> Iterator[sqlite3.Row]:
        created, number = start
        while True:
            rows = self._database.rows(
                "SELECT rowid AS number, * FROM custom_jobs WHERE project_number = ? AND location = ? "
                "AND (created, rowid) < (?, ?) ORDER BY created DESC, number DESC LIMIT ?",
                (place.number, place.location, created, number, _BATCH),
            )
            yield from rows
            if len(rows) < _BATCH:
                return
            created, number = _position(rows[-1])

    def change(self, job_id: str, change: Callable[[Any], bool]) -> Record | None:
        """Let `change` work on the message of a job and store it when it says so; the job as it is then."""
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT rowid AS number, * FROM custom_jobs WHERE id = ?", (job_id,)
            ).fetchone()
            if row is None:
                return None
            record = _record(row)
            if not change(record.job):
                return record
            state = states.state_of(record.job)
            connection.execute(
                "UPDATE custom_jobs SET state = ?, live = ?, job = ? WHERE id = ?",
                (state, int(state not in states.TERMINAL), record.job.SerializeToString(), job_id),
            )
            self._past.remember(job_id, before=row, counts=False)
        return replace(record, state=state)

    def delete(self, job_id: str) -> None:
        """Remove the job."""
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT rowid AS number, * FROM custom_jobs WHERE id = ?", (job_id,)
            ).fetchone()
            if row is not None:
                connection.execute("DELETE FROM custom_jobs WHERE id = ?", (job_id,))
                self._past.remember(job_id, before=row, counts=True)

    def forget_past(self) -> None:
        """Let nobody look back (`past`) beyond this moment."""
        self._past.clear()


def _place(row: sqlite3.Row) -> tuple[str, str]:
    return row["project_number"], row["location"]


def _position(row: sqlite3.Row) -> tuple[int, int]:
    return row["created"], row["number"]


def _record(row: sqlite3.Row) -> Record:
    job = descriptors.message(CUSTOM_JOB)
    job.ParseFromString(row["job"])
    return Record(
        number=row["number"],
        id=row["id"],
        project=row["project"],
        location=row["location"],
        state=row["state"],
        created=row["created"],
        job=job,
    )
