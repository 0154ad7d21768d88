"""The persistent resource that something runs on, as its resource is given it: an id, or the resource itself,
with which a preview checks what runs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.program import checks as arguments
from pulumi_vertex_training.program.task_defaults import field_of, has_fields, with_fields

_ID = "persistent_resource_id"


def on_resource(
    job: str,
    resource_id: PersistentResource | pulumi.Input[str] | None,
    resource: PersistentResource | None,
    *,
    at: str = _ID,
) -> dict[str, Any]:
    """The inputs of the resource `job`, which is given a persistent resource, its id, or both; `at` is where
    the id stands.
    """
    if resource is not None and not isinstance(resource, PersistentResource):
        what = f"persistent_resource is {arguments.shown(resource)}; it must be a PersistentResource of this"
        arguments.require(job, [f"{what} program. Give the id of another one as {at}"])
    given = resource_id.ready if isinstance(resource_id, PersistentResource) else resource_id
    resource = resource_id if resource is None and isinstance(resource_id, PersistentResource) else resource
    if resource is None:
        return {_ID: given}
    same = functools.partial(_the_same, shown=not isinstance(given, pulumi.Output))
    wanted = resource.ready if given is None else pulumi.Output.all(given, resource.ready).apply(same)
    return {_ID: wanted, "persistent_resource": resource.declared}


def part_on_resource(
    job: str, part: Any, resource: PersistentResource | None, *, at: str
) -> tuple[Any, Mapping[str, Any]]:
    """A part that runs, such as a `trial_job_spec`, with the id of the resource that it or `job` is given;
    and the inputs of `job` that it is checked against. `at` is the path of the part.
    """
    if part is None or (resource is None and isinstance(part, pulumi.Output)):
        return part, {}
    is_open = isinstance(part, pulumi.Output)
    if not (is_open or has_fields(part)):
        return part, {}  # the check says what it has to be
    given = None if is_open else field_of(part, _ID)
    if given is None and resource is None:
        return part, {}
    inputs = on_resource(job, given, resource, at=f"{at}.{_ID}")
    chosen = inputs.pop(_ID)
    if is_open:
        return pulumi.Output.all(part, chosen).apply(_put), inputs
    return with_fields(part, {_ID: chosen}), inputs


def _put(known: Sequence[Any]) -> Any:
    part, chosen = known
    if not has_fields(part):
        return part
    given = field_of(part, _ID)
    return with_fields(part, {_ID: chosen if given is None else _the_same([given, chosen], shown=False)})


def _the_same(ids: Sequence[str], *, shown: bool) -> str:
    """The one id that both are; an output may be a secret, and is not `shown`."""
    given, of_resource = ids
    if given != of_resource:
        other = repr(given) if shown else "another one"
        raise pulumi.RunError(
            f"persistent_resource_id is {other}, and persistent_resource is {of_resource!r}; give the "
            "resource alone"
        )
    return of_resource
