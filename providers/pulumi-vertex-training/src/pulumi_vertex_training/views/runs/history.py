"""Find the runs of one resource among the jobs of a project and location, and their results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.runs import identity
from pulumi_vertex_training.runs.climb import places_of
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.identity import DECLARATION_LABEL, RUN_LABEL
from pulumi_vertex_training.runs.monitoring.progress import latest_report
from pulumi_vertex_training.views.jobs.lookup import all_jobs, newest_first, outer_jobs
from pulumi_vertex_training.views.jobs.resources import History, Wanted, histories, resolve
from pulumi_vertex_training.views.kind_view import view_of
from pulumi_vertex_training.views.target import location_hint
from vertex_training.command_line.errors import InputError
from vertex_training.cost.max_cost import LABEL, as_declared, read_label
from vertex_training.fields import uris
from vertex_training.findings.words import did_you_mean
from vertex_training.job.checkpoints import without_variable
from vertex_training.job.job_kind import JobKind
from vertex_training.study.study import StudySpec
from vertex_training.study.trials import best_as_output, best_trial

_SHOWN = 8


def find(endpoint: Endpoint, wanted: Wanted) -> History:
    """Return the runs of the resource with this name, or whose job has this display name, id or full name.

    Raises InputError if none or several match, and CloudError.
    """
    jobs = all_jobs(endpoint)
    known = histories(one for one in outer_jobs(jobs) if RUN_LABEL in one.labels)
    found = resolve(wanted, known)
    if found is None:
        raise _unknown(endpoint, wanted.text, known, jobs)
    return _with_other_places(endpoint, found)


def _with_other_places(endpoint: Endpoint, found: History) -> History:
    """Return the runs with those that a capacity ladder had in other locations."""
    places = {place for one in found.records for place in places_of(one)} - {endpoint.location}
    identities = {one.labels.get(DECLARATION_LABEL) for one in found.records}
    gateway = gateway_of(found.records[0].name)
    more = [
        record
        for place in sorted(places)
        for record in gateway.list_labelled(endpoint.at(place), RUN_LABEL)
        if record.labels.get(DECLARATION_LABEL) in identities
    ]
    return replace(found, records=tuple(newest_first([*found.records, *more]))) if more else found


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


METRICS_OBJECT = "metrics.json"


@dataclass(frozen=True, kw_only=True)
class Result:
    """The results of a run: None or empty until there are any. `model` is the full name with the version.

    `source` says where the metrics are from; "" without any.
    """

    model_directory: str | None = None
    model: str | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    source: Literal["", "metrics.json", "last report", "best trial"] = ""


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
    succeeded = record.state is JobState.JOB_STATE_SUCCEEDED
    models = f"{directory}model/" if directory and succeeded else None
    model = view_of(record).model_of(record)
    if models and (written := _metrics(endpoint, models)):
        return Result(model_directory=models, model=model, metrics=written, source="metrics.json")
    reported = latest_metrics(endpoint, directory)
    source: Literal["", "last report"] = "last report" if reported else ""
    return Result(model_directory=models, model=model, metrics=reported, source=source)


def latest_metrics(endpoint: Endpoint, directory: str | None) -> Mapping[str, Any]:
    """Return the metrics in the latest report of a run; none if it cannot be read."""
    try:
        report = latest_report(endpoint, directory)
    except CloudError:
        return {}
    return report.metrics if report is not None else {}


def changes_since(before: JobRecord, record: JobRecord, *, arguments: bool = True) -> tuple[str, ...]:
    """Return the changes of the spec since the run before, in words; values that may be secret are hidden.

    Without `arguments`, changes of arguments are left out.
    """
    kind = _kind(record)
    try:
        old, new = (_declared(kind, one) for one in (before, record))
        if not arguments:
            old, new = (kind.from_wire(_without_arguments(kind.to_wire(one))) for one in (old, new))
        keys = [one.labels.get(RUN_LABEL, "") for one in (before, record)]
        if identity.same_name(old.display_name, keys[0], new.display_name, keys[1]):
            new = replace(new, display_name=old.display_name)
        return kind.compare(old, new).changes
    except ValueError:
        return ()


def _without_arguments(wire: object) -> Any:
    """Return a spec in its JSON form without the arguments of its tasks."""
    if isinstance(wire, list):
        return [_without_arguments(item) for item in wire]
    if not isinstance(wire, Mapping):
        return wire
    return {
        name: {key: item for key, item in value.items() if key != "args"}
        if name in ("containerSpec", "pythonPackageSpec")
        else _without_arguments(value)
        for name, value in wire.items()
    }


def _declared(kind: JobKind[Any], record: JobRecord) -> Any:
    """Return the spec without the parts that each run gets: its directories, its limit and our labels."""
    spec = kind.with_output_directory(kind.normalise(kind.from_wire(record.wire)), None)
    spec = without_variable(as_declared(spec, read_label(record.labels.get(LABEL))))
    return kind.as_declared(replace(spec, labels={}), spec)


def _kind(record: JobRecord) -> JobKind[Any]:
    return registry.runnable(record.collection).part("kind", "KIND", JobKind)


def _of_best_trial(record: JobRecord, study: StudySpec, directory: str | None) -> Result:
    best = best_trial(gateway_of(record.name).trials(record), study)
    if best is None:
        return Result()
    output = best_as_output(best, study, directory)
    metrics = dict(best.metrics)
    return Result(model_directory=output["model_directory"], metrics=metrics, source="best trial")


def _metrics(endpoint: Endpoint, model_directory: str) -> Mapping[str, Any]:
    """Return the contents of metrics.json in the model directory."""
    address = uris.parse(model_directory + METRICS_OBJECT)
    try:
        found = json.loads(objects.read(endpoint, address.bucket, address.name))
    except (CloudError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
