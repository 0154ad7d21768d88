"""The names that the program gives to its own resources, by any provider.

A job may name a bucket that the program declares beside it as a plain string. Such a bucket does not exist in
the first preview, and is not missing. The same holds for an account, a network or an enabled service.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Collection
from typing import Any

from pulumi_vertex_training.runs.resource_names import can_make, names_made

_names: dict[str, set[str]] = {}
"""The types of the resources that have each name."""
_roots: weakref.WeakSet[Any] = weakref.WeakSet()
"""The stacks whose resources are noted: one process may run the programs of several."""


def names() -> Collection[str]:
    """Return the names so far. All resources outside of an `apply` are known before the first is created."""
    return _names.keys()


def is_made(name: str, need: str) -> bool:
    """Return whether a resource with this name can make what a job needs, by `can_make`."""
    return any(can_make(token, need) for token in _names.get(name, ()))


def collect() -> None:
    """Take note of every resource that the program declares from now on, in a program only."""
    runtime = sys.modules.get("pulumi.runtime")
    root = None if runtime is None else runtime.get_root_resource()
    if runtime is not None and root is not None and root not in _roots:
        _roots.add(root)
        runtime.register_stack_transformation(_note)


def _note(declared: Any) -> None:
    for name in names_made(declared.type_, declared.props):
        _names.setdefault(name, set()).add(declared.type_)
