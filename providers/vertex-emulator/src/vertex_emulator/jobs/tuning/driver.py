"""Advances all tuning jobs, one after the other: on events, and periodically while trials run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.tuning import trials
from vertex_emulator.jobs.tuning.notes import Notes, StudyNote
from vertex_emulator.jobs.tuning.step import Step
from vertex_emulator.jobs.tuning.study import study
from vertex_emulator.jobs.tuning.study.measurements import Report, Trial
from vertex_emulator.jobs.tuning.study.study import Study
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine.names import new_id
from vertex_emulator.services.resource_engine.records import Record, Records

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""Interval between readings of the metric files of running trials. The end of a trial is an event."""

REST_FACTOR = 10
"""Minimum ratio of the pause to the duration of a round, because rounds of large studies take long."""


class Driver:
    """The thread that advances tuning jobs.

    All its state is in the records and notes, so that it continues after a restart. Hold `lock` to change the
    record of a tuning job.
    """

    def __init__(
        self, records: Records, notes: Notes, jobs: JobService, clock: Clock, scheduler: Scheduler
    ) -> None:
        self.lock = threading.RLock()
        self._records = records
        self._notes = notes
        self._jobs = jobs
        self._clock = clock
        self._reader = trials.MetricReader(clock)
        self._studies: dict[str, Study] = {}
        self._ended: dict[str, dict[int, Trial]] = {}
        self._watched: set[str] = set()
        self._task = scheduler.add("tuning jobs", self._due)
        self.on_step: Callable[[str, Record], None] | None = None
        """Called before the steps "advance", "submit" and "submitted" of a job; a test may raise in it."""

    def wake(self) -> None:
        """Advance the jobs soon, after an event."""
        self._task.wake()

    def _due(self) -> Next:
        began = machine_clock.monotonic()
        live = self._records.live()
        for record in live:
            try:
                self.step(record.id)
            except Exception:  # the other jobs must continue
                self._ended.pop(record.id, None)
                log.exception("Tuning job %s: cannot be advanced", record.id)
        took = machine_clock.monotonic() - began
        return Next(seconds=max(POLL_SECONDS, REST_FACTOR * took) if live else None)

    def step(self, job_id: str) -> None:
        """Advance one job."""
        with self.lock:
            record = self._records.find(job_id)
            if record is None or not record.live:
                return
            self._reached("advance", record)
            note = self._notes.read(job_id)
            step = self._next_step(record, note)
            step.run()
            self._store(job_id, step, note)
            self._submit(record, step)
            self._cancel_stopping(step)
            if store.state_of(step.job) in store.TERMINAL:
                self._studies.pop(job_id, None)
                self._ended.pop(job_id, None)

    def _next_step(self, record: Record, note: StudyNote) -> Step:
        """Return the step of a job, with the current state of its trials and their new reports."""
        job = descriptors.message(self._records.collection.message)
        job.CopyFrom(record.message)
        records: dict[int, Record] = {}
        reports: dict[int, list[Report]] = {}
        seen = note
        for trial in job.trials:
            number = int(trial.id)
            if not trials.is_live(trial):
                continue
            known = note.trials[number]
            custom_job = self._jobs.record(known.custom_job)
            if custom_job is not None:
                records[number] = custom_job
                self._watch(known.custom_job)
                start = custom_job.message.create_time.ToMicroseconds()
                reports[number], lines = self._reader.read(
                    self._jobs.folder(known.custom_job),
                    known.seen,
                    start=start,
                    complete=not custom_job.live,
                )
                if lines != known.seen:
                    seen = seen.with_trial(number, replace(known, seen=lines))
        return Step(
            job=job,
            note=seen,
            study=self._study(record),
            custom_jobs=records,
            reports=reports,
            now=self._clock.microseconds(),
            new_id=new_id,
            ended=self._ended.setdefault(record.id, {}),
        )

    def _study(self, record: Record) -> Study:
        if record.id not in self._studies:
            self._studies[record.id] = study.read(record.message.study_spec)
        return self._studies[record.id]

    def _watch(self, custom_job: str) -> None:
        if custom_job not in self._watched:
            self._watched.add(custom_job)
            self._jobs.watch(custom_job, self._on_end)

    def _on_end(self, custom_job: str, _record: Record | None) -> None:
        self._watched.discard(custom_job)
        self.wake()

    def _store(self, job_id: str, step: Step, before: StudyNote) -> None:
        """Store the message and the notes in one transaction, so that no report is lost or counted twice."""

        def change(message: DynamicMessage) -> bool:
            if message == step.job:
                return False
            message.CopyFrom(step.job)
            return True

        with self._records.transaction():
            self._records.change(job_id, change)
            if step.note != before:
                self._notes.write(job_id, step.note, before)

    def _submit(self, record: Record, step: Step) -> None:
        """Create the custom jobs of the requested trials, in their order."""
        requested = [each for each in step.job.trials if trials.state_of(each) == trials.REQUESTED]
        for trial in requested:
            number = int(trial.id)
            custom_job = step.note.trials[number].custom_job
            parameters = trials.parameters_of(trial, step.kinds)
            self._reached("submit", record)
            try:
                submitted = self._jobs.submit(
                    record.place,
                    trials.custom_job(step.job, step.study, number, parameters),
                    addition=trials.addition(step.study, number, dict(step.note.variables)),
                    job_id=custom_job,
                )
            except RpcError as error:
                step.rejected(trial, error.message)
            else:
                self._reached("submitted", record)
                step.started(trial, submitted)
                self._watch(custom_job)
        if requested:
            self._store(record.id, step, step.note)
            self.wake()

    def _reached(self, step: str, record: Record) -> None:
        if self.on_step is not None:
            self.on_step(step, record)

    def _cancel_stopping(self, step: Step) -> None:
        for trial in step.job.trials:
            if trials.state_of(trial) == trials.STOPPING:
                job = step.custom_jobs.get(int(trial.id))
                if job is not None and job.live and job.state != store.CANCELLING:
                    self._jobs.request_cancel(job.id)
