"""The stored jobs of Cloud Scheduler, each with its next times and the runs that were asked for."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc import descriptors

PACKAGE = "google.cloud.scheduler.v1"
JOB = f"{PACKAGE}.Job"

_SCHEMA = (
    """
    CREATE TABLE scheduler_jobs (
        project TEXT NOT NULL,
        project_number TEXT NOT NULL,
        location TEXT NOT NULL,
        id TEXT NOT NULL,
        message BLOB NOT NULL,
        due INTEGER,
        retry_at INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        forced INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (project_number, location, id)
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class StoredJob:
    """A job. Times are in microseconds since 1970 on the emulator's clock.

    `due` is the next time of the schedule, None for a paused job. `retry_at` is the time of the next attempt
    after a failed one, of which there were `attempts`. `forced` counts the calls of RunJob still to be made.
    """

    place: Place
    id: str
    message: Any
    due: int | None = None
    retry_at: int | None = None
    attempts: int = 0
    forced: int = 0

    @property
    def name(self) -> str:
        return name_of(self.place, self.id)

    @property
    def next_at(self) -> int | None:
        """The time of the next call, None if none is planned."""
        return min((at for at in (self.due, self.retry_at) if at is not None), default=None)


def name_of(place: Place, job_id: str) -> str:
    """Return the full name of a job, with the project as the client gave it."""
    return f"{place.as_asked}/jobs/{job_id}"


class JobStore:
    """All jobs of Cloud Scheduler."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("scheduler_jobs", _SCHEMA)

    def insert(self, job: StoredJob) -> bool:
        """Add a job. Return False if its name is in use."""
        try:
            self._database.execute(
                "INSERT INTO scheduler_jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    job.place.project,
                    job.place.number,
                    job.place.location,
                    job.id,
                    job.message.SerializeToString(),
                    job.due,
                    job.retry_at,
                    job.attempts,
                    job.forced,
                ),
            )
        except sqlite3.IntegrityError:
            return False
        return True

    def get(self, place: Place, job_id: str) -> StoredJob | None:
        """Return a job, or None."""
        row = self._database.row(
            "SELECT * FROM scheduler_jobs WHERE project_number = ? AND location = ? AND id = ?",
            (place.number, place.location, job_id),
        )
        return None if row is None else _job(row)

    def all(self) -> Sequence[StoredJob]:
        """Return the jobs of all projects, by name."""
        rows = self._database.rows("SELECT * FROM scheduler_jobs ORDER BY project_number, location, id")
        return [_job(row) for row in rows]

    def change(self, place: Place, job_id: str, change: Callable[[StoredJob], StoredJob]) -> StoredJob | None:
        """Replace a job by what `change` makes of it, in one transaction. Return it, None if it is gone."""
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT * FROM scheduler_jobs WHERE project_number = ? AND location = ? AND id = ?",
                (place.number, place.location, job_id),
            ).fetchone()
            if row is None:
                return None
            new = change(_job(row))
            connection.execute(
                "UPDATE scheduler_jobs SET message = ?, due = ?, retry_at = ?, attempts = ?, forced = ? "
                "WHERE project_number = ? AND location = ? AND id = ?",
                (
                    new.message.SerializeToString(),
                    new.due,
                    new.retry_at,
                    new.attempts,
                    new.forced,
                    place.number,
                    place.location,
                    job_id,
                ),
            )
        return new

    def delete(self, place: Place, job_id: str) -> bool:
        """Delete a job. Return whether it existed."""
        count = self._database.execute(
            "DELETE FROM scheduler_jobs WHERE project_number = ? AND location = ? AND id = ?",
            (place.number, place.location, job_id),
        )
        return count > 0

    def clear(self) -> None:
        """Delete all jobs."""
        self._database.execute("DELETE FROM scheduler_jobs")


def _job(row: sqlite3.Row) -> StoredJob:
    message = descriptors.message(JOB)
    message.ParseFromString(row["message"])
    return StoredJob(
        place=Place(project=row["project"], location=row["location"]),
        id=row["id"],
        message=message,
        due=row["due"],
        retry_at=row["retry_at"],
        attempts=row["attempts"],
        forced=row["forced"],
    )
