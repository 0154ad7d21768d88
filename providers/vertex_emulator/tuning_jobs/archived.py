"""Tuning jobs in an archive of the emulator's state: a line for each trial, with the ID of its custom job.

The position in metric files is left out, because no imported job runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vertex_emulator.custom_jobs import all_jobs, store
from vertex_emulator.custom_jobs.store import CUSTOM_JOBS
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.rpc.descriptors import VERTEX_AI
from vertex_emulator.rpc.methods import invalid_fields
from vertex_emulator.tuning_jobs import trials, validation
from vertex_emulator.tuning_jobs.notes import Notes, StudyNote, TrialNote
from vertex_emulator.vertex import names
from vertex_emulator.vertex.names import name_of
from vertex_emulator.vertex.records import Record, Records
from vertex_emulator.vertex.service import (
    ArchivedRecords,
    Document,
    RestoredRecord,
    as_json,
    read_id,
    read_message,
)

_TRIAL = f"{VERTEX_AI}.Trial"
_STOPPED = ("", "job", "rule", "predicted")
_LARGEST_SEED = 2**63


class ArchivedTuningJobs(ArchivedRecords):
    """All tuning jobs, for an archive."""

    def __init__(self, records: Records, notes: Notes, clock: Clock) -> None:
        super().__init__(records)
        self._notes = notes
        self._clock = clock

    def extra_fields(self, record: Record) -> Document:
        note = self._notes.read(record.id)
        return {"seed": note.seed, "stopped": note.stopped}

    def documents(self) -> Iterator[tuple[Document, Iterable[Document]]]:
        """Yield the tuning jobs; their trials are in the lines only."""
        for document, lines in super().documents():
            resource = {name: value for name, value in document["resource"].items() if name != "trials"}
            yield {**document, "resource": resource}, lines

    def lines(self, record: Record) -> Iterable[Document]:
        note = self._notes.read(record.id)
        for trial in record.message.trials:
            known = note.trials[int(trial.id)]
            yield {"trial": as_json(trial), "customJob": known.custom_job, "stopped": known.stopped}

    def restored(self, document: Document) -> RestoredTuningJob:
        return RestoredTuningJob(self._records, self._notes, document, at=times.now(self._clock))


class RestoredTuningJob(RestoredRecord):
    """A tuning job of an archive. A live job and its live trials end at the time `at`."""

    def __init__(self, records: Records, notes: Notes, document: Document, *, at: str) -> None:
        super().__init__(records, document)
        self._notes = notes
        self._at = at
        self._count = 0
        if self.message.trials:
            raise ValueError("its trials must be in a separate file")
        if found := [
            *validation.problems(self.message),
            *names.label_problems(self.message.labels, "labels"),
        ]:
            raise invalid_fields(found)
        if self.state not in store.TRANSITIONS:
            raise ValueError(f"a tuning job of the emulator cannot have the state {self.state}")
        seed, stopped = document.get("seed"), document.get("stopped")
        if not isinstance(seed, int) or isinstance(seed, bool) or abs(seed) >= _LARGEST_SEED:
            raise ValueError("seed must be an integer")
        if not isinstance(stopped, str):
            raise ValueError("stopped must be a string")
        self._note = StudyNote(seed=seed, stopped=stopped)
        self.ended = all_jobs.end_interrupted(self.message, at=at)

    def read_line(self, line: Document) -> Document:
        trial = read_message(_TRIAL, line.get("trial"))
        custom_job = read_id(line.get("customJob"), "customJob")
        self._count += 1
        if self._count > self.message.max_trial_count:
            raise ValueError("there are more trials than max_trial_count")
        if (trial.id, trial.name) != (str(self._count), f"{self.message.name}/trials/{self._count}"):
            raise ValueError(f"trial {self._count} is not the next trial")
        if trial.custom_job not in ("", name_of(self.place, CUSTOM_JOBS.id, custom_job)):
            raise ValueError(f"trial {self._count} names another custom job")
        if line.get("stopped") not in _STOPPED:
            raise ValueError(f"trial {self._count} was stopped by {line.get('stopped')!r}, which is unknown")
        self._end(trial)
        return {"trial": as_json(trial), "customJob": custom_job, "stopped": line["stopped"]}

    def add(self, lines: Iterator[Document]) -> None:
        note = self._note
        for number, line in enumerate(lines, start=1):
            self.message.trials.append(read_message(_TRIAL, line["trial"]))
            note = note.with_trial(number, TrialNote(custom_job=line["customJob"], stopped=line["stopped"]))
        super().add(lines)
        self._notes.write(self.id, note)

    def _end(self, trial: Any) -> None:
        state = trials.state_of(trial)
        if state not in (*trials.LIVE, trials.SUCCEEDED, trials.INFEASIBLE):
            raise ValueError(f"a trial of the emulator cannot have the state {state}")
        if trials.is_live(trial):
            if not self.ended:
                raise ValueError(f"trial {trial.id} is in state {state} although its job had ended")
            trials.enter(trial, trials.INFEASIBLE)
            trial.infeasible_reason = all_jobs.interruption_message("trial", state)
            trial.end_time.FromJsonString(self._at)
