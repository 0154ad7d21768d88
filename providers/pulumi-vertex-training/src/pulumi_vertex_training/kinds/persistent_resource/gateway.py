"""Calls to persistent resources of Vertex AI, in the JSON of the API (lowerCamelCase keys).

Creation, update, reboot and deletion take minutes; the functions only start them. To wait, poll the state of
the resource. All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.core.waiting import Readiness
from pulumi_vertex_training.runs.persistent import PersistentKind, PersistentRecord
from vertex_training.fields.labels import OWNERSHIP_LABELS
from vertex_training.fields.schema import camel_case

_PAGE_SIZE = 100


class ResourceState(enum.Enum):
    """The states of a persistent resource, with the names and numbers of the API."""

    STATE_UNSPECIFIED = 0
    PROVISIONING = 1
    RUNNING = 3
    STOPPING = 4
    ERROR = 5
    REBOOTING = 6
    UPDATING = 7

    @property
    def is_terminal(self) -> bool:
        """True if the resource does not become ready without a further operation."""
        return self in (ResourceState.ERROR, ResourceState.STOPPING)

    @property
    def word(self) -> str:
        """The state for messages, such as "RUNNING"."""
        return self.name


@dataclass(frozen=True, kw_only=True)
class ResourceRecord:
    """A persistent resource as the service reports it. Times are RFC 3339 strings, None before the event.

    `name` is the full name, with the project's number; `error` is the service's message; `wire` is the whole
    resource as JSON.
    """

    name: str
    state: ResourceState
    error: str | None = None
    create_time: str | None = None
    start_time: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def resource_id(self) -> str:
        """The id, the last part of the name."""
        return self.name.rpartition("/")[2]


def create(endpoint: Endpoint, resource_id: str, wire: Mapping[str, Any]) -> rest.Json:
    """Start the creation of a resource, and return the operation. The call is never retried.

    Raises AlreadyExists, and Unavailable if the creation may or may not have started.
    """
    return rest.create(
        endpoint,
        f"{endpoint.vertex_url}/v1/{endpoint.parent}/persistentResources",
        action=f"create persistent resource {resource_id}",
        query={"persistentResourceId": resource_id},
        body=wire,
        if_lost="It may have been created anyway.",
        if_denied=f"Check that {endpoint.project} is the right project and that the account has the role "
        "roles/aiplatform.user in it.",
    )


def get(endpoint: Endpoint, name: str) -> ResourceRecord:
    """Fetch a resource by its full name. Raises NotFound."""
    with translated(endpoint, f"read persistent resource {_short(name)}", if_missing=_LIST_THEM):
        return from_wire(rest.call(endpoint, "GET", f"{endpoint.vertex_url}/v1/{name}"))


def labels_of(endpoint: Endpoint, resource_id: str) -> Mapping[str, str]:
    """Return the labels of a resource. Raises NotFound."""
    return get(endpoint, f"{endpoint.parent}/persistentResources/{quote(resource_id, safe='')}").labels


def list_labelled(endpoint: Endpoint, label: str) -> list[ResourceRecord]:
    """List the resources of the endpoint's project and location that have a label with this key.

    The filter is applied here: the service has none.
    """
    address = f"{endpoint.vertex_url}/v1/{endpoint.parent}/persistentResources"
    with translated(endpoint, "list the persistent resources"):
        pages = rest.pages(endpoint, address, query={"pageSize": _PAGE_SIZE})
        found = [from_wire(one) for page in pages for one in page.get("persistentResources", [])]
    return [record for record in found if label in record.labels]


def patch(endpoint: Endpoint, name: str, wire: Mapping[str, Any], *, mask: Collection[str]) -> rest.Json:
    """Start an update of the fields of `wire` in `mask`, given in snake case. Return the operation.

    Raises NotFound, and FailedPrecondition if the resource is not running.
    """
    paths = ",".join(".".join(map(camel_case, path.split("."))) for path in mask)
    with translated(endpoint, f"update persistent resource {_short(name)}", if_missing=_LIST_THEM):
        return rest.call(
            endpoint,
            "PATCH",
            f"{endpoint.vertex_url}/v1/{name}",
            query={"updateMask": paths},
            body={**wire, "name": name},
            # The retry of an update that was accepted is refused while that update runs.
            idempotent=False,
        )


def reboot(endpoint: Endpoint, name: str) -> rest.Json:
    """Start a reboot of all machines, and return the operation. The call is never retried.

    Raises NotFound, and FailedPrecondition while jobs run on the resource.
    """
    with translated(endpoint, f"reboot persistent resource {_short(name)}", if_missing=_LIST_THEM):
        return rest.call(
            endpoint, "POST", f"{endpoint.vertex_url}/v1/{name}:reboot", body={}, idempotent=False
        )


def delete(endpoint: Endpoint, name: str) -> rest.Json:
    """Start the deletion of a resource, and return the operation. Its jobs are cancelled. Raises NotFound."""
    with translated(endpoint, f"delete persistent resource {_short(name)}"):
        return rest.call(endpoint, "DELETE", f"{endpoint.vertex_url}/v1/{name}")


def from_wire(wire: Mapping[str, Any]) -> ResourceRecord:
    """Return the record of a PersistentResource in the API's JSON."""
    error = wire.get("error") or {}
    return ResourceRecord(
        name=str(wire.get("name", "")),
        state=_state(wire.get("state")),
        error=str(error["message"]) if error.get("message") else None,
        create_time=wire.get("createTime"),
        start_time=wire.get("startTime"),
        labels=dict(wire.get("labels", {})),
        wire=dict(wire),
    )


_LIST_THEM = "`gcloud ai persistent-resources list` lists them."


def _state(value: object) -> ResourceState:
    """Return the state. A state that this version does not know is STATE_UNSPECIFIED."""
    if isinstance(value, str):
        return ResourceState.__members__.get(value, ResourceState.STATE_UNSPECIFIED)
    return ResourceState.STATE_UNSPECIFIED


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _persistent(record: ResourceRecord) -> PersistentRecord:
    used = sum(int(pool.get("usedReplicaCount", 0)) for pool in record.wire.get("resourcePools", ()))
    return PersistentRecord(
        name=record.name,
        display_name=str(record.wire.get("displayName", "")),
        state=record.state.word,
        create_time=record.create_time,
        labels=record.labels,
        # The service does not refuse the deletion: it cancels the jobs of all users.
        obstacle=f"jobs on it use {used} of its machines and would be cancelled with it. Stop them first"
        if used
        else "",
    )


PERSISTENT = PersistentKind(
    noun="persistent resource",
    labelled=lambda endpoint: [_persistent(one) for one in list_labelled(endpoint, OWNERSHIP_LABELS[0])],
    get=lambda endpoint, name: _persistent(get(endpoint, name)),
    delete=delete,
)


def _failure(record: ResourceRecord) -> str:
    if record.state is ResourceState.STOPPING:
        return "is being deleted. Run `pulumi refresh` when it is gone"
    if record.state is ResourceState.ERROR:
        return f"failed: {record.error or 'the service gives no reason'}"
    return ""


def _line(record: ResourceRecord) -> str:
    """Return the row's text, such as `updating: n1-standard-4 2, of which 1 in use`."""
    pools = [
        f"{pool.get('id')} {pool.get('replicaCount', 0)}, of which {pool.get('usedReplicaCount', 0)} in use"
        for pool in record.wire.get("resourcePools", ())
    ]
    return f"{record.state.word.lower()}: {'; '.join(pools)}"


READINESS = Readiness(
    noun="persistent resource",
    get=get,
    is_ready=lambda record: record.state is ResourceState.RUNNING,
    failure=_failure,
    line=_line,
)
