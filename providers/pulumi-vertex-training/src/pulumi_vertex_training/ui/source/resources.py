"""Models, persistent resources, training pipelines and schedules, a page of each list at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import from_wire
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.ui.source.owner import Owner, owner_of
from pulumi_vertex_training.views.study_view import job_key

SHOWN = 100
"""Resources of one page."""

_SCHEDULER = "cloudscheduler.googleapis.com"
_OWNER_HEADER = "X-Vertex-Training-Owner"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A resource. `key` is unique on the page; `job` is the key of a job's page, "" for other resources."""

    key: str
    name: str
    id: str
    state: str
    details: str
    owner: Owner
    created: str
    job: str = ""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A page of one kind; `more` is the token of the next page. `trouble` says why it could not be read."""

    rows: tuple[Row, ...] = ()
    more: str = ""
    trouble: str = ""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of resource: its title, the part of its address, its field in the API, and its class."""

    path: str
    title: str
    collection: str
    declared_by: str


KINDS = (
    Kind(path="models", title="Models", collection="models", declared_by="Model"),
    Kind(
        path="persistent-resources",
        title="Persistent resources",
        collection="persistentResources",
        declared_by="PersistentResource",
    ),
    Kind(
        path="pipelines",
        title="Training pipelines",
        collection="trainingPipelines",
        declared_by="TrainingPipeline",
    ),
    Kind(path="schedules", title="Schedules", collection="jobs", declared_by="TrainingSchedule"),
)


@dataclass(frozen=True, kw_only=True)
class Resources:
    """The first page of every kind, by the kind's path."""

    endpoint: Endpoint
    lists: Mapping[str, Listed]


def read(endpoint: Endpoint) -> Resources:
    """Return the first page of every kind. A kind that cannot be read says why."""
    return Resources(endpoint=endpoint, lists={kind.path: _or_trouble(endpoint, kind) for kind in KINDS})


def page(endpoint: Endpoint, kind: Kind, token: str) -> Listed:
    """Return a page of one kind, the first with the token "". Raises CloudError."""
    host = endpoint.service_url(_SCHEDULER) if kind.path == "schedules" else endpoint.vertex_url
    with translated(endpoint, f"list the {kind.title.lower()}"):
        answer = rest.call(
            endpoint,
            "GET",
            f"{host}/v1/{endpoint.parent}/{kind.collection}",
            query={"pageSize": SHOWN, "pageToken": token or None},
        )
    make = {
        "models": _model,
        "persistent-resources": _persistent_resource,
        "pipelines": _pipeline,
        "schedules": _schedule,
    }[kind.path]
    return Listed(
        rows=tuple(make(kind, wire) for wire in answer.get(kind.collection, ())),
        more=str(answer.get("nextPageToken") or ""),
    )


def _or_trouble(endpoint: Endpoint, kind: Kind) -> Listed:
    try:
        return page(endpoint, kind, "")
    except CloudError as error:
        if endpoint.is_emulator:
            raise
        # On Google Cloud, a service may be disabled, or a permission missing, while others answer.
        return Listed(trouble=str(error))


def _row(kind: Kind, wire: Mapping[str, Any], *, state: str, details: str, owner: Owner) -> Row:
    name = str(wire.get("name", ""))
    short = name.rpartition("/")[2]
    return Row(
        key=f"{kind.path}/{short}",
        name=str(wire.get("displayName") or short),
        id=short,
        state=state,
        details=details,
        owner=owner,
        created=str(wire.get("createTime") or ""),
    )


def _model(kind: Kind, wire: Mapping[str, Any]) -> Row:
    version = str(wire.get("versionId") or "")
    aliases = ", ".join(str(one) for one in wire.get("versionAliases") or ())
    words = [f"version {version}" + (f" ({aliases})" if aliases else "") if version else ""]
    words.append(str(wire.get("artifactUri") or ""))
    details = ", ".join(filter(None, words))
    return _row(kind, wire, state="", details=details, owner=owner_of(wire.get("labels") or {}))


def _persistent_resource(kind: Kind, wire: Mapping[str, Any]) -> Row:
    pools = ", ".join(_pool(pool) for pool in wire.get("resourcePools") or ())
    error = str((wire.get("error") or {}).get("message") or "")
    return _row(
        kind,
        wire,
        state=str(wire.get("state") or ""),
        details=f"{pools}: {error}" if error else pools,
        owner=owner_of(wire.get("labels") or {}),
    )


def _pool(pool: Mapping[str, Any]) -> str:
    scaling: Mapping[str, Any] = pool.get("autoscalingSpec") or {}
    machine: Mapping[str, Any] = pool.get("machineSpec") or {}
    accelerators = int(machine.get("acceleratorCount") or 0)
    used, count = pool.get("usedReplicaCount"), pool.get("replicaCount")
    most, least = scaling.get("maxReplicaCount"), scaling.get("minReplicaCount")
    number = f"{least or '?'} to {most}" if most else str(count or "?")
    words = f"{number} x {machine.get('machineType', '?')}"
    if accelerators:
        words += f" with {accelerators} x {machine.get('acceleratorType', '?')}"
    return f"{words}, {used} in use" if used else words


def _pipeline(kind: Kind, wire: Mapping[str, Any]) -> Row:
    record = from_wire(wire)
    model = str((wire.get("modelToUpload") or {}).get("displayName") or "")
    error = record.error.message if record.error is not None else ""
    found = _row(
        kind,
        wire,
        state=record.state.word,
        details=", ".join(filter(None, (f"model {model}" if model else "", error))),
        owner=owner_of(record.labels),
    )
    return replace(found, job=job_key(record.name))


def _schedule(kind: Kind, wire: Mapping[str, Any]) -> Row:
    words = [str(wire.get("schedule") or ""), str(wire.get("timeZone") or "")]
    due, last = str(wire.get("scheduleTime") or ""), str(wire.get("lastAttemptTime") or "")
    if last:
        words.append(f"last run {last[:19].replace('T', ' ')} UTC")
    if due:
        words.append(f"next run {due[:19].replace('T', ' ')} UTC")
    headers: Mapping[str, Any] = (wire.get("httpTarget") or {}).get("headers") or {}
    return _row(
        kind,
        wire,
        state=str(wire.get("state") or ""),
        details=", ".join(filter(None, words)),
        owner=_owner(str(headers.get(_OWNER_HEADER) or "")),
    )


def _owner(text: str) -> Owner:
    """Return the owner in the header of a schedule: project/stack/resource."""
    project, _, rest_of = text.partition("/")
    stack, _, resource = rest_of.partition("/")
    return Owner(project=project, stack=stack, resource=resource)
