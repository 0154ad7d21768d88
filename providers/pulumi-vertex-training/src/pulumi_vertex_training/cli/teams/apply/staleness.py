"""Reasons why a saved plan no longer applies: another configuration, state, program, or another preview.

The preview is made again and compared with the saved one. The engine compares as well (`pulumi up --plan`),
but not the configuration, it accepts less than what was planned, and its messages show values of secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pulumi_vertex_training import urns
from pulumi_vertex_training.cli.teams.plan.plan import STACK_KEY, is_hidden, shown
from pulumi_vertex_training.cli.teams.plan.saved_plan import PlannedChange, SavedPlan
from pulumi_vertex_training.core.state.entries import PROVIDER_TYPE
from pulumi_vertex_training.core.state.hidden_input import HIDDEN_INPUT
from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN, SECRET, SIGNATURE
from pulumi_vertex_training.package import stack_key
from vertex_training.fields.document import nested

What = Literal["configuration", "state", "plan", "program"]

_SETS = ("dependencies", "propertyDependencies", "aliases", "ignoreChanges", "additionalSecretOutputs")
"""Lists of the engine whose order differs from run to run."""
_NOTHING = PlannedChange(effect="none")
_MOST_FILES = 5


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A reason why a plan no longer applies; `resource` is the name of a resource, or ""."""

    what: What
    message: str
    resource: str = ""


def reasons(saved: SavedPlan, now: SavedPlan) -> tuple[Reason, ...]:
    """Return why the saved plan differs from the present one; () if it still applies.

    A secret is equal to any other secret here: the engine compares their values.
    """
    configuration = tuple(_of_configuration(saved, now))
    # Providers have the configuration as their inputs.
    found = (*configuration, *_of_resources(saved, now, with_providers=not configuration))
    return found or tuple(_of_program(saved, now))


def _of_configuration(saved: SavedPlan, now: SavedPlan) -> Iterator[Reason]:
    old, new = saved.configuration, now.configuration
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if _is_secure(before) or _is_secure(after):
            message = f"{key} was set again; it is a secret"
        else:
            message = f"{key}: {shown(before)} -> {shown(after)}"
        yield Reason(what="configuration", message=message)


def _is_secure(value: object) -> bool:
    """Return whether a value of the configuration is encrypted, or has a part that is."""
    if isinstance(value, Mapping):
        return "secure" in value or any(map(_is_secure, value.values()))
    return isinstance(value, str) and '"secure"' in value


def _of_resources(saved: SavedPlan, now: SavedPlan, *, with_providers: bool) -> Iterator[Reason]:
    """Yield a reason for each resource that differs.

    The stack, providers and the stack's key, which no program declares, differ after any deployment: they are
    reasons only if nothing else is one.
    """
    every = sorted(
        {*saved.resources, *now.resources, *saved.recorded, *now.recorded},
        key=lambda urn: (_is_internal(urn), urn),
    )
    is_explained = not with_providers
    for urn in every:
        if _is_internal(urn) and is_explained:
            return
        name, old, new = urns.parse(urn).name, saved.recorded.get(urn), now.recorded.get(urn)
        if old != new:
            is_explained = True
            yield Reason(what="state", message=_of_state(old, new), resource=name)
        elif _planned(urn, saved) != _planned(urn, now):
            is_explained = True
            yield Reason(what="plan", message=_of_plan(urn, saved, now), resource=name)


def _planned(urn: str, plan: SavedPlan) -> Any:
    """Return what is planned for a resource. The key of a new stack differs from preview to preview."""
    found = plan.resources.get(urn)
    if urns.parse(urn).type == PROVIDER_TYPE:
        adds = {
            name: value
            for name, value in nested(_goal(found), "inputDiff", "adds").items()
            if name != stack_key.INPUT
        }
        return adds, nested(_goal(found), "inputDiff", "updates")
    return _comparable(found)


def _is_internal(urn: str) -> bool:
    return urns.parse(urn).type == STACK_KEY or is_hidden({"urn": urn})


def _of_state(old: str | None, new: str | None) -> str:
    if old is None:
        return "it was created after the plan was saved"
    if new is None:
        return "it was removed from the stack after the plan was saved"
    return "it was deployed, replaced or refreshed after the plan was saved"


def _of_plan(urn: str, saved: SavedPlan, now: SavedPlan) -> str:
    planned, present = saved.changes.get(urn, _NOTHING), now.changes.get(urn, _NOTHING)
    if planned.effect != present.effect:
        return f"planned: {planned}; now: {present}"
    names = ", ".join(_differing(saved.resources.get(urn), now.resources.get(urn)))
    words = f"; now: {present}" if present.words else ""
    return f"another value than in the plan{f': {names}' if names else ''}{words}"


def _differing(old: object, new: object) -> list[str]:
    """Return the names of the inputs, or of the resource options, that differ between two goals."""
    before, after = _goal(old), _goal(new)
    inputs = {
        str(name)
        for part in ("adds", "updates")
        for name in {**nested(before, "inputDiff", part), **nested(after, "inputDiff", part)}
        if nested(before, "inputDiff", part).get(name) != nested(after, "inputDiff", part).get(name)
    }
    options = {
        name for name in {*before, *after} if name != "inputDiff" and before.get(name) != after.get(name)
    }
    return sorted(name for name in inputs if not name.startswith("__")) or sorted(inputs or options)


def _goal(plan: object) -> Mapping[str, Any]:
    goal = plan.get("goal") if isinstance(plan, Mapping) else None
    comparable = _comparable(goal)
    return comparable if isinstance(comparable, Mapping) else {}


def _comparable(value: object) -> Any:
    """Return a part of the engine's plan without what differs from preview to preview.

    That is the random seed, the identity of a new job, which is made of it, and the ciphertext of secrets.
    """
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return {SIGNATURE: SECRET}
        return {
            key: _sorted(item) if key in _SETS else _comparable(_without_identity(key, item))
            for key, item in value.items()
            if key != "seed"
        }
    return [_comparable(item) for item in value] if isinstance(value, list) else value


def _without_identity(key: str, value: object) -> Any:
    if key != HIDDEN_INPUT or not isinstance(value, Mapping):
        return value
    return {name: item for name, item in value.items() if name != "identity"}


def _sorted(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(item) for key, item in value.items()}
    return sorted(value, key=str) if isinstance(value, list) else value


def _of_program(saved: SavedPlan, now: SavedPlan) -> Iterator[Reason]:
    """Yield changed files of the program, if the plan has values that only the program can tell later."""
    changed = sorted(
        path for path in {*saved.program, *now.program} if saved.program.get(path) != now.program.get(path)
    )
    if not changed:
        return
    open_values = sorted(
        f"{urns.parse(urn).name}: {name}"
        for urn, plan in saved.resources.items()
        for name in _unknown_inputs(_goal(plan))
    )
    if open_values:
        files = ", ".join(changed[:_MOST_FILES]) + (" ..." if len(changed) > _MOST_FILES else "")
        values = ", ".join(open_values[:_MOST_FILES]) + (" ..." if len(open_values) > _MOST_FILES else "")
        yield Reason(
            what="program",
            message=f"{files} changed, and the plan does not know yet what it makes of {values}",
        )


def _unknown_inputs(goal: Mapping[str, Any]) -> Iterator[str]:
    for part in ("adds", "updates"):
        for name, value in nested(goal, "inputDiff", part).items():
            if not str(name).startswith("__") and _has_unknown(value):
                yield str(name)


def _has_unknown(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_unknown, value.values()))
    return any(map(_has_unknown, value)) if isinstance(value, list) else value == ENGINES_UNKNOWN


def has_secret(saved: SavedPlan) -> bool:
    """Return whether the plan sets a secret, whose value only the engine can compare."""
    return any(_holds_secret((plan.get("goal") or {}).get("inputDiff")) for plan in saved.resources.values())


def _holds_secret(value: object) -> bool:
    if isinstance(value, Mapping):
        return value.get(SIGNATURE) == SECRET or any(map(_holds_secret, value.values()))
    return any(map(_holds_secret, value)) if isinstance(value, list) else False
