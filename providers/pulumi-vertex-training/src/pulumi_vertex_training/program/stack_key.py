"""`StackKey`: one record for a stack, by which what a killed deployment created is found again. Internal."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.dynamic import Resource
from pulumi.runtime.invoke import invoke_async
from pulumi.runtime.settings import get_engine

from pulumi_vertex_training import urns
from pulumi_vertex_training.core.identity.resource_key import (
    STACK_KEY_FUNCTION,
    STACK_KEY_RESULT,
    resource_key,
)
from pulumi_vertex_training.core.state.hidden_input import KEY_INPUT
from pulumi_vertex_training.program import undeclared
from pulumi_vertex_training.program.resource import ProviderReference, stack_settings, with_outputs
from pulumi_vertex_training.program.undeclared import Keyed, follow

RESOURCE_NAME = "vertex-training"


class StackKey(Resource, module="stackKey", name="StackKey"):
    """A random id of the stack. It is in the state before anything else of this package is created."""

    key: pulumi.Output[str | None]

    def __init__(self) -> None:
        super().__init__(ProviderReference("StackKeyProvider"), RESOURCE_NAME, with_outputs({}, "key"))


@dataclass(kw_only=True)
class _Program:
    """The record that a program declares, if it does, and its resources with keys.

    With the package, `keyed` is whether the resources are noted; None before the first one.
    """

    record: StackKey | None = None
    keyed: bool | None = None
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

    The first call in a program declares the record. The input is a future and no output: Pulumi's SDK keeps
    account of each output. So for the engine, the input depends on nothing, and `--target` works without the
    record; a resource that is created in this way has no key. Nor has one that is kept after its deletion
    (`is_kept`).
    """
    engine = get_engine()
    if engine is None:
        return {}
    program = _programs.setdefault(engine, _Program())
    parent = opts.parent if opts else None
    if stack_settings().form == "package":  # The key is an input of the provider.
        if program.keyed is None:
            program.keyed = follow(_of_plugin, program.declared)
        if program.keyed:
            key = asyncio.ensure_future(_key(_of_plugin, parent, kind, resource_name))
            program.declared.append(Keyed(resource=resource, key=key))
        return {}
    if program.record is None:
        if is_kept:
            program.declared.append(Keyed(resource=resource))
            return {}
        program.record = StackKey()
        follow(program.record.key.future, program.declared)
    found = asyncio.ensure_future(_key(program.record.key.future, parent, kind, resource_name))
    program.declared.append(Keyed(resource=resource, key=found))
    return {} if is_kept else {KEY_INPUT: found}


async def _of_plugin() -> str | None:
    """Return the stack's key that the plugin has, which is asked only after an interruption."""
    found = await invoke_async(STACK_KEY_FUNCTION, {})
    key = found.get(STACK_KEY_RESULT) if isinstance(found, Mapping) else None
    return key if isinstance(key, str) else None


async def _key(
    stack_key: undeclared.StackKey, parent: pulumi.Resource | None, kind: str, name: str
) -> str | None:
    """Return a resource's key, or None if the stack's is not known."""
    types = [urns.parse(str(await parent.urn.future())).types] if parent else []
    stack = await stack_key()
    return resource_key(stack, types, kind, name) if stack else None
