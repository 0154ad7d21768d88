"""Find the runs that made a thing or used it, and their models, by the lineages of all runs.

The jobs of all kinds are listed by the label of their run, and a file is read for each, in parallel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.parallel import call_each
from pulumi_vertex_training.runs.climb import places_of
from pulumi_vertex_training.runs.gateway import gateways
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.lineage import files
from pulumi_vertex_training.runs.lineage.lineage import Lineage
from pulumi_vertex_training.runs.monitoring.progress import directory_of
from pulumi_vertex_training.views.lineage import lineage_of
from vertex_training.command_line.errors import InputError
from vertex_training.fields import uris
from vertex_training.findings.words import did_you_mean, shown

_KEY = re.compile(r"[0-9a-f]{16}-\d+")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_DIGEST = re.compile(r"(?:.+@)?sha256:[0-9a-f]{64}")
_DATASET = re.compile(r"(?:.*/)?datasets/([^/]+)")
_MODEL = re.compile(r"(?:.*/)?models/([^/]+)")

Kind = Literal["model", "address", "image", "commit", "dataset", "run"]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The thing that is traced. `name` is a model's full name with its version, a digest, an address, ..."""

    kind: Kind
    name: str


@dataclass(frozen=True, kw_only=True)
class TracedRun:
    """A run that `made` the subject or `used` it; a run's own key means `made`.

    `record` is its job, None if its record was deleted. `models` are the full names of the versions whose
    files are in its output directory.
    """

    lineage: Lineage
    relation: Literal["made", "used"]
    record: JobRecord | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Found:
    """The runs, the newest first; `without` are the jobs of runs that have no lineage."""

    subject: Subject
    runs: tuple[TracedRun, ...]
    without: tuple[str, ...] = ()


def search(endpoint: Endpoint, text: str) -> Found:
    """Trace what a text names. Raises InputError for a model that does not exist, and CloudError."""
    subject, model = _read(endpoint, text)
    if model is not None:
        made = [replace(one, models=(model.full_name,)) for one in _made(endpoint, _files(model))]
        return Found(subject=subject, runs=tuple(made))
    if subject.kind == "model":
        return Found(subject=subject, runs=())
    known, without = _all(endpoint)
    made = _made(endpoint, subject.name) if subject.kind == "address" else []
    keys = {one.lineage.run for one in made}
    runs = [one for one in known if one.lineage.run in keys or holds(one.lineage, subject)]
    runs = [replace(one, relation="made" if one.lineage.run in keys else one.relation) for one in runs]
    seen = {one.lineage.run for one in runs}
    return Found(
        subject=subject,
        runs=(*(one for one in made if one.lineage.run not in seen), *runs),
        without=tuple(without),
    )


def holds(lineage: Lineage, subject: Subject) -> bool:
    """Return whether a run used an image, data, a package or a commit, or is the run. Pure."""
    match subject.kind:
        case "image":
            return any(image.digest == subject.name for image in lineage.images)
        case "commit":
            return lineage.commit is not None and lineage.commit.id.startswith(subject.name)
        case "dataset":
            return any(one.kind == "dataset" and one.uri == subject.name for one in lineage.data)
        case "address":
            used = [*(one.uri for one in lineage.packages), *(one.uri for one in lineage.data)]
            return any(_overlap(uri, subject.name) for uri in used)
        case "run":
            return lineage.run == subject.name
        case _:
            return False


def _overlap(one: str, other: str) -> bool:
    """Return whether one of two addresses is below the other, or both are the same."""
    a, b = (f"{each.rstrip('/')}/" for each in (one, other))
    return a.startswith(b) or b.startswith(a)


def _read(endpoint: Endpoint, text: str) -> tuple[Subject, ModelRecord | None]:
    """Return what a text names, and the model's record if it has files."""
    if _DIGEST.fullmatch(text):
        return Subject(kind="image", name=text.rpartition("@")[2]), None
    if text.startswith(("gs://", f"{uris.GCS_MOUNT}/")):
        address = uris.parse_or_none(uris.unmounted(text))
        if address is None or not address.name:
            raise InputError(f"{shown(text)} names no object or folder. Write gs://BUCKET/NAME.", path="WHAT")
        return Subject(kind="address", name=str(address)), None
    if dataset := _DATASET.fullmatch(text):
        return Subject(kind="dataset", name=dataset[1]), None
    if _KEY.fullmatch(text):
        return Subject(kind="run", name=text), None
    if _COMMIT.fullmatch(text) and len(text) == 40:
        return Subject(kind="commit", name=text), None
    named = _MODEL.fullmatch(text)
    name = named[1] if named else text
    try:
        record = models.get(endpoint.of(text), f"{endpoint.of(text).parent}/models/{name}")
    except NotFound:
        if _COMMIT.fullmatch(text):
            return Subject(kind="commit", name=text), None
        raise _unknown(endpoint, name) from None
    subject = Subject(kind="model", name=record.full_name)
    return subject, record if uris.parse_or_none(_files(record)) else None


def _unknown(endpoint: Endpoint, name: str) -> InputError:
    ids = [one.name.rpartition("/")[2] for one in models.list_models(endpoint)]
    return InputError(
        f"There is no model {shown(name)} in {endpoint.project}, {endpoint.location}."
        f"{did_you_mean(name.partition('@')[0], ids)} Give a model, gs://BUCKET/NAME, IMAGE@sha256:DIGEST, a "
        "commit of 7 to 40 hex digits, datasets/ID, or the key of a run.",
        path="WHAT",
    )


def _made(endpoint: Endpoint, uri: str) -> list[TracedRun]:
    """Return the runs in whose output directory an address is: several if they share the directory."""
    return [
        TracedRun(lineage=one, relation="made", record=_job(endpoint, one))
        for one in files.above(endpoint, uris.parse(uri))
    ]


def _job(endpoint: Endpoint, lineage: Lineage) -> JobRecord | None:
    gateway = next((one for one in gateways() if one.noun == lineage.kind), None)
    if gateway is None:
        return None
    found = gateway.list_by_label(endpoint.at(lineage.location), {RUN_LABEL: lineage.run})
    return next(iter(found), None)


def _all(endpoint: Endpoint) -> tuple[list[TracedRun], list[str]]:
    """Return all runs that have a lineage, the newest first, and the names of the jobs without one."""
    jobs = _jobs(endpoint)
    lineages = call_each(lambda job: lineage_of(endpoint.of(job.name), job), jobs)
    versions = _versions(endpoint)
    known = [(job, one) for job, one in zip(jobs, lineages, strict=True) if one is not None]
    owned = {version.full_name for job, _ in known for version in versions if _wrote(job, version)}
    rest = [version for version in versions if version.full_name not in owned]
    deleted = call_each(lambda version: _above(endpoint, version), rest)
    found = [
        TracedRun(
            lineage=one,
            relation="used",
            record=job,
            models=tuple(version.full_name for version in versions if _wrote(job, version)),
        )
        for job, one in known
    ]
    runs = {one.run: one for each in deleted for one in each}
    of_run = {
        run: tuple(
            version.full_name
            for version, each in zip(rest, deleted, strict=True)
            if run in {one.run for one in each}
        )
        for run in runs
    }
    found += [TracedRun(lineage=one, relation="used", models=of_run[run]) for run, one in runs.items()]
    return found, [job.name for job, one in zip(jobs, lineages, strict=True) if one is None]


def _wrote(job: JobRecord, version: ModelRecord) -> bool:
    """Return whether the files of a version are in the output directory of a job."""
    directory = directory_of(job)
    return bool(directory) and f"{_files(version).rstrip('/')}/".startswith(directory or "")


def _files(version: ModelRecord) -> str:
    return str(version.wire.get("artifactUri") or "")


def _above(endpoint: Endpoint, version: ModelRecord) -> tuple[Lineage, ...]:
    """Return the lineage of a version whose job has no record any more; none if it cannot be read."""
    address = uris.parse_or_none(_files(version))
    try:
        return files.above(endpoint, address) if address is not None else ()
    except CloudError:
        return ()


def _versions(endpoint: Endpoint) -> list[ModelRecord]:
    names = [model.name for model in models.list_models(endpoint)]
    return [
        version for each in call_each(lambda name: models.versions(endpoint, name), names) for version in each
    ]


def _jobs(endpoint: Endpoint) -> list[JobRecord]:
    """Return the jobs of runs, the newest first, also of ladders in other locations."""

    def listed(places: Iterable[str]) -> list[JobRecord]:
        calls = [(gateway, endpoint.at(place)) for place in places for gateway in gateways()]
        each = call_each(lambda call: call[0].list_labelled(call[1], RUN_LABEL), calls)
        return [job for jobs in each for job in jobs]

    found = listed([endpoint.location])
    others = {place for job in found for place in places_of(job)} - {endpoint.location}
    return sorted([*found, *listed(sorted(others))], key=lambda job: job.create_time or "", reverse=True)
