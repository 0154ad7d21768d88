"""The stack's key in the package: an input of the provider resource, which the engine saves before any other.

A default provider is another resource after an upgrade, because its name has the version. It takes the key of
any provider of the package that the state has: else what a deployment of the older version left behind would
not be found. The first key of a stack follows from the process of the engine: the new providers of one
deployment have the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pulumi_vertex_training import engine_command, urns
from pulumi_vertex_training.core.identity import stack_key
from pulumi_vertex_training.core.state import running_stack
from pulumi_vertex_training.core.state.entries import (
    PROVIDER_TYPE,
    deployment_of,
    entries,
    forms,
    require_stack_of,
)
from pulumi_vertex_training.engine_command import EngineCommand
from pulumi_vertex_training.timeouts import Timeouts

INPUT = "stackKey"


def chosen(
    urn: str,
    olds: Mapping[str, Any],
    timeouts: Timeouts,
    *,
    find: Callable[[Timeouts], EngineCommand | None] = engine_command.find,
) -> tuple[str, bool]:
    """Return the key of a provider, and whether it is new. `find` returns the command that deploys.

    Raises StateUnavailableError if the state has to be asked and cannot be, and OtherFormError for one of
    dynamic resources.
    """
    if recorded := olds.get(INPUT):
        return str(recorded), False
    if recorded := running_stack.export(urn, timeouts, lambda state: of_state(state, urn)):
        return recorded, False
    running = find(timeouts)
    if planned := _planned(urn, running):
        return planned, False
    return first(urn, running), True


def _planned(urn: str, running: EngineCommand | None) -> str:
    """Return the key that a provider has in the update plan of the deployment, "" without a plan.

    The engine refuses a provider with another key.
    """
    file = running.plan_file if running else None
    try:
        resource = json.loads(file.read_text(encoding="utf-8"))["resourcePlans"][urn] if file else {}
        return str(resource["goal"]["inputDiff"]["adds"][INPUT]) if resource else ""
    except (OSError, ValueError, LookupError, TypeError):
        return ""  # The engine says what is wrong with its plan.


def first(urn: str, running: EngineCommand | None) -> str:
    """Return the first key of the stack of a provider, the same for each provider of one command.

    It is random if the command is not known.
    """
    parts = urns.parse(urn)
    identity = running.identity if running else ""
    return stack_key.new("\n".join((identity, parts.project, parts.stack)) if identity else "")


def of_state(state: Mapping[str, Any], urn: str) -> str:
    """Return the key that the oldest provider of the package has, "" without one.

    Raises ValueError for the state of another stack.
    """
    require_stack_of(urn, state)
    deployment = deployment_of(state)
    if "dynamic" in forms(deployment):
        raise stack_key.OtherFormError("package")
    resources = [entry.resource for entry in entries(deployment) if not entry.operation]
    keys = [
        (str(resource.get("created")), str(key))
        for resource in resources
        if resource.get("type") == PROVIDER_TYPE and (key := (resource.get("inputs") or {}).get(INPUT))
    ]
    return min(keys)[1] if keys else ""
