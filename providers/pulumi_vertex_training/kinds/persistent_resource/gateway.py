"""Persistent resources of Vertex AI. What goes in and comes out is the API's JSON form (lowerCamelCase keys).

Creation, update, reboot and deletion only begin here: the service takes minutes for them. Whoever waits asks
for the resource's state. All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Internal, Unavailable, UnexpectedAnswer
from pulumi_vertex_training.cloud.retry import was_refused
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.runs.lasting import Lasting, LastingKind
from vertex_training.fields.labels import OWNERSHIP_LABELS
from vertex_training.fields.schema import camel_case

_PAGE_SIZE = 100


class ResourceState(enum.Enum):
    """The states of the service, under the service's names."""

    STATE_UNSPECIFIED = 0
    PROVISIONING = 1
    RUNNING = 3
    STOPPING = 4
    ERROR = 5
    REBOOTING = 6
    UPDATING = 7

    @property
    def is_terminal(self) -> bool:
        """Whether it does not become ready by itself any more."""
        return self in (ResourceState.ERROR, ResourceState.STOPPING)

    @property
    def word(self) -> str:
        """For people, "RUNNING"."""
        return self.name


@dataclass(frozen=True, kw_only=True)
class ResourceRecord:
    """A persistent resource as the service reports it. Times are RFC 3339 strings, None before the event.

    `name` is the full name, with the project's number; `error` is the service's text; `wire` is the whole
    message as JSON.
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
        """The last part of the name."""
        return self.name.rpartition("/")[2]


def create(endpoint: Endpoint, resource_id: str, wire: Mapping[str, Any]) -> rest.Json:
    """Begin to make a resource; the operation, in its JSON form. Never tried twice.

    Raises AlreadyExists, and Unavailable where it is not known whether it was begun.
    """
    action = f"create persistent resource {resource_id}"
    try:
        with translated(endpoint, action, if_denied=_denied(endpoint)):
            return rest.call(
                endpoint,
                "POST",
                f"{endpoint.vertex_url}/v1/{endpoint.parent}/persistentResources",
                query={"persistentResourceId": resource_id},
                body=wire,
                idempotent=False,
            )
    except (Internal, UnexpectedAnswer) as error:
        cause = error.__cause__
        if cause is None or was_refused(cause):
            raise
        raise Unavailable(
            f"{error} It may have been created nevertheless.",
            code=error.code,
            reason=error.reason,
            resource=error.resource,
            endpoint=endpoint,
        ) from cause


def get(endpoint: Endpoint, name: str) -> ResourceRecord:
    """One resource by its full name. Raises NotFound."""
    with translated(endpoint, f"read persistent resource {_short(name)}", if_missing=_LIST_THEM):
        return from_wire(rest.call(endpoint, "GET", f"{endpoint.vertex_url}/v1/{name}"))


def list_labelled(endpoint: Endpoint, label: str) -> list[ResourceRecord]:
    """Those of the endpoint's project and location that carry a label of this name, whatever its value. The
    service has no filter for them.
    """
    address = f"{endpoint.vertex_url}/v1/{endpoint.parent}/persistentResources"
    with translated(endpoint, "list the persistent resources"):
        pages = rest.pages(endpoint, address, query={"pageSize": _PAGE_SIZE})
        found = [from_wire(one) for page in pages for one in page.get("persistentResources", [])]
    return [record for record in found if label in record.labels]


def patch(endpoint: Endpoint, name: str, wire: Mapping[str, Any], *, mask: Collection[str]) -> rest.Json:
    """Begin to set the fields of `wire` that `mask` names, in snake case; the operation. Raises NotFound,
    FailedPrecondition where the resource does not run.
    """
    paths = ",".join(".".join(map(camel_case, path.split("."))) for path in mask)
    with translated(endpoint, f"update persistent resource {_short(name)}", if_missing=_LIST_THEM):
        return rest.call(
            endpoint,
            "PATCH",
            f"{endpoint.vertex_url}/v1/{name}",
            query={"updateMask": paths},
            body={**wire, "name": name},
            # A second try of an update that was carried out is refused while it goes on.
            idempotent=False,
        )


def reboot(endpoint: Endpoint, name: str) -> rest.Json:
    """Begin to restart all machines; the operation. Never tried twice.

    Raises FailedPrecondition while jobs run on it, NotFound.
    """
    with translated(endpoint, f"reboot persistent resource {_short(name)}", if_missing=_LIST_THEM):
        return rest.call(
            endpoint, "POST", f"{endpoint.vertex_url}/v1/{name}:reboot", body={}, idempotent=False
        )


def delete(endpoint: Endpoint, name: str) -> rest.Json:
    """Begin to delete a resource, the jobs on it being cancelled; the operation. Raises NotFound."""
    with translated(endpoint, f"delete persistent resource {_short(name)}"):
        return rest.call(endpoint, "DELETE", f"{endpoint.vertex_url}/v1/{name}")


def from_wire(wire: Mapping[str, Any]) -> ResourceRecord:
    """From the JSON form of a PersistentResource as the service returns it."""
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
    """A state that is newer than this program counts as none."""
    if isinstance(value, str):
        return ResourceState.__members__.get(value, ResourceState.STATE_UNSPECIFIED)
    return ResourceState.STATE_UNSPECIFIED


def _denied(endpoint: Endpoint) -> str:
    return (
        f"Check that {endpoint.project} is the right project and that the account has the role "
        "roles/aiplatform.user in it."
    )


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _labelled(endpoint: Endpoint) -> list[Lasting]:
    return [_lasting(record) for record in list_labelled(endpoint, OWNERSHIP_LABELS[0])]


def _get_lasting(endpoint: Endpoint, name: str) -> Lasting:
    return _lasting(get(endpoint, name))


def _lasting(record: ResourceRecord) -> Lasting:
    used = sum(int(pool.get("usedReplicaCount", 0)) for pool in record.wire.get("resourcePools", ()))
    return Lasting(
        name=record.name,
        display_name=str(record.wire.get("displayName", "")),
        state=record.state.word,
        create_time=record.create_time,
        labels=record.labels,
        # The service would not refuse: it cancels the jobs, whoever's they are.
        obstacle=f"jobs on it use {used} of its machines, and would be cancelled with it: end them first"
        if used
        else "",
    )


LASTING = LastingKind(noun="persistent resource", labelled=_labelled, get=_get_lasting, delete=delete)
