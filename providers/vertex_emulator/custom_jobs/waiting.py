"""Jobs that have been created and do not run yet: no process is theirs, and nobody has to look after them.

A table beside the jobs', so that they wait on when the emulator was stopped and is started again. What is in
it is kept in memory too: whoever asks for a thousand such jobs costs no look at a thousand rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from vertex_emulator.kernel.database import Database

_SCHEMA = (
    """
    CREATE TABLE waiting_jobs (
        id TEXT PRIMARY KEY,
        starts INTEGER NOT NULL
    );
    """,
    """
    ALTER TABLE waiting_jobs ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE waiting_jobs ADD COLUMN delay INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE waiting_jobs ADD COLUMN gives_up INTEGER;
    """,
)


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A job that starts later. All times are in microseconds, `starts` and `gives_up` since 1970.

    `queued`: it waits for a quota, and then for `delay`; else it starts at `starts`. `gives_up`: when it has
    waited too long and fails.
    """

    id: str
    starts: int = 0
    queued: bool = False
    delay: int = 0
    gives_up: int | None = None


class WaitingJobs:
    """All jobs of an emulator that wait. To be used under one lock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("waiting jobs", _SCHEMA)
        rows = database.rows("SELECT * FROM waiting_jobs ORDER BY rowid")
        self._jobs = {row["id"]: _waiting(row) for row in rows}

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._jobs

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, one: Waiting) -> None:
        """A job waits from now on, or for something else. Raises `sqlite3.Error`."""
        self._database.execute(
            "INSERT INTO waiting_jobs (id, starts, queued, delay, gives_up) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET starts = excluded.starts, queued = excluded.queued, "
            "delay = excluded.delay, gives_up = excluded.gives_up",
            astuple(one),
        )
        self._jobs[one.id] = one

    def remove(self, job_id: str) -> bool:
        """A job waits no longer; False when it did not."""
        if job_id not in self._jobs:
            return False
        self._database.execute("DELETE FROM waiting_jobs WHERE id = ?", (job_id,))
        del self._jobs[job_id]
        return True

    def get(self, job_id: str) -> Waiting | None:
        """A job that waits."""
        return self._jobs.get(job_id)

    def all(self) -> Sequence[Waiting]:
        """Those that wait, in the order in which they came."""
        return tuple(self._jobs.values())


def _waiting(row: Any) -> Waiting:
    return Waiting(
        id=row["id"],
        starts=row["starts"],
        queued=bool(row["queued"]),
        delay=row["delay"],
        gives_up=row["gives_up"],
    )
