"""The places of the jobs that a stack's next deployment submits or schedules, and what is found there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan.jobs import job_kind_of, without_texts
from pulumi_vertex_training.cli.teams.plan.plan import effect_of, name_of, type_of
from pulumi_vertex_training.cli.teams.plan.preview import Preview
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.costs.reports import HIDDEN
from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN
from pulumi_vertex_training.preflight.finding import Finding
from pulumi_vertex_training.preflight.preflight import findings_of
from pulumi_vertex_training.preflight.report import Report
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.runs.lookups import Lookups, in_parallel
from pulumi_vertex_training.runs.resource_names import is_of_content, names_made
from pulumi_vertex_training.timeouts import Timeouts
from pulumi_vertex_training.views import target
from vertex_training.fields.decode import decode
from vertex_training.fields.document import nested
from vertex_training.job.job_kind import JobKind

_TARGET = ("endpoint", "project", "location")
_MADE = frozenset({"create", "replace"})
_SCHEDULE = "TrainingSchedule"
_OF_RUNS = ("request", "collection", "parent", "paused")
"""The inputs of a schedule that decide about its runs. Others, such as the times, need no check."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """The jobs of one project and location, and the function that returns its endpoint."""

    scope: Scope
    connect: Callable[[], Endpoint | None]


def places_of(previewed: Preview, timeouts: Timeouts, *, data_dir: Path | None = None) -> list[Place]:
    """Return the places of the jobs that a deployment submits, or that changed schedules submit.

    The job of a schedule that is submitted as well is one job. `data_dir` replaces the stack's.
    """
    configured = previewed.configuration.get("vertex-training:dataDir")
    folder = data_dir or (Path(str(configured)).expanduser() if configured else None)
    revealed = previewed.revealed_steps
    inputs = {str(step["urn"]): _inputs(step) for step in revealed if _inputs(step)}
    made = frozenset(_made_names(previewed.steps))
    jobs = {_job(step): step for step in revealed if _kind(step) is not None and _inputs(step)}
    subjects: dict[tuple[str, str, str], list[Subject]] = {}
    submitted: set[tuple[str, str]] = set()

    def add(found: Subject | None, declared: Mapping[str, Any]) -> None:
        where = [str(declared.get(name) or "") for name in _TARGET]
        if found is not None:
            subjects.setdefault((where[0], where[1], where[2]), []).append(found)

    for change in previewed.plan.changes:
        row = {"urn": change.urn}
        if _kind(row) is None or change.effect not in _MADE or change.urn not in inputs:
            continue
        submitted.add(_job(row))
        replaces = change.stopped.name if change.stopped is not None else ""
        found = _subject(row, inputs[change.urn], made)
        add(found and replace(found, replaces=replaces), inputs[change.urn])
    for step in filter(_changes_runs, previewed.steps):
        job = str(_inputs(step).get("collection")), str(_inputs(step).get("job"))
        if job in jobs and job not in submitted:
            found = _subject(jobs[job], _inputs(jobs[job]), made)
            add(found and replace(found, name=name_of(step), is_scheduled=True), _inputs(jobs[job]))
    return [_place(*where, tuple(found), folder, timeouts) for where, found in subjects.items()]


def report_of(places: Sequence[Place], title: str, *, seconds: float) -> Report:
    """Look everything up within `seconds`, in all places at the same time, and return the findings.

    Raises CommandError for an emulator that does not run.
    """
    lookups = Lookups()

    def ask(place: Place) -> tuple[Finding, ...]:
        return findings_of(place.scope, place.connect, lookups, seconds=seconds)

    found = in_parallel([functools.partial(ask, place) for place in places])
    return Report(title=title, places=tuple(zip((place.scope for place in places), found, strict=True)))


def _place(
    endpoint: str,
    project: str,
    location: str,
    subjects: tuple[Subject, ...],
    folder: Path | None,
    timeouts: Timeouts,
) -> Place:
    is_emulator = endpoint != "google"
    choice = target.Choice(
        kind=endpoint,
        project=project,
        location=location,
        data_dir=folder if is_emulator else None,
        timeouts=timeouts,
    )
    scope = Scope(
        project=project,
        location=location,
        is_emulator=is_emulator,
        subjects=subjects,
        data_dir=choice.data_dir,
    )
    return Place(scope=scope, connect=functools.partial(target.resolve, choice))


def _kind(step: Mapping[str, Any]) -> JobKind[Any] | None:
    return job_kind_of(type_of(step))


def _job(step: Mapping[str, Any]) -> tuple[str, str]:
    """Return the collection of a job's kind, and its name in the program."""
    resource = registry.resource_of(type_of(step))
    collection = next(entry.collection for entry in registry.RUNNABLE if resource in entry.resources)
    return collection, name_of(step)


def _inputs(step: Mapping[str, Any], state: str = "newState") -> Mapping[str, Any]:
    return nested(step, state, "inputs")


def _made_names(steps: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of everything that the deployment creates."""
    for step in steps:
        token, effect = type_of(step), effect_of(step)
        if effect in _MADE or (effect == "update" and is_of_content(token)):
            yield from names_made(token, _inputs(step))


def _subject(step: Mapping[str, Any], inputs: Mapping[str, Any], made: frozenset[str]) -> Subject | None:
    """Return the job of a step, or None if its inputs cannot be read."""
    kind = _kind(step)
    if kind is None:
        return None
    names = [item.name for item in fields(kind.spec)]
    declared = {name: without_texts(inputs[name]) for name in names if name in inputs}
    decoded = decode(kind.spec, declared)
    if decoded.draft is None:
        return None
    staging = inputs.get("staging_bucket")
    bucket = staging if isinstance(staging, str) and staging not in (HIDDEN, ENGINES_UNKNOWN) else ""
    collection, name = _job(step)
    return Subject(
        name=name,
        collection=collection,
        spec=kind.normalise(decoded.draft),
        staging_bucket=bucket,
        unknown=decoded.unknown | decoded.damaged,
        made=made,
    )


def _changes_runs(step: Mapping[str, Any]) -> bool:
    """Return whether a deployment makes a schedule start runs, or other runs than before."""
    if registry.resource_of(type_of(step)) != _SCHEDULE or _inputs(step).get("paused") is True:
        return False
    old, new = _inputs(step, "oldState"), _inputs(step)
    effect = effect_of(step)
    return effect in _MADE or (effect == "update" and any(old.get(one) != new.get(one) for one in _OF_RUNS))
