"""A tuning job with its trials as rows, and the best of them so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.monitoring.waits import in_short, waits_of_trials
from pulumi_vertex_training.views.jobs import lookup
from pulumi_vertex_training.views.study_view import job_key, stopped_early, why_failed
from vertex_training.study.description import goal_in_words, number, study_sentences
from vertex_training.study.search_space import walk
from vertex_training.study.study import MetricSpec, ParameterSpec, StudySpec
from vertex_training.study.trials import Trial, Value, best_trial, objective_of
from vertex_training.study.tuning import TuningSpec

_STATES = {"ACTIVE": "RUNNING"}
"""States of trials in the words of jobs."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A value of a trial as text, and by which the table sorts: a number, or a text."""

    name: str
    text: str
    order: float | str | None


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """A trial as its row shows it. `job` is the key of its custom job, "" before it has one.

    `why` is why it failed, or what it waits for.
    """

    id: str
    state: str
    early: bool
    best: bool
    parameters: tuple[Cell, ...]
    metrics: tuple[Cell, ...]
    job: str
    started: str
    ended: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The search of a tuning job, as its page shows it. `objective` is None for a study without one.

    `waits` has what the job of a trial waits for, by the trial's id.
    """

    record: JobRecord
    spec: TuningSpec
    trials: tuple[Trial, ...]
    early: frozenset[str]
    best: Trial | None
    waits: Mapping[str, str]

    @property
    def study(self) -> StudySpec:
        """The study."""
        return self.spec.study_spec

    @property
    def objective(self) -> MetricSpec | None:
        """The metric that decides which trial is best."""
        return objective_of(self.study)

    @property
    def goal(self) -> str:
        """The objective in words: "maximize accuracy"."""
        found = self.objective
        return f"{goal_in_words(found.goal)} {found.metric_id}" if found else ""

    @property
    def sentences(self) -> list[str]:
        """The study in words."""
        return study_sentences(self.study)

    @property
    def parameters(self) -> tuple[ParameterSpec, ...]:
        """All parameters, conditional ones after their parents."""
        return tuple(node.spec for node in walk(self.study.parameters, ""))

    @property
    def columns(self) -> tuple[tuple[str, bool], ...]:
        """The names of parameters and metrics, each with whether its values are numbers."""
        return (
            *((spec.parameter_id, spec.categorical_value_spec is None) for spec in self.parameters),
            *((metric.metric_id, True) for metric in self.study.metrics),
        )

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """The numbers of trials by what they do, without those that are 0."""
        states = ["REQUESTED" if trial.id in self.waits else trial.state for trial in self.trials]
        early = len(self.early)
        found = (
            ("running", sum(state in ("ACTIVE", "STOPPING") for state in states)),
            ("waiting", sum(state == "REQUESTED" for state in states)),
            ("succeeded", states.count("SUCCEEDED") - early),
            ("stopped early", early),
            ("infeasible", states.count("INFEASIBLE")),
        )
        return tuple((name, count) for name, count in found if count)

    def rows(self) -> tuple[TrialRow, ...]:
        """Return the trials in order."""
        return tuple(self._row(trial) for trial in self.trials)

    def _row(self, trial: Trial) -> TrialRow:
        names = [spec.parameter_id for spec in self.parameters]
        metrics = [metric.metric_id for metric in self.study.metrics]
        return TrialRow(
            id=trial.id,
            state="WAITING" if trial.id in self.waits else _STATES.get(trial.state, trial.state),
            early=trial.id in self.early,
            best=self.best is not None and trial.id == self.best.id,
            parameters=tuple(_cell(name, trial.parameters.get(name)) for name in names),
            metrics=tuple(_cell(name, trial.metrics.get(name)) for name in metrics),
            job=job_key(trial.custom_job) if trial.custom_job else "",
            started=trial.start_time or "",
            ended=trial.end_time or "",
            why=in_short(self.waits[trial.id])
            if trial.id in self.waits
            else why_failed(trial.infeasible_reason or ""),
        )


def of(endpoint: Endpoint, record: JobRecord, spec: TuningSpec) -> Tuning:
    """Return the search of a tuning job. Raises CloudError."""
    trials = gateway_of(record.name).trials(record)
    cancelled = lookup.cancelled_jobs(endpoint, [record]) if trials else frozenset()
    return Tuning(
        record=record,
        spec=spec,
        trials=trials,
        early=frozenset(trial.id for trial in trials if stopped_early(trial, cancelled)),
        best=best_trial(trials, spec.study_spec),
        waits=waits_of_trials(endpoint, trials),
    )


def value_in_words(value: Value | None) -> str:
    """Format the value of a parameter or metric, "" for None."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else number(value)


def _cell(name: str, value: Value | None) -> Cell:
    return Cell(name=name, text=value_in_words(value), order=value)
