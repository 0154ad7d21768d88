"""The records of custom jobs."""

from __future__ import annotations

from vertex_emulator.custom_jobs import states
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.vertex.records import Collection, Record, Records

CUSTOM_JOB = "google.cloud.aiplatform.v1.CustomJob"
CUSTOM_JOBS = Collection(
    id="customJobs",
    message=CUSTOM_JOB,
    noun="CustomJob",
    state_of=states.state_of,
    is_live=lambda state: state not in states.TERMINAL,
)
OUTPUT_ONLY = (
    "name",
    "state",
    "create_time",
    "start_time",
    "end_time",
    "update_time",
    "error",
    "web_access_uris",
    "satisfies_pzs",
    "satisfies_pzi",
)
"""Fields that a request cannot set: what is sent of them is dropped."""

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
    "ALTER TABLE custom_jobs RENAME COLUMN job TO message;",
)
_STARTED = "live AND id NOT IN (SELECT id FROM waiting_jobs)"


class JobStore(Records):
    """All custom jobs of an emulator."""

    def __init__(self, database: Database, time: Clock) -> None:
        super().__init__(
            database, time, CUSTOM_JOBS, table="custom_jobs", component="custom jobs", schema=_SCHEMA
        )

    def started(self) -> list[Record]:
        """The jobs that have not ended, without those that wait for their start (`waiting`)."""
        return self.where(_STARTED)

    def started_ids(self) -> list[str]:
        """The ids of those."""
        return [row["id"] for row in self.database.rows(f"SELECT id FROM custom_jobs WHERE {_STARTED}")]  # noqa: S608

    def ids_in(self, state: str) -> list[str]:
        """The ids of the jobs in a state that is no end."""
        rows = self.database.rows("SELECT id FROM custom_jobs WHERE live AND state = ?", (state,))
        return [row["id"] for row in rows]

    def holding_quota(self) -> list[Record]:
        """The jobs that have not ended, without those that are queued."""
        return self.where("live AND state != ?", states.QUEUED)

    def projects(self) -> list[str]:
        """The ids of the projects that have jobs."""
        return [row["project"] for row in self.database.rows("SELECT DISTINCT project FROM custom_jobs")]
