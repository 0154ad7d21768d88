"""Training pipelines in an archive of the emulator's state."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_emulator.custom_jobs import all_jobs
from vertex_emulator.job_folder.outcome import INTERNAL
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.rpc.methods import invalid_fields
from vertex_emulator.training_pipelines import store as states
from vertex_emulator.training_pipelines.inputs import faults
from vertex_emulator.training_pipelines.store import PipelineStore, Work
from vertex_emulator.vertex.answers import CANCELLED
from vertex_emulator.vertex.kept import Document, KeptRecords, RestoredRecord, read_id
from vertex_emulator.vertex.records import Record

CANCELLED_TEXT = "CANCELED"
"""The error's message of a cancelled pipeline."""

_MOST = 2**53


class KeptPipelines(KeptRecords):
    """All training pipelines, each with the id of its job and the sizes of its sets of data."""

    def __init__(self, store: PipelineStore, clock: Clock) -> None:
        super().__init__(store)
        self._store = store
        self._clock = clock

    def more(self, record: Record) -> Document:
        work = self._store.work(record.id)
        return {} if work is None else {"job": work.job, "sizes": dict(work.sizes)}

    def restored(self, document: Document) -> RestoredPipeline:
        return RestoredPipeline(self._store, document, at=times.now(self._clock))


class RestoredPipeline(RestoredRecord):
    """One pipeline, which has ended at the time `at` where it had not."""

    def __init__(self, store: PipelineStore, document: Document, *, at: str) -> None:
        super().__init__(store, document)
        self._store = store
        if found := list(faults(self.message)):
            raise invalid_fields(found)
        if self.state not in (*states.TRANSITIONS, *states.TERMINAL):
            raise ValueError(f"no pipeline comes into the state {self.state} here")
        self._work = _work(document)
        self.ended = self.state not in states.TERMINAL
        if self.state == states.CANCELLING:
            states.enter(self.message, states.CANCELLED, at=at, code=CANCELLED, message=CANCELLED_TEXT)
        elif self.ended:
            words = all_jobs.words("pipeline", self.state)
            states.enter(self.message, states.FAILED, at=at, code=INTERNAL, message=words)

    def add(self, lines: Iterator[Document]) -> None:
        super().add(lines)
        self._store.note(self.id, self._work)


def _work(document: Document) -> Work:
    sizes = document.get("sizes")
    if not isinstance(sizes, dict) or not all(
        isinstance(each, int) and not isinstance(each, bool) and 0 <= each < _MOST for each in sizes.values()
    ):
        raise ValueError("sizes are not numbers by sets of data")
    return Work(job=read_id(document.get("job"), "job"), sizes=sizes)
