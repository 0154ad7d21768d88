"""An existing resource of this kind, as `get_persistent_resource` returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.get_functions import Lookup
from pulumi_vertex_training.kinds.persistent_resource import gateway
from pulumi_vertex_training.kinds.persistent_resource.spec import from_wire
from vertex_training.topology.rules.resource_pools import ResourcePool


@dataclass(frozen=True, kw_only=True)
class PersistentResourceArguments:
    """The arguments of `get_persistent_resource`."""

    persistent_resource_id: str
    project: str | None = None
    location: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExistingPersistentResource:
    """A persistent resource that exists."""

    name: str
    """Full name."""
    persistent_resource_id: str
    """Id, the last part of the name."""
    state: str
    """State, such as RUNNING."""
    error: str | None
    """Error message of the service, None without an error."""
    resource_pools: tuple[ResourcePool, ...] = ()
    """The pools of machines."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels."""


def _read(endpoint: Endpoint, arguments: PersistentResourceArguments) -> ExistingPersistentResource:
    name = f"{endpoint.parent}/persistentResources/{arguments.persistent_resource_id}"
    record = gateway.get(endpoint, name)
    return ExistingPersistentResource(
        name=record.name,
        persistent_resource_id=record.resource_id,
        state=record.state.name,
        error=record.error,
        resource_pools=tuple(from_wire(record.wire).resource_pools),
        labels=record.labels,
    )


LOOKUP = Lookup(
    arguments=PersistentResourceArguments,
    result=ExistingPersistentResource,
    noun="persistent resource",
    read=_read,
)
