"""Tell the check of a resource what only the program can ask for: who has its id.

A preview of a new resource asks its provider for nothing but a check, on one thread. So the program looks ids
up, all at the same time and for a short time only; without an answer, the creation reports a taken id.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.autonaming import derived_name
from pulumi_vertex_training.core.connection import endpoint_for_lookups
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.core.state.hidden_input import FOUND
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.program.preview.lookups import program_lookups
from pulumi_vertex_training.program.resource import stack_settings

Labels = Mapping[str, str]


def conflict_inputs(
    resource_name: str,
    opts: pulumi.ResourceOptions | None,
    inputs: Mapping[str, Any],
    field: str,
    labels_of: Callable[[Endpoint, str], Labels],
    *,
    is_global: bool = False,
) -> dict[str, Any]:
    """Return the input for `core.identity.conflicts`, {} in a deployment and where a taken id is no conflict.

    `field` is the input with the id. `labels_of` fetches the resource of an id and returns its labels; it
    raises a CloudError without such a resource. A derived id that `is_global` contains the project.
    """
    deletes_first = opts is not None and bool(opts.delete_before_replace)
    looked_up = pulumi.runtime.is_dry_run() and engine_address() is not None
    if not looked_up or deletes_first or inputs.get("adopt"):
        return {}
    facts = {name: inputs.get(name) for name in ("endpoint", "project", "location", field)}

    async def look_up(known: Mapping[str, Any]) -> dict[str, Any] | None:
        target = Target(known["endpoint"], str(known["project"]), str(known["location"]))
        id_ = known[field]
        if id_ is None:
            project = target.project if is_global else ""
            id_ = derived_name(project, pulumi.get_project(), pulumi.get_stack(), resource_name)
        if not isinstance(id_, str):
            return None
        settings = stack_settings()
        found = await asyncio.to_thread(
            program_lookups().ask,
            target,
            functools.partial(endpoint_for_lookups, target, settings),
            {(field, id_): lambda endpoint: labels_of(endpoint, id_)},
            seconds=settings.lookup_seconds,
        )
        return next(({"id": id_, "labels": dict(labels)} for labels in found.values()), None)

    return {FOUND: pulumi.Output.all(**facts).apply(look_up)}
