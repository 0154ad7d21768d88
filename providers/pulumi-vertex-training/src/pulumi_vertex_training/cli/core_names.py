"""The resources of a state, a preview or a refresh, in both forms, with the names that the core has.

Dynamic resources have these names. Those of the package have camelCase names and a few hidden properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training import urns
from vertex_training import type_tokens
from vertex_training.fields.schema import snake_case

if TYPE_CHECKING:
    from pulumi_vertex_training.package.kinds import PackageKind


def in_core_names(resource: Mapping[str, Any], token: str = "") -> Mapping[str, Any]:
    """Return a resource of a state with the core's names; one of another package or version as it is.

    `token` is its type, needed if the resource does not have it.
    """
    kind = _kind_of(token or str(resource.get("type") or ""))
    if kind is None:
        return resource
    parts = {
        name: _inward(kind, part)
        for name in ("inputs", "outputs")
        if isinstance(part := resource.get(name), Mapping)
    }
    return {**resource, **parts}


def _inward(kind: PackageKind, props: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties with the core's names; those in an encrypted secret stay as they are."""
    from pulumi_vertex_training.package.wire.names import EncryptedError  # imported only if needed

    found: dict[str, Any] = {}
    for name, value in props.items():
        try:
            found |= kind.inward({name: value})
        except EncryptedError:
            found[snake_case(name)] = value
    return found


def step_in_core_names(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a step of a preview with the core's names on both sides, and in what it reports as changed."""
    token = urns.parse(str(step.get("urn"))).type
    kind = _kind_of(token)
    if kind is None:
        return step
    from pulumi_vertex_training.package.wire.names import text_inward  # imported only if needed

    found = dict(step)
    for side in ("oldState", "newState"):
        if isinstance(state := step.get(side), Mapping):
            found[side] = in_core_names(state, token)
    for reported in ("replaceReasons", "diffReasons"):
        if isinstance(names := step.get(reported), list):
            found[reported] = [text_inward(str(name), kind.inputs) for name in names]
    if isinstance(changes := step.get("detailedDiff"), Mapping):
        found["detailedDiff"] = {text_inward(path, kind.inputs): one for path, one in changes.items()}
    return found


def _kind_of(token: str) -> PackageKind | None:
    """Return the kind of a type token of the package, None for any other token."""
    if not token.startswith(f"{type_tokens.PACKAGE}:"):
        return None
    from pulumi_vertex_training.package.kinds import kind_of  # imported only if needed

    try:
        return kind_of(token)
    except KeyError:  # of another version
        return None
