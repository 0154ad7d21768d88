"""Read the output of `pulumi stack export`: the entries of a state, and which runs they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pulumi_vertex_training import registry, urns
from pulumi_vertex_training.core.settings import Form
from pulumi_vertex_training.core.state.hidden_input import recorded_identity, recorded_key

CREATING = "creating"
PROVIDER_TYPE = f"pulumi:providers:{registry.PACKAGE}"
"""The type of the providers of the package."""
_DYNAMIC = frozenset(map(registry.type_token, (*registry.RESOURCES, "StackKey")))


@dataclass(frozen=True, kw_only=True)
class StackState:
    """The runs that a stack's state has.

    `ids` are the ids of all its resources, also of replaced ones that are not deleted yet. `identities` are
    the identities of the runs that its resources have. `begun` has, by URN, the identities in the inputs of
    creations that a deployment began: the present one, or one that was killed. `recorded` has, by URN, the
    key of the last run: of a resource that exists, or is deleted and not replaced yet.
    """

    ids: frozenset[str] = frozenset()
    identities: frozenset[str] = frozenset()
    begun: Mapping[str, frozenset[str]] = field(default_factory=dict)
    recorded: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A resource of a state, or of a pending operation: then `operation` is its type, such as `creating`."""

    resource: Mapping[str, Any]
    operation: str = ""


def read(state: Mapping[str, Any], urn: str) -> StackState:
    """Return the runs in the exported state of the stack that has the resource `urn`.

    Raises ValueError if it is the state of another stack, or if no entry shows which stack's it is: while a
    stack is deployed, its state has entries.
    """
    require_stack_of(urn, state)
    found = list(entries(deployment_of(state)))
    if not found:
        raise ValueError(f"it has no resources, so it may not be the state of {_stack(urn)}")
    resources = [entry.resource for entry in found if not entry.operation]
    begun: dict[str, set[str]] = {}
    for entry in found:
        if entry.operation == CREATING and (identity := _identity(entry.resource, ("inputs",))):
            begun.setdefault(str(entry.resource.get("urn")), set()).add(identity)
    identities = (_identity(resource, ("outputs", "inputs")) for resource in resources)
    return StackState(
        ids=frozenset(id_ for resource in resources if isinstance(id_ := resource.get("id"), str) and id_),
        identities=frozenset(filter(None, identities)),
        begun=MappingProxyType({name: frozenset(each) for name, each in begun.items()}),
        recorded=MappingProxyType(dict(_recorded(resources))),
    )


def _recorded(resources: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the URN and the run of each job, without those that a replacement has followed already."""
    for resource in resources:
        outputs = resource.get("outputs")
        key = recorded_key(outputs) if isinstance(outputs, Mapping) else None
        if key and not resource.get("delete"):
            yield str(resource.get("urn")), key


def deployment_of(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `deployment` of an export or `checkpoint.latest` of a checkpoint, {} if never deployed.

    Raises ValueError for anything else: an unreadable state must not pass for an empty one.
    """
    if "deployment" in state:
        found = state["deployment"]
    else:
        checkpoint = state.get("checkpoint")
        if not isinstance(checkpoint, Mapping):
            raise ValueError("it has neither `deployment` nor `checkpoint`")
        found = checkpoint.get("latest")
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not isinstance(found.get("resources") or [], list):
        raise ValueError("its resources cannot be read")
    return found


def entries(deployment: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield every resource of a state, then of its pending operations."""
    for resource in deployment.get("resources") or []:
        if isinstance(resource, Mapping):
            yield Entry(resource=resource)
    for operation in deployment.get("pending_operations") or []:
        if isinstance(operation, Mapping) and isinstance(operation.get("resource"), Mapping):
            yield Entry(resource=operation["resource"], operation=str(operation.get("type")))


def forms(deployment: Mapping[str, Any]) -> frozenset[Form]:
    """Return the forms that the resources of a state have.

    A creation that was interrupted counts as long as the state has its provider: its job may be live. In a
    destroyed stack it stays too, and counts no more.
    """
    found: set[Form] = set()
    has_provider = any(
        one.resource.get("type") == PROVIDER_TYPE for one in entries(deployment) if not one.operation
    )
    for entry in entries(deployment):
        if entry.resource.get("type") in _DYNAMIC and not entry.operation:
            found.add("dynamic")
        elif has_provider and f"::{PROVIDER_TYPE}::" in str(entry.resource.get("provider")):
            found.add("package")
    return frozenset(found)


def require_stack_of(urn: str, state: Mapping[str, Any]) -> None:
    """Raise ValueError if an exported state has resources of another stack than `urn`'s."""
    wanted = _stack(urn)
    stacks = {_stack(str(entry.resource.get("urn"))) for entry in entries(deployment_of(state))}
    if others := sorted(stacks - {wanted}):
        raise ValueError(f"it is the state of {others[0]}, not of {wanted}")


def _stack(urn: str) -> str:
    parts = urns.parse(urn)
    return f"{parts.project}/{parts.stack}"


def _identity(resource: Mapping[str, Any], parts: Iterable[str]) -> str | None:
    """Return the identity in the first of these properties of a resource that has one."""
    properties = (resource.get(part) for part in parts)
    found = (recorded_identity(each) for each in properties if isinstance(each, Mapping))
    return next(filter(None, found), None)
