"""The stored jobs of Cloud Scheduler, and the calls that each has still to make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.resource_engine.records import Collection, Record, Records

JOBS = Collection.of(
    "google.cloud.scheduler.v1.Job",
    created="user_update_time",
    absent="Job {name} was not found.",
    taken="Job {name} already exists.",
)
_CALLS = (
    """
    CREATE TABLE scheduler_calls (
        job TEXT PRIMARY KEY,
        retry_at INTEGER,
        attempts INTEGER NOT NULL,
        forced INTEGER NOT NULL
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class Calls:
    """The unscheduled calls of a job. Times are in microseconds on the emulator's clock.

    `retry_at` is the time of the next attempt after a failed one, of which there were `attempts`. `forced`
    counts the calls of RunJob still to be made.
    """

    retry_at: int | None = None
    attempts: int = 0
    forced: int = 0


class JobStore(Records):
    """All jobs of Cloud Scheduler."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock, JOBS, table="schedules")
        database.migrate("scheduler calls", _CALLS)

    def all(self) -> Sequence[Record]:
        """Return the jobs of all projects, by name."""
        return self.where("1 ORDER BY project_number, location, id")

    def calls(self, job: Record) -> Calls:
        """Return the unscheduled calls of a job."""
        rows = self.database.own_rows("SELECT * FROM scheduler_calls WHERE job = ?", (job.name,))
        return next(
            (Calls(retry_at=row["retry_at"], attempts=row["attempts"], forced=row["forced"]) for row in rows),
            Calls(),
        )

    def set_calls(self, job: Record, calls: Calls) -> None:
        """Replace the unscheduled calls of a job."""
        self.database.execute(
            "INSERT OR REPLACE INTO scheduler_calls VALUES (?, ?, ?, ?)",
            (job.name, calls.retry_at, calls.attempts, calls.forced),
        )

    def stop_retries(self, job: Record) -> None:
        """Drop the next attempt after a failed call."""
        self.set_calls(job, Calls(forced=self.calls(job).forced))

    def remove(self, job: Record) -> None:
        """Delete a job with its calls."""
        with self.transaction():
            self.database.execute("DELETE FROM scheduler_calls WHERE job = ?", (job.name,))
            self.delete(job.id, place=job.place)

    def clear(self) -> None:
        """Delete all jobs."""
        with self.transaction():
            self.database.execute("DELETE FROM scheduler_calls")
            super().clear()


def due(job: DynamicMessage) -> int | None:
    """Return the next time of a job's schedule in microseconds, None for a paused job."""
    return int(job.schedule_time.ToMicroseconds()) if job.HasField("schedule_time") else None
