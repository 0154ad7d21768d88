"""`StackKey`: one record for a stack, by which what a killed deployment created is found again. Internal."""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

import pulumi
from pulumi.dynamic import Resource
from pulumi.runtime.settings import get_engine

from pulumi_vertex_training.plugin.stack_key import KEY_INPUT, StackKeyProvider
from pulumi_vertex_training.program.resource import with_outputs

RESOURCE_NAME = "vertex-training"
_DIGITS = 8


class StackKey(Resource, module="stackKey", name="StackKey"):
    """A random id of the stack. It is in the state before anything else of this package is created."""

    key: pulumi.Output[str | None]

    def __init__(self) -> None:
        super().__init__(StackKeyProvider(), RESOURCE_NAME, with_outputs({}, "key"))


_declared: weakref.WeakKeyDictionary[object, StackKey] = weakref.WeakKeyDictionary()
"""The record of each engine: with the Automation API a process has several."""


def key_input(kind: str, resource_name: str, opts: pulumi.ResourceOptions | None) -> dict[str, Any]:
    """Return the input with the key of a resource: the stack's, with a hash of kind, parent and name.

    The first call in a program declares the record. The input does not depend on it for the engine, so
    `--target` works without it; a resource that is created in this way has no key.
    """
    engine = get_engine()
    if engine is None:
        return {}
    if engine not in _declared:
        _declared[engine] = StackKey()
    record = _declared[engine].key
    parent = getattr(opts.parent, "_name", "") if opts and opts.parent else ""
    me = hashlib.sha256(f"{kind}\0{parent}\0{resource_name}".encode()).hexdigest()[:_DIGITS]
    key: pulumi.Output[str | None] = pulumi.Output(set(), record.future(), record.is_known())
    return {KEY_INPUT: key.apply(lambda known: f"{known}-{me}" if known else None)}
