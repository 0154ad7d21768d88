"""One step of a tuning job: measures, ends, stops and starts trials, and updates the job.

A step changes only its message and its notes. The driver stores them, and then carries out what they request.
A step can therefore be repeated after a crash at any point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from vertex_emulator.job_folder import outcome
from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.tuning import trials
from vertex_emulator.jobs.tuning.notes import StudyNote, TrialNote
from vertex_emulator.jobs.tuning.study import search, stopping
from vertex_emulator.jobs.tuning.study.measurements import Measurement, Report, Trial, add, final
from vertex_emulator.jobs.tuning.study.study import Study
from vertex_emulator.kernel import times
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.resource_engine.records import Record

INVALID_ARGUMENT = 3
"""google.rpc.Code of a custom job whose program failed."""

_MAX_NAMES = 5


@dataclass(kw_only=True)
class Step:
    """One step of the HyperparameterTuningJob message `job`. `now` is in microseconds since 1970.

    `custom_jobs` are the existing custom jobs of live trials by trial number, and `reports` the new reports
    of trials. `new_id` generates the ID of a custom job. `ended` caches the trials that have ended, for all
    steps of a job.
    """

    job: DynamicMessage
    note: StudyNote
    study: Study
    custom_jobs: Mapping[int, Record]
    reports: Mapping[int, list[Report]]
    now: int
    new_id: Callable[[], str]
    ended: dict[int, Trial] = field(default_factory=dict)
    has_news: bool = False

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each parameter."""
        return trials.kinds_of(self.study.parameters)

    def _history(self) -> list[Trial]:
        """Return all trials so far. Ended trials are converted once, because they do not change."""
        history = []
        for trial in self.job.trials:
            one = self.ended.get(int(trial.id))
            if one is None:
                one = trials.study_trial(trial, self.note, self.kinds)
                if one.ended and not self._update_all:
                    self.ended[one.number] = one
            history.append(one)
        return history

    @property
    def at(self) -> str:
        """The time of the step as a string."""
        return times.from_microseconds(self.now)

    def run(self) -> None:
        """Update the job and its trials."""
        before = self.job.SerializeToString(deterministic=True)
        for trial in self.job.trials:
            if trials.is_live(trial):
                self._measure(trial)
                self._update_state(trial)
        if self._update_all and self.has_news:
            self._update_stopped_trials()
        self._enter_running()
        if self._stops_now():
            for trial in self.job.trials:
                if trials.is_live(trial):
                    self._stop(trial, by="job")
        else:
            self._stop_early()
        if self._continues():
            self._start_trials()
        self._end()
        if self.job.SerializeToString(deterministic=True) != before:
            self.job.update_time.FromJsonString(self.at)

    # --- trials that are there

    def _measure(self, trial: DynamicMessage) -> None:
        number = int(trial.id)
        reports = self.reports.get(number)
        if not reports:
            return
        wanted = {each.id for each in self.study.metrics}
        known = [each for each in reports if each.metric in wanted]
        if known:
            trials.set_measurements(trial, add(trials.measurements_of(trial), known))
            self.has_news = True
        strange = {each.metric: None for each in reports if each.metric not in wanted}
        if strange:
            note = self.note.trials[number]
            names = tuple(dict.fromkeys([*note.names, *strange]))[:_MAX_NAMES]
            self.note = self.note.with_trial(number, replace(note, names=names))

    def _update_state(self, trial: DynamicMessage) -> None:
        record = self.custom_jobs.get(int(trial.id))
        state = trials.state_of(trial)
        if state == trials.REQUESTED and record is not None:  # the emulator was killed before storing it
            self.started(trial, record)
            state = trials.ACTIVE
        if state != trials.REQUESTED and (record is None or not record.live):
            self._finish(trial, record)

    def started(self, trial: DynamicMessage, record: Record) -> None:
        """Record that the custom job of a trial was created."""
        trials.enter(trial, trials.ACTIVE)
        trial.custom_job = record.name
        trial.start_time.CopyFrom(record.message.create_time)

    def rejected(self, trial: DynamicMessage, why: str) -> None:
        """Record that the custom job of a trial cannot be created."""
        trial.start_time.FromJsonString(self.at)
        self._infeasible(trial, why)

    def _finish(self, trial: DynamicMessage, record: Record | None) -> None:
        self.has_news = True
        stopping = trials.state_of(trial) == trials.STOPPING
        note = self.note.trials[int(trial.id)]
        if record is None and not stopping:
            self._infeasible(trial, "The trial's custom job was deleted.")
            return
        if record is not None and not stopping and record.state != store.SUCCEEDED:
            self._infeasible(trial, record.message.error.message or f"The custom job is {record.state}.")
            return
        if note.stopped == "rule" and (last := self._predicted(trial)) is not None:
            trials.set_measurements(trial, [*trials.measurements_of(trial), last])
            self.note = self.note.with_trial(int(trial.id), replace(note, stopped="predicted"))
        measurement = final(self.study, trials.measurements_of(trial))
        if measurement is None:
            self._infeasible(trial, self._why_no_metric(trial, note, stopping=stopping))
            return
        trials.set_final(trial, measurement)
        trials.enter(trial, trials.SUCCEEDED)
        trial.end_time.FromJsonString(self._end_of(record))

    def _end_of(self, record: Record | None) -> str:
        if record is None or not record.message.HasField("end_time"):
            return self.at
        return times.from_microseconds(record.message.end_time.ToMicroseconds())

    def _infeasible(self, trial: DynamicMessage, why: str) -> None:
        trials.enter(trial, trials.INFEASIBLE)
        trial.infeasible_reason = why
        trial.end_time.FromJsonString(self._end_of(self.custom_jobs.get(int(trial.id))))

    def _why_no_metric(self, trial: DynamicMessage, note: TrialNote, *, stopping: bool) -> str:
        reported = {name for each in trials.measurements_of(trial) for name in each.metrics}
        missing = ", ".join(repr(each.id) for each in self.study.metrics if each.id not in reported)
        others = f" It reported {', '.join(map(repr, note.names))}." if note.names else ""
        how = "was stopped before it reported" if stopping else "ended without reporting"
        return f"The trial {how} the metric {missing}.{others}"

    # --- early stopping

    def _stop_early(self) -> None:
        """Apply the early stopping rules, after a trial has reported or ended."""
        if not self.has_news:
            return
        past = self._history()
        for trial, one in zip(self.job.trials, past, strict=True):
            if trials.state_of(trial) == trials.ACTIVE:
                others = [each for each in past if each is not one]
                if stopping.stops_early(self.study, one, others):
                    self._stop(trial, by="rule")

    def _stop(self, trial: DynamicMessage, *, by: str) -> None:
        state, number = trials.state_of(trial), int(trial.id)
        if state == trials.STOPPING:
            return
        self.note = self.note.with_trial(number, replace(self.note.trials[number], stopped=by))
        if state == trials.REQUESTED:
            self.rejected(trial, "The tuning job ended before the trial started.")
        else:
            trials.enter(trial, trials.STOPPING)

    def _predicted(self, trial: DynamicMessage) -> Measurement | None:
        rule, metric = self._convex_rule, self.study.objective
        if rule is None or metric is None:
            return None
        past = self._history()
        completed = [each for each in past if each.completed]
        return stopping.last_measurement(metric, past[int(trial.id) - 1], completed, rule)

    @cached_property
    def _convex_rule(self) -> stopping.ConvexRule | None:
        spec = self.job.study_spec
        if spec.WhichOneof("automated_stopping_spec") != "convex_automated_stopping_spec":
            return None
        return stopping.read_convex_rule(spec.convex_automated_stopping_spec)

    @property
    def _update_all(self) -> bool:
        return self._convex_rule is not None and self._convex_rule.update_all

    def _update_stopped_trials(self) -> None:
        """Update the predictions of stopped trials for `update_all_stopped_trials`.

        The last measurement of a stopped trial is the prediction.
        """
        for trial in self.job.trials:
            note = self.note.trials.get(int(trial.id))
            if note is None or note.stopped != "predicted" or trials.state_of(trial) != trials.SUCCEEDED:
                continue
            measured = trials.measurements_of(trial)
            trials.set_measurements(trial, measured[:-1])
            last = self._predicted(trial)
            trials.set_measurements(trial, [*measured[:-1], last or measured[-1]])
            measurement = final(self.study, trials.measurements_of(trial))
            if measurement is not None:
                trials.set_final(trial, measurement)

    # --- the study and its job

    def _enter_running(self) -> None:
        """Enter RUNNING once a trial has started and is not queued, before its program runs.

        In the documentation's example, the job runs within seconds, and the first trial starts later.
        """
        if store.state_of(self.job) != store.PENDING:
            return
        begun = [each for each in self.custom_jobs.values() if each.state != store.QUEUED]
        if begun:
            first = min(each.message.create_time.ToMicroseconds() for each in begun)
            at = times.from_microseconds(max(first, self._created))
            store.enter(self.job, store.RUNNING, at=at)

    @property
    def _created(self) -> int:
        created: int = self.job.create_time.ToMicroseconds()
        return created

    def _stops_now(self) -> bool:
        """Return whether running trials are stopped and no further trials start."""
        if store.state_of(self.job) == store.CANCELLING or self._has_failed():
            return True
        if not self.note.stopped:
            past = self._history()
            why = self._stop_reason(past, count=sum(each.ended for each in past))
            if why is not None:
                self.note = replace(self.note, stopped=why)
        return bool(self.note.stopped and self.job.study_spec.study_stopping_config.should_stop_asap.value)

    def _stop_reason(self, past: list[Trial], *, count: int) -> str | None:
        return stopping.stop_reason(self.study, past, count=count, created=self._created, now=self.now)

    def _has_failed(self) -> bool:
        if not any(trials.state_of(each) == trials.INFEASIBLE for each in self.job.trials):
            return False
        return stopping.too_many_failed(
            self._history(), max_trials=self.job.max_trial_count, max_failed=self.job.max_failed_trial_count
        )

    def _continues(self) -> bool:
        return (
            not self.note.stopped and store.state_of(self.job) != store.CANCELLING and not self._has_failed()
        )

    def _start_trials(self) -> None:
        live = sum(trials.is_live(each) for each in self.job.trials)
        while live < self.job.parallel_trial_count and len(self.job.trials) < self.job.max_trial_count:
            past = self._history()
            if self._stop_reason(past, count=len(past)) is not None:
                return
            parameters = search.suggest(self.study, past, seed=self.note.seed)
            if parameters is None:
                self.note = replace(self.note, stopped="every combination has been tried")
                return
            trials.add(self.job, parameters)
            self.note = self.note.with_trial(len(past) + 1, TrialNote(custom_job=self.new_id()))
            live += 1

    def _end(self) -> None:
        if any(trials.is_live(each) for each in self.job.trials):
            return
        if store.state_of(self.job) == store.CANCELLING:
            how = outcome.cancelled()
            error = {"code": how.code, "message": how.message}
            store.enter(self.job, store.CANCELLED, at=self.at, error=error)
            return
        failed = self._has_failed()
        if self._continues() and len(self.job.trials) < self.job.max_trial_count:
            return  # a trial has just been rejected; the next step starts another
        succeeded = any(trials.state_of(each) == trials.SUCCEEDED for each in self.job.trials)
        if store.state_of(self.job) == store.PENDING:
            store.enter(self.job, store.RUNNING, at=self.at)
        if failed or not succeeded:
            error = {"code": INVALID_ARGUMENT, "message": self._why_failed()}
            store.enter(self.job, store.FAILED, at=self.at, error=error)
        else:
            store.enter(self.job, store.SUCCEEDED, at=self.at)

    def _why_failed(self) -> str:
        infeasible = [each for each in self.job.trials if trials.state_of(each) == trials.INFEASIBLE]
        if not infeasible:
            return "The study stopped before a trial had succeeded."
        # Trials that were stopped because others had failed do not explain the failure.
        notes = self.note.trials
        own = [each for each in infeasible if int(each.id) not in notes or not notes[int(each.id)].stopped]
        last = (own or infeasible)[-1]
        return (
            f"{len(infeasible)} of {len(self.job.trials)} trials did not succeed. Trial {last.id}: "
            f"{last.infeasible_reason}"
        )
