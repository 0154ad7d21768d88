"""`StackKey`: one record for a stack, by which what a killed deployment created is found again. Internal."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.dynamic import Resource
from pulumi.runtime.settings import get_engine

from pulumi_vertex_training import urns
from pulumi_vertex_training.core.running.hidden_input import KEY_INPUT
from pulumi_vertex_training.program.resource import ProviderReference, with_outputs
from pulumi_vertex_training.program.undeclared import Keyed, follow

RESOURCE_NAME = "vertex-training"
_DIGITS = 8


class StackKey(Resource, module="stackKey", name="StackKey"):
    """A random id of the stack. It is in the state before anything else of this package is created."""

    key: pulumi.Output[str | None]

    def __init__(self) -> None:
        super().__init__(ProviderReference("StackKeyProvider"), RESOURCE_NAME, with_outputs({}, "key"))


@dataclass(kw_only=True)
class _Program:
    """The record that a program declares, if it does, and its resources with keys."""

    record: StackKey | None = None
    declared: list[Keyed] = field(default_factory=list)


_programs: weakref.WeakKeyDictionary[object, _Program] = weakref.WeakKeyDictionary()
"""The program of each engine: with the Automation API a process has several."""


def key_input(
    resource: pulumi.CustomResource,
    kind: str,
    resource_name: str,
    opts: pulumi.ResourceOptions | None,
    *,
    is_kept: bool = False,
) -> dict[str, Any]:
    """Return the input with a resource's key: the stack's, and a hash of name, kind and the ancestors' types.

    The first call in a program declares the record. For the engine, the input depends on nothing, so
    `--target` works without the record; a resource that is created in this way has no key. Nor has one that
    is kept after its deletion (`is_kept`).
    """
    engine = get_engine()
    if engine is None:
        return {}
    program = _programs.setdefault(engine, _Program())
    if program.record is None:
        if is_kept:
            program.declared.append(Keyed(resource=resource))
            return {}
        program.record = StackKey()
        follow(program.record.key, program.declared)
    parent = opts.parent.urn if opts and opts.parent else None
    parts = [_without_dependencies(each) for each in (program.record.key, parent) if each is not None]

    def key(known: Sequence[str | None]) -> str | None:
        stack, *parents = known
        types = [urns.parse(str(urn)).types for urn in parents]
        names = "\0".join([*types, kind, resource_name])
        return f"{stack}-{hashlib.sha256(names.encode()).hexdigest()[:_DIGITS]}" if stack else None

    found: pulumi.Output[str | None] = pulumi.Output.all(*parts).apply(key)
    program.declared.append(Keyed(resource=resource, key=found))
    return {} if is_kept else {KEY_INPUT: found}


def _without_dependencies(of: pulumi.Output[Any]) -> pulumi.Output[Any]:
    """Return the same value as an output that makes the engine wait for no resource."""
    return pulumi.Output(set(), of.future(), of.is_known())
