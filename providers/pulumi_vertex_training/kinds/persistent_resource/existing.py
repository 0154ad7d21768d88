"""`get_persistent_resource`: existing machines that jobs can run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi_vertex_training.kinds.persistent_resource import gateway
from pulumi_vertex_training.kinds.persistent_resource.spec import from_wire
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import read_existing
from vertex_training.topology.rules.resource_pools import ResourcePool


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


@checked_call
def get_persistent_resource(
    persistent_resource_id: str, *, project: str | None = None, location: str | None = None
) -> ExistingPersistentResource:
    """Return an existing persistent resource of the stack's endpoint. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such resource.

    :param persistent_resource_id: Id, the last part of its name.
    :param project: Project id. Default: the stack's project.
    :param location: Region. Default: the stack's location.
    """
    record = read_existing(
        f"persistent resource {persistent_resource_id}",
        lambda endpoint: gateway.get(
            endpoint, f"{endpoint.parent}/persistentResources/{persistent_resource_id}"
        ),
        project=project,
        location=location,
    )
    return ExistingPersistentResource(
        name=record.name,
        persistent_resource_id=record.resource_id,
        state=record.state.name,
        error=record.error,
        resource_pools=tuple(from_wire(record.wire).resource_pools),
        labels=record.labels,
    )
