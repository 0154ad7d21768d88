"""The tables of training pipelines, their states, and pipelines in archives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vertex_emulator.custom_jobs import all_jobs
from vertex_emulator.job_folder.outcome import INTERNAL
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import invalid_fields
from vertex_emulator.training_pipelines.inputs import problems
from vertex_emulator.vertex import operations
from vertex_emulator.vertex.names import parse_name
from vertex_emulator.vertex.operations import V1, not_found
from vertex_emulator.vertex.records import Collection, Record, Records
from vertex_emulator.vertex.service import ArchivedRecords, Document, RestoredRecord, read_id
from vertex_emulator.vertex.states import States

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


def enter(pipeline: Any, state: str, *, at: str, code: int = 0, message: str = "") -> bool:
    """Enter a state as `States.enter` does. `code` and `message` are the error, if `code` is not 0."""
    return _STATES.enter(pipeline, state, at=at, error={"code": code, "message": message} if code else None)


PIPELINE = f"{V1}.TrainingPipeline"
PIPELINES = Collection(
    id="trainingPipelines",
    message=PIPELINE,
    noun="TrainingPipeline",
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

    `job` is the ID of its job, stored before the job exists; `sizes` are those of the sets of data.
    """

    job: str
    sizes: Mapping[str, int] = field(default_factory=dict)


class PipelineStore(Records):
    """The tables of training pipelines."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock, PIPELINES, table="training_pipelines")
        database.migrate("training pipeline work", _WORK)

    def lookup(self, name: str) -> Record:
        """Return the pipeline of a resource name. Raises `RpcError`."""
        place, pipeline_id = parse_name(name, PIPELINES.id)
        record = self.get(place, pipeline_id)
        if record is None:
            raise not_found(PIPELINES, name)
        return record

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


class ArchivedPipelines(ArchivedRecords):
    """All training pipelines, each with the ID of its job and the sizes of its sets of data."""

    def __init__(self, store: PipelineStore, clock: Clock) -> None:
        super().__init__(store)
        self._store = store
        self._clock = clock

    def extra_fields(self, record: Record) -> Document:
        work = self._store.work(record.id)
        return {} if work is None else {"job": work.job, "sizes": dict(work.sizes)}

    def restored(self, document: Document) -> RestoredPipeline:
        return RestoredPipeline(self._store, document, at=times.now(self._clock))


class RestoredPipeline(RestoredRecord):
    """A pipeline of an archive. A live pipeline ends at the time `at`."""

    def __init__(self, store: PipelineStore, document: Document, *, at: str) -> None:
        super().__init__(store, document)
        self._store = store
        if found := list(problems(self.message)):
            raise invalid_fields(found)
        if self.state not in (*TRANSITIONS, *TERMINAL):
            raise ValueError(f"a pipeline of the emulator cannot have the state {self.state}")
        self._work = _work(document)
        self.ended = self.state not in TERMINAL
        if self.state == CANCELLING:
            enter(self.message, CANCELLED, at=at, code=operations.CANCELLED, message=CANCELLED_TEXT)
        elif self.ended:
            words = all_jobs.interruption_message("pipeline", self.state)
            enter(self.message, FAILED, at=at, code=INTERNAL, message=words)

    def add(self, lines: Iterator[Document]) -> None:
        super().add(lines)
        self._store.set_work(self.id, self._work)


def _work(document: Document) -> Work:
    sizes = document.get("sizes")
    if not isinstance(sizes, dict) or not all(
        isinstance(each, int) and not isinstance(each, bool) and 0 <= each < _MOST for each in sizes.values()
    ):
        raise ValueError("sizes are not numbers by sets of data")
    return Work(job=read_id(document.get("job"), "job"), sizes=sizes)
