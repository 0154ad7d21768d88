"""The content of the emulator: jobs, persistent resources, buckets and images of a project and location."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import clients, rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.runs.gateway import gateway_of, gateways
from pulumi_vertex_training.runs.monitoring.progress import Report, in_words, metrics_in_words
from pulumi_vertex_training.runs.monitoring.waits import in_short
from pulumi_vertex_training.ui.source import costs
from pulumi_vertex_training.ui.source.owner import Owner, owner_of
from pulumi_vertex_training.views.jobs import listing
from pulumi_vertex_training.views.jobs.listing import Listing
from pulumi_vertex_training.views.kind_view import view_of
from pulumi_vertex_training.views.study_view import job_key, why_ended
from vertex_training.fields.json_numbers import finite_number_of, without_nan

_PAGE = 500
_FIELDS = (
    "name,displayName,state,createTime,startTime,endTime,error,labels,jobSpec.baseOutputDirectory,"
    f"{costs.FIELDS}"
)
"""The fields of a custom job that the overview shows: of 1,000 jobs, all fields would be some megabytes."""

_MOST_METRICS = 30
"""Metrics of a job that the overview offers as columns."""

_MOST_IMAGES = 200
"""Images of one repository that are shown, the newest first."""


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """A job as the overview shows it. `percent` is None without a report that has one.

    `key` is "customJobs/123". `inside` is the key of the tuning job or pipeline that runs it, else "".
    `metrics` are the last values, of the first metric first, and `trend` some values up to that.
    """

    key: str
    name: str
    kind: str
    state: str
    is_live: bool
    owner: Owner
    created: str = ""
    started: str = ""
    ended: str = ""
    percent: int | None = None
    details: str = ""
    inside: str = ""
    cost: str = ""
    metrics: tuple[tuple[str, float], ...] = ()
    trend: tuple[float, ...] = ()

    @property
    def value(self) -> float | None:
        """The last value of the first metric if it is finite."""
        return finite_number_of(self.metrics[0][1]) if self.metrics else None

    @property
    def metrics_json(self) -> str:
        """The last values as JSON, for the columns that a reader chooses; "" without any."""
        return json.dumps(without_nan(dict(self.metrics)), separators=(",", ":")) if self.metrics else ""


@dataclass(frozen=True, kw_only=True)
class ResourceRow:
    """A persistent resource, bucket or image. `details` are a few words, such as the number of machines."""

    key: str
    name: str
    owner: Owner
    state: str = ""
    created: str = ""
    details: str = ""


@dataclass(frozen=True, kw_only=True)
class Others:
    """All that exists besides jobs, the newest first."""

    persistent_resources: tuple[ResourceRow, ...] = ()
    buckets: tuple[ResourceRow, ...] = ()
    images: tuple[ResourceRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """All that the overview shows, the newest first. Jobs that run come before other live and ended ones."""

    endpoint: Endpoint
    jobs: tuple[JobRow, ...]
    persistent_resources: tuple[ResourceRow, ...] = ()
    buckets: tuple[ResourceRow, ...] = ()
    images: tuple[ResourceRow, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of jobs by state, without the trials of tuning jobs and the jobs of pipelines."""
        found: dict[str, int] = {}
        for job in self.jobs:
            if not job.inside:
                found[job.state] = found.get(job.state, 0) + 1
        return dict(sorted(found.items(), key=lambda pair: _ORDER.get(pair[0], len(_ORDER))))


_ORDER = {
    state: position
    for position, state in enumerate(
        ("RUNNING", "PENDING", "QUEUED", "CANCELLING", "FAILED", "EXPIRED", "CANCELLED", "SUCCEEDED")
    )
}


def read(endpoint: Endpoint) -> Inventory:
    """Return all that exists. Raises CloudError."""
    found = listing.read_jobs(endpoint, kind=None, live=False, inner=False, fields=_FIELDS)
    return of(endpoint, (job_row(found, record) for record in found.selected), others(endpoint))


def of(endpoint: Endpoint, jobs: Iterable[JobRow], found: Others) -> Inventory:
    """Return the inventory of these jobs, which come with the newest first, and of the others."""
    return Inventory(
        endpoint=endpoint,
        jobs=tuple(sorted(jobs, key=lambda job: (not job.is_live, job.state != "RUNNING"))),
        persistent_resources=found.persistent_resources,
        buckets=found.buckets,
        images=found.images,
    )


def others(endpoint: Endpoint) -> Others:
    """Return all that exists besides jobs. Raises CloudError."""
    return Others(
        persistent_resources=tuple(_persistent_resources(endpoint)),
        buckets=tuple(_newest_first(_buckets(endpoint))),
        images=tuple(_newest_first(_images(endpoint))),
    )


def records(endpoint: Endpoint) -> dict[str, JobRecord]:
    """Return all jobs by key. Raises CloudError."""
    custom = registry.CUSTOM_JOB.collection
    return {
        job_key(record.name): record
        for gateway in gateways()
        for record in gateway.list_jobs(endpoint, fields=_FIELDS if gateway.collection == custom else "")
    }


def row_of(
    record: JobRecord, *, report: Report | None = None, details: str = "", inside: str = "", cost: str = ""
) -> JobRow:
    """Return the row of a job."""
    return JobRow(
        key=job_key(record.name),
        name=record.display_name,
        kind=gateway_of(record.name).noun,
        state=record.state.word,
        is_live=not record.state.is_terminal,
        owner=owner_of(record.labels),
        created=record.create_time or "",
        started=record.start_time or "",
        ended=record.end_time or "",
        percent=report.percent if report and not record.state.is_terminal else None,
        metrics=tuple(itertools.islice(report.metrics.items(), _MOST_METRICS)) if report else (),
        trend=report.trend if report else (),
        details=details,
        inside=inside,
        cost=cost,
    )


def job_row(found: Listing, record: JobRecord, *, result: Report | None = None) -> JobRow:
    """Return the row of a job of a listing. `result` is the last report of a job that has ended."""
    inner = found.inner.get(job_key(record.name))
    report = found.reports.get(record.name)
    words = list(view_of(record).details(record, found.cancelled))
    if record.name in found.waits:
        words.append(in_short(found.waits[record.name]))
    if report is not None:
        words.append(in_words(report))
    if result is not None:
        words += metrics_in_words(result)
    if why := why_ended(record):
        words.append(why)
    inside = job_key(inner.owner) if inner else ""
    details = ", ".join(filter(None, words))
    cost = costs.in_words(record)
    return row_of(record, report=report or result, details=details, inside=inside, cost=cost)


def _newest_first(rows: Iterator[ResourceRow]) -> list[ResourceRow]:
    """Sort rows by their time of creation, which two may share: then the name decides."""
    return sorted(rows, key=lambda row: (row.created, row.name), reverse=True)


def _persistent_resources(endpoint: Endpoint) -> Iterator[ResourceRow]:
    address = f"{endpoint.vertex_url}/v1/{endpoint.parent}/persistentResources"
    with translated(endpoint, "list the persistent resources"):
        pages = list(rest.pages(endpoint, address, query={"pageSize": _PAGE}))
    for wire in _items(pages, "persistentResources"):
        name = str(wire.get("name", ""))
        yield ResourceRow(
            key=name,
            name=name.rpartition("/")[2],
            owner=owner_of(wire.get("labels") or {}),
            state=str(wire.get("state", "")),
            created=str(wire.get("createTime", "")),
            details=", ".join(_pool_in_words(pool) for pool in wire.get("resourcePools") or ()),
        )


def _pool_in_words(pool: Mapping[str, Any]) -> str:
    count = pool.get("replicaCount") or (pool.get("autoscalingSpec") or {}).get("minReplicaCount") or "?"
    return f"{count} x {(pool.get('machineSpec') or {}).get('machineType', '?')}"


def _buckets(endpoint: Endpoint) -> Iterator[ResourceRow]:
    query: rest.Query = {"project": endpoint.project, "maxResults": _PAGE}
    with translated(endpoint, "list the buckets"):
        pages = list(rest.pages(endpoint, f"{clients.storage_url(endpoint)}/storage/v1/b", query=query))
    for wire in _items(pages, "items"):
        name = str(wire.get("name", ""))
        yield ResourceRow(
            key=name,
            name=name,
            owner=owner_of(wire.get("labels") or {}),
            created=str(wire.get("timeCreated", "")),
            details=str(wire.get("location", "")).lower(),
        )


def _images(endpoint: Endpoint) -> Iterator[ResourceRow]:
    """Yield the images of each repository; their owner is the repository's."""
    root = f"{endpoint.artifact_registry_url}/v1"
    with translated(endpoint, "list the images"):
        address = f"{root}/{endpoint.parent}/repositories"
        repositories = _items(rest.pages(endpoint, address, query={"pageSize": _PAGE}), "repositories")
        for repository in repositories:
            if repository.get("format") != "DOCKER":
                continue
            # The name has slashes, and nothing else that an address would have to escape.
            images = f"{root}/{quote(str(repository['name']))}/dockerImages"
            page = rest.call(endpoint, "GET", images, query={"pageSize": _MOST_IMAGES})
            owner = owner_of(repository.get("labels") or {})
            for wire in page.get("dockerImages", ()):
                yield _image_row(wire, owner)


def _image_row(wire: Mapping[str, Any], owner: Owner) -> ResourceRow:
    uri = str(wire.get("uri", ""))
    path, _, digest = uri.partition("@sha256:")
    tags = ", ".join(str(tag) for tag in wire.get("tags") or ())
    size = int(wire.get("imageSizeBytes") or 0)
    short = f"sha256:{digest[:12]}" if digest else ""
    return ResourceRow(
        key=uri,
        name="/".join(path.split("/")[2:]) or path,
        owner=owner,
        created=str(wire.get("uploadTime", "")),
        details=", ".join(filter(None, (tags, short, _size(size) if size else ""))),
    )


def _items(pages: Iterable[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return [item for page in pages for item in page.get(name, ())]


def _size(count: int) -> str:
    """Format a number of bytes, such as "1.5 MB"."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return ""
