"""Find the runs of one resource among the jobs of a project and location, and their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.jobs.lookup import all_jobs, inner_jobs, newest_first
from pulumi_vertex_training.cli.target import location_hint
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.kinds.training_pipeline.spec import uploaded_model
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import RUN_LABEL, identity_of, is_of_schedule
from pulumi_vertex_training.runs.progress import latest_report
from pulumi_vertex_training.views.failure import InputError
from pulumi_vertex_training.views.study_view import job_key
from vertex_training.fields import uris
from vertex_training.fields.labels import ownership_label_value
from vertex_training.findings.words import did_you_mean
from vertex_training.job.job_kind import JobKind
from vertex_training.study.study import StudySpec
from vertex_training.study.trials import best_as_output, best_trial

_SHOWN = 8


@dataclass(frozen=True, order=True, kw_only=True)
class Resource:
    """A resource as the labels of its jobs name it; `kind` is the noun of its kind of job.

    With `is_schedule` it is a schedule, which submits jobs of that kind.
    """

    project: str
    stack: str
    name: str
    kind: str
    is_schedule: bool = False

    @property
    def flag(self) -> str:
        """The kind as the value of `--kind`."""
        return self.kind.replace(" ", "-")

    def __str__(self) -> str:
        where = f" of stack {self.project}/{self.stack}" if self.stack else ""
        noun = "schedule" if self.is_schedule else self.kind
        return f"{noun} {self.name}{where}"


@dataclass(frozen=True, kw_only=True)
class History:
    """A resource, and the jobs of its runs, newest first."""

    resource: Resource
    records: tuple[JobRecord, ...]

    @property
    def declarations(self) -> int:
        """The number of declarations that the runs belong to: each has an identity of its own."""
        return len({_identity(one) for one in self.records})

    def numbers(self) -> dict[str, str]:
        """Return the number of each run by the full name of its job; `3.2` is the second job of run 3.

        The runs of a schedule are numbered in order.
        """
        found: dict[str, str] = {}
        for key, jobs in groupby(sorted(self.records, key=_key), key=_key):
            number = key.rpartition("-")[2]
            for position, record in enumerate(sorted(jobs, key=lambda one: one.create_time or ""), start=1):
                if is_of_schedule(key):
                    found[record.name] = str(position)
                else:
                    found[record.name] = number if position == 1 else f"{number}.{position}"
        return found


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Options that narrow down resources of the same name. None accepts any value."""

    kind: str | None = None
    project: str | None = None
    stack: str | None = None

    def accepts(self, resource: Resource) -> bool:
        return (
            self.kind in (None, resource.flag)
            and (self.project is None or ownership_label_value(self.project) == resource.project)
            and (self.stack is None or ownership_label_value(self.stack) == resource.stack)
        )


def find(endpoint: Endpoint, name: str, narrowed: Filter, *, here: Callable[[], Filter] = Filter) -> History:
    """Return the runs of the resource with this name, or whose job has this display name, id or full name.

    `here` returns the project and stack of the working directory. It is called if several resources match.
    Raises InputError if none or several match, and CloudError.
    """
    jobs = all_jobs(endpoint)
    owned = inner_jobs(jobs)
    known = histories(one for one in jobs if RUN_LABEL in one.labels and job_key(one.name) not in owned)
    found = [one for one in _named(name, known) if narrowed.accepts(one.resource)]
    if len(found) > 1:
        place = here()
        found = [one for one in found if place.accepts(one.resource)] or found
    if len(found) == 1:
        return found[0]
    raise _ambiguous(name, found) if found else _unknown(endpoint, name, known, jobs)


def histories(records: Iterable[JobRecord]) -> list[History]:
    """Group the jobs of runs by resource.

    The jobs of one declaration belong together, also if the resource was renamed. So do those of declarations
    with the same owner: a resource that was destroyed and declared again.
    """
    by_identity: dict[str, list[JobRecord]] = {}
    for record in newest_first(records):
        by_identity.setdefault(_identity(record), []).append(record)
    by_resource: dict[Resource, list[JobRecord]] = {}
    for group in by_identity.values():
        by_resource.setdefault(_resource(group[0]), []).extend(group)
    return [
        History(resource=resource, records=tuple(newest_first(group)))
        for resource, group in sorted(by_resource.items())
    ]


def _named(name: str, known: Sequence[History]) -> list[History]:
    """Return the histories that the name stands for: resource names count before display names and ids."""
    label = ownership_label_value(name)

    def is_resource(one: History) -> bool:
        return any(record.labels.get("pulumi-resource") == label for record in one.records)

    def is_job(one: History) -> bool:
        return any(name in (record.display_name, record.job_id, record.name) for record in one.records)

    return [one for one in known if is_resource(one)] or [one for one in known if is_job(one)]


def _ambiguous(name: str, found: Sequence[History]) -> InputError:
    kinds = len({one.resource.kind for one in found}) > 1
    stacks = len({(one.resource.project, one.resource.stack) for one in found}) > 1
    options = [*(["--stack"] if stacks else []), *(["--kind"] if kinds else [])]
    remedy = f"Give {' and '.join(options)}" if options else "Give the id of one of its jobs"
    return InputError(
        f"{len(found)} resources are named {name!r}: {_listed(found)}. {remedy}.",
        path=options[0] if options else "NAME",
    )


def _unknown(
    endpoint: Endpoint, name: str, known: Sequence[History], jobs: Sequence[JobRecord]
) -> InputError:
    where = f"{endpoint.project}, {endpoint.location}"
    if any(name in (job.display_name, job.job_id, job.name) for job in jobs):
        return InputError(
            f"{name!r} is a job that no stack submitted, so it has no other runs. "
            f"`vertex-training status {name}` shows it.",
            path="NAME",
        )
    if not known:
        exist = f"No stack has run a job in {where}.{location_hint(endpoint.location)}"
        return InputError(f"There are no runs of {name!r}. {exist}", path="NAME")
    hint = did_you_mean(name, [one.resource.name for one in known])
    return InputError(
        f"There are no runs of {name!r} in {where}.{hint} There are runs of: {_listed(known)}.", path="NAME"
    )


def _listed(found: Sequence[History]) -> str:
    shown = [str(one.resource) for one in found[:_SHOWN]]
    return ", ".join([*shown, *([f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else [])])


def _resource(record: JobRecord) -> Resource:
    return Resource(
        project=record.labels.get("pulumi-project", ""),
        stack=record.labels.get("pulumi-stack", ""),
        name=record.labels.get("pulumi-resource") or record.display_name,
        kind=gateway_of(record.name).noun,
        is_schedule=is_of_schedule(_key(record)),
    )


def _key(record: JobRecord) -> str:
    return record.labels[RUN_LABEL]


def _identity(record: JobRecord) -> str:
    return f"{record.collection} {identity_of(_key(record))}"


METRICS_OBJECT = "metrics.json"


@dataclass(frozen=True, kw_only=True)
class Result:
    """The results of a run: None or empty until there are any. `model` is the full name with the version."""

    model_directory: str | None = None
    model: str | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)


def result_of(endpoint: Endpoint, record: JobRecord) -> Result:
    """Return the results of a run. Metrics that cannot be read are left out."""
    try:
        spec = _kind(record).from_wire(record.wire)
        directory = _kind(record).directory_of(record.wire)
    except ValueError:  # a job of a newer version
        return Result()
    study = getattr(spec, "study_spec", None)
    if isinstance(study, StudySpec):
        return _of_best_trial(record, study, directory)
    model = uploaded_model(record.wire)
    succeeded = record.state is JobState.JOB_STATE_SUCCEEDED
    models = f"{directory}model/" if directory and succeeded else None
    return Result(
        model_directory=models,
        model="@".join(filter(None, model)) if model else None,
        metrics=_metrics(endpoint, models) if models else latest_metrics(endpoint, directory),
    )


def latest_metrics(endpoint: Endpoint, directory: str | None) -> Mapping[str, Any]:
    """Return the metrics that a run without a model has reported so far."""
    report = latest_report(endpoint, directory)
    return report.metrics if report is not None else {}


def changes_since(before: JobRecord, record: JobRecord) -> tuple[str, ...]:
    """Return the changes of the spec since the run before, in words; values that may be secret are hidden."""
    kind = _kind(record)
    try:
        old, new = (_declared(kind, one) for one in (before, record))
        return kind.compare(old, new).changes
    except ValueError:
        return ()


def _declared(kind: JobKind[Any], record: JobRecord) -> Any:
    """Return the spec without the parts that each run gets: its directory and our labels."""
    spec = kind.with_output_directory(kind.normalise(kind.from_wire(record.wire)), None)
    return kind.as_declared(replace(spec, labels={}), spec)


def _kind(record: JobRecord) -> JobKind[Any]:
    return registry.runnable(record.collection).part("kind", "KIND", JobKind)


def _of_best_trial(record: JobRecord, study: StudySpec, directory: str | None) -> Result:
    best = best_trial(gateway_of(record.name).trials(record), study)
    if best is None:
        return Result()
    output = best_as_output(best, study, directory)
    return Result(model_directory=output["model_directory"], metrics=dict(best.metrics))


def _metrics(endpoint: Endpoint, model_directory: str) -> Mapping[str, Any]:
    """Return the contents of metrics.json in the model directory."""
    address = uris.parse(model_directory + METRICS_OBJECT)
    try:
        found = json.loads(objects.read(endpoint, address.bucket, address.name))
    except (CloudError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
