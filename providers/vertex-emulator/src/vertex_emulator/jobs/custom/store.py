"""The custom jobs of a data folder: rows, messages and states; and the jobs that wait for their start."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.quotas import metrics
from vertex_emulator.services.resource_engine.records import Collection, Record, Records
from vertex_emulator.services.resource_engine.states import States

QUEUED = "JOB_STATE_QUEUED"
PENDING = "JOB_STATE_PENDING"
RUNNING = "JOB_STATE_RUNNING"
SUCCEEDED = "JOB_STATE_SUCCEEDED"
FAILED = "JOB_STATE_FAILED"
CANCELLING = "JOB_STATE_CANCELLING"
CANCELLED = "JOB_STATE_CANCELLED"

TERMINAL = frozenset({SUCCEEDED, FAILED, CANCELLED})

TRANSITIONS: Mapping[str, frozenset[str]] = {
    QUEUED: frozenset({PENDING, FAILED, CANCELLING}),
    PENDING: frozenset({RUNNING, SUCCEEDED, FAILED, CANCELLING}),
    RUNNING: frozenset({SUCCEEDED, FAILED, CANCELLING}),
    CANCELLING: frozenset({SUCCEEDED, FAILED, CANCELLED}),
    SUCCEEDED: frozenset(),
    FAILED: frozenset(),
    CANCELLED: frozenset(),
}


_STATES = States(
    enum=f"{descriptors.VERTEX_AI}.JobState",
    pending=PENDING,
    running=RUNNING,
    terminal=TERMINAL,
    transitions=TRANSITIONS,
)
names = _STATES.names
state_of = _STATES.state_of
begin = _STATES.begin
enter = _STATES.enter


def queue(job: DynamicMessage) -> None:
    """Make a new job QUEUED: it waits for a quota or for machines."""
    job.state = _STATES.number(QUEUED)


def strategy_of(job: DynamicMessage) -> str:
    """Return the name of a job's `scheduling.strategy`.

    The old names ON_DEMAND and LOW_COST become the new ones.
    """
    scheduling = job.job_spec.scheduling
    kinds = scheduling.DESCRIPTOR.fields_by_name["strategy"].enum_type.values_by_number
    name: str = kinds[scheduling.strategy].name
    return {"ON_DEMAND": "STANDARD", "LOW_COST": "SPOT"}.get(name, name)


def demand_of(job: DynamicMessage) -> Mapping[str, int]:
    """Return how much of each quota metric a job takes."""
    return metrics.demand(job, strategy=strategy_of(job))


CUSTOM_JOB = "google.cloud.aiplatform.v1.CustomJob"
CUSTOM_JOBS = Collection.of(CUSTOM_JOB, state_of=state_of, is_live=lambda state: state not in TERMINAL)
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
        message BLOB NOT NULL
    );
    CREATE INDEX custom_jobs_by_place ON custom_jobs (project_number, location, created DESC, id DESC);
    CREATE INDEX custom_jobs_live ON custom_jobs (live) WHERE live;
    """,
)
_STARTED = "live AND id NOT IN (SELECT id FROM waiting_jobs)"


class JobStore(Records):
    """All custom jobs of an emulator."""

    def __init__(self, database: Database, time: Clock) -> None:
        super().__init__(
            database, time, CUSTOM_JOBS, table="custom_jobs", component="custom jobs", schema=_SCHEMA
        )

    def started(self) -> list[Record]:
        """Return the live jobs, except for those that wait for their start."""
        return self.where(_STARTED)

    def started_ids(self) -> list[str]:
        """Return the ids of the jobs of `started`."""
        return [row["id"] for row in self.database.rows(f"SELECT id FROM custom_jobs WHERE {_STARTED}")]  # noqa: S608

    def ids_in(self, state: str) -> list[str]:
        """Return the ids of the live jobs in a state."""
        rows = self.database.rows("SELECT id FROM custom_jobs WHERE live AND state = ?", (state,))
        return [row["id"] for row in rows]

    def holding_quota(self) -> list[Record]:
        """Return the live jobs, except for the queued ones."""
        return self.where("live AND state != ?", QUEUED)


_WAITING_SCHEMA = (
    """
    CREATE TABLE waiting_jobs (
        id TEXT PRIMARY KEY,
        starts INTEGER NOT NULL,
        queued INTEGER NOT NULL,
        delay INTEGER NOT NULL,
        gives_up INTEGER
    );
    """,
    "ALTER TABLE waiting_jobs ADD COLUMN lacks_machines INTEGER NOT NULL DEFAULT 0;",
)


@dataclass(frozen=True, kw_only=True)
class WaitingJob:
    """A job that starts later. Times are in microseconds, `starts` and `gives_up` since 1970.

    If `queued`, the job waits for a quota and then for `delay`; otherwise it starts at `starts`. If it
    `lacks_machines`, it was due and its region had too few. At `gives_up` it has waited too long and fails.
    """

    id: str
    starts: int = 0
    queued: bool = False
    delay: int = 0
    gives_up: int | None = None
    lacks_machines: bool = False


class WaitingJobs:
    """All waiting jobs of an emulator: jobs that exist and do not have a supervisor yet.

    They have a table of their own, so that they still wait after a restart of the emulator, and are also kept
    in memory: a thousand of them cost no query of a thousand rows. Not thread-safe; the caller holds a lock.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("waiting jobs", _WAITING_SCHEMA)
        rows = database.rows("SELECT * FROM waiting_jobs ORDER BY rowid")
        self._jobs = {row["id"]: _waiting(row) for row in rows}

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._jobs

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, one: WaitingJob) -> None:
        """Add a waiting job, or replace its entry. Raises `sqlite3.Error`."""
        self._database.execute(
            "INSERT INTO waiting_jobs (id, starts, queued, delay, gives_up, lacks_machines) "
            "VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET starts = excluded.starts, queued = excluded.queued, "
            "delay = excluded.delay, gives_up = excluded.gives_up, "
            "lacks_machines = excluded.lacks_machines",
            astuple(one),
        )
        self._jobs[one.id] = one

    def remove(self, job_id: str) -> bool:
        """Remove a waiting job. Return False if it was not waiting."""
        if job_id not in self._jobs:
            return False
        self._database.execute("DELETE FROM waiting_jobs WHERE id = ?", (job_id,))
        del self._jobs[job_id]
        return True

    def get(self, job_id: str) -> WaitingJob | None:
        """Return the entry of a waiting job, or None."""
        return self._jobs.get(job_id)

    def all(self) -> Sequence[WaitingJob]:
        """Return all waiting jobs in the order in which they came."""
        return tuple(self._jobs.values())


def _waiting(row: sqlite3.Row) -> WaitingJob:
    return WaitingJob(
        id=row["id"],
        starts=row["starts"],
        queued=bool(row["queued"]),
        delay=row["delay"],
        gives_up=row["gives_up"],
        lacks_machines=bool(row["lacks_machines"]),
    )
