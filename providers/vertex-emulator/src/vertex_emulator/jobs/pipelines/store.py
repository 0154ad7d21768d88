"""The tables of training pipelines, their states, and pipelines in archives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.records import Collection, Record, Records
from vertex_emulator.services.resource_engine.states import States

PENDING = "PIPELINE_STATE_PENDING"
RUNNING = "PIPELINE_STATE_RUNNING"
SUCCEEDED = "PIPELINE_STATE_SUCCEEDED"
FAILED = "PIPELINE_STATE_FAILED"
CANCELLING = "PIPELINE_STATE_CANCELLING"
CANCELLED = "PIPELINE_STATE_CANCELLED"

TERMINAL = frozenset({SUCCEEDED, FAILED, CANCELLED})
TRANSITIONS: Mapping[str, frozenset[str]] = {
    PENDING: frozenset({RUNNING, SUCCEEDED, FAILED, CANCELLING, CANCELLED}),
    RUNNING: frozenset({SUCCEEDED, FAILED, CANCELLING, CANCELLED}),
    CANCELLING: frozenset({SUCCEEDED, FAILED, CANCELLED}),
}
_STATES = States(
    enum=f"{descriptors.VERTEX_AI}.PipelineState",
    pending=PENDING,
    running=RUNNING,
    terminal=TERMINAL,
    transitions=TRANSITIONS,
)
names = _STATES.names
state_of = _STATES.state_of
begin = _STATES.begin


def enter(pipeline: DynamicMessage, state: str, *, at: str, code: int = 0, message: str = "") -> bool:
    """Enter a state as `States.enter` does. `code` and `message` are the error, if `code` is not 0."""
    return _STATES.enter(pipeline, state, at=at, error={"code": code, "message": message} if code else None)


PIPELINE = f"{V1}.TrainingPipeline"
PIPELINES = Collection.of(
    PIPELINE,
    state_of=state_of,
    is_live=lambda state: state not in TERMINAL,
)
_WORK = (
    """
    CREATE TABLE training_pipeline_work (
        pipeline TEXT PRIMARY KEY,
        job TEXT NOT NULL,
        sizes TEXT NOT NULL
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class Work:
    """Internal data of a pipeline.

    `job` is the ID of its job, stored before the job exists; `sizes` are the sizes of the sets of data.
    """

    job: str
    sizes: Mapping[str, int] = field(default_factory=dict)


class PipelineStore(Records):
    """The tables of training pipelines."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock, PIPELINES, table="training_pipelines")
        database.migrate("training pipeline work", _WORK)

    def work(self, pipeline_id: str) -> Work | None:
        """Return the internal data of a pipeline, or None if it was deleted."""
        row = self.database.row(
            "SELECT job, sizes FROM training_pipeline_work WHERE pipeline = ?", (pipeline_id,)
        )
        return Work(job=row["job"], sizes=json.loads(row["sizes"])) if row else None

    def set_work(self, pipeline_id: str, work: Work) -> None:
        """Store the internal data of a pipeline."""
        self.database.execute(
            "INSERT INTO training_pipeline_work VALUES (?, ?, ?) "
            "ON CONFLICT (pipeline) DO UPDATE SET job = excluded.job, sizes = excluded.sizes",
            (pipeline_id, work.job, json.dumps(work.sizes)),
        )

    def remove(self, record: Record) -> None:
        """Delete a pipeline."""
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM training_pipeline_work WHERE pipeline = ?", (record.id,))
            self.delete(record.id, place=record.place)

    def clear(self) -> None:
        """Delete all pipelines."""
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM training_pipeline_work")
            super().clear()


CANCELLED_TEXT = "CANCELED"
"""Error message of a cancelled pipeline."""

_MOST = 2**53
