"""The view of a tuning job: its study, its trials, and the job of each trial."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, cast

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import spec as hyperparameter_tuning_job
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.gateway import GATEWAY, study_of
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.views import pools_view, study_view
from pulumi_vertex_training.views.explained import Explanation, Sample, as_readable_document
from pulumi_vertex_training.views.kind_view import KindView, Titles
from pulumi_vertex_training.views.study_view import ENDED, metric, stopped_early, trial_json
from vertex_training.command_line.output import Output
from vertex_training.fields.decode import encode
from vertex_training.study.description import goals
from vertex_training.study.trials import Trial, best_trial, objective_of

TRIAL_TITLES = Titles(
    pools="Each trial runs", fields="The job of each trial", replicas="What the replicas of a trial see"
)

_SHOWN = frozenset(
    {"study_spec", "max_trial_count", "parallel_trial_count", "max_failed_trial_count", "trial_job_spec"}
)


def heading(explained: Explanation) -> str:
    """Describe a tuning job and the job of a trial: "A tuning job of 6 trials, 2 at a time, to ..."."""
    spec = _spec(explained.document)
    trials = study_view.trials_in_words(spec, _gaps(explained.document))
    of = f" of {trials}{',' if ',' in trials else ''}" if trials else ""
    words = pools_view.in_words(explained.spec)
    each = f"Each trial is {words[0].lower()}{words[1:]}." if words else "Its trials have no replicas."
    bare = pools_view.bare_in_words(explained.spec) if words and explained.spec else ""
    return f"A tuning job{of} to {goals(spec.study_spec.metrics)}. {each}{bare}"


def show(explained: Explanation, output: Output) -> None:
    """Print the study, the trials, and the other fields of the tuning job."""
    spec = _spec(explained.document)
    study_view.show_study(spec.study_spec, output)
    study_view.show_trials(spec, explained, output, _gaps(explained.document))
    fields = {key: value for key, value in encode(spec).items() if key not in _SHOWN}
    pools_view.show_fields(fields, output, title="The tuning job")


def document(explained: Explanation) -> dict[str, Any]:
    """Return the keys of `--json`."""
    spec, gaps = _spec(explained.document), _gaps(explained.document)
    return {
        "tuningJob": as_readable_document(hyperparameter_tuning_job.to_wire(spec), explained.document),
        "study": study_view.study_document(spec.study_spec),
        "trials": study_view.trials_document(spec, explained, gaps),
    }


def sample(whole: Document[Any], given: Sample) -> Sample:
    """Add the environment of a trial to a sample."""
    return study_view.sample_of_trial(_spec(whole), given, _gaps(whole))


def _gaps(whole: Document[Any]) -> frozenset[str]:
    return whole.unsaid | whole.damaged


def _spec(whole: Document[Any]) -> HyperparameterTuningJobSpec:
    return cast(HyperparameterTuningJobSpec, whole.spec)


@dataclass(frozen=True, kw_only=True)
class TrialCounts:
    """Counts of the trials of a tuning job. `best` is the best trial by the metric `metric`."""

    wanted: int
    ended: int
    running: int
    stopped_early: int
    infeasible: int
    best: Trial | None = None
    metric: str | None = None


def count_trials(record: JobRecord, cancelled: Collection[str]) -> TrialCounts:
    """Count the trials of a tuning job; `cancelled` is as for `trials_view.stopped_early`."""
    trials, study = GATEWAY.trials(record), study_of(record)
    objective = objective_of(study)
    return TrialCounts(
        wanted=int(record.wire.get("maxTrialCount") or 0),
        ended=sum(trial.state in ENDED for trial in trials),
        running=sum(trial.state not in ENDED for trial in trials),
        stopped_early=sum(stopped_early(trial, cancelled) for trial in trials),
        infeasible=sum(trial.state == "INFEASIBLE" for trial in trials),
        best=best_trial(trials, study),
        metric=objective.metric_id if objective else None,
    )


def listed(record: JobRecord, cancelled: Collection[str]) -> dict[str, Any]:
    """Return the keys of `jobs --json`."""
    counts = count_trials(record, cancelled)
    return {
        "trialCounts": {
            "wanted": counts.wanted,
            "ended": counts.ended,
            "running": counts.running,
            "stoppedEarly": counts.stopped_early,
            "infeasible": counts.infeasible,
        },
        "bestTrial": trial_json(counts.best, cancelled) if counts.best else None,
    }


def details(record: JobRecord, cancelled: Collection[str]) -> tuple[str, ...]:
    """Return the words of the last column of `jobs`, such as "3/20 trials" and "2 running"."""
    counts = count_trials(record, cancelled)
    words = (
        f"{counts.ended}/{counts.wanted} trials",
        f"{counts.running} running" if counts.running else "",
        f"{counts.stopped_early} stopped early" if counts.stopped_early else "",
        f"{counts.infeasible} infeasible" if counts.infeasible else "",
        f"best {metric(counts.best, counts.metric)}" if counts.best else "",
    )
    return tuple(filter(None, words))


def status(record: JobRecord, cancelled: Collection[str]) -> dict[str, Any]:
    """Return the keys of `status --json`."""
    wire, best = record.wire, count_trials(record, cancelled).best
    return {
        "studySpec": wire.get("studySpec", {}),
        "trialJobSpec": wire.get("trialJobSpec", {}),
        "maxTrialCount": wire.get("maxTrialCount"),
        "parallelTrialCount": wire.get("parallelTrialCount"),
        "bestTrial": best.id if best else None,
        "trials": [trial_json(trial, cancelled) for trial in GATEWAY.trials(record)],
    }


def facts(record: JobRecord) -> Iterator[tuple[str, str]]:
    """Yield the lines of `status`, each a title and a value."""
    wire, counts = record.wire, count_trials(record, ())
    started, wanted = counts.ended + counts.running, wire.get("maxTrialCount")
    yield "Trials", f"{started} of {wanted}, {wire.get('parallelTrialCount')} at a time"
    if counts.best is not None:
        name = counts.metric or ""
        yield "Best", f"trial {counts.best.id}: {name} {metric(counts.best, name)}"


VIEW = KindView(
    heading=heading,
    titles=lambda _: TRIAL_TITLES,
    show=show,
    document=document,
    sample=sample,
    listed=listed,
    details=details,
    status=status,
    facts=facts,
    replicas_of=lambda _: None,
)
