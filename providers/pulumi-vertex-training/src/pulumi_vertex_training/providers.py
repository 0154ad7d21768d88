"""The dynamic providers under the module name that Pulumi states record.

A state has the module and the name of each provider class. The class is made here, of the core's provider of
that name, which can move. A program pickles calls of `provider_of`: it never runs a provider, so it imports
none.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

from pulumi_vertex_training import registry

if TYPE_CHECKING:
    from pulumi_vertex_training.dynamic.adapter import DynamicProvider


def __getattr__(name: str) -> type[DynamicProvider]:
    """Return a provider class. Raises AttributeError if the registry does not name it."""
    if name not in registry.PROVIDERS:
        raise AttributeError(f"module {__name__!r} has no provider {name!r}")
    return _class_of(name)


@functools.cache
def _class_of(name: str) -> type[DynamicProvider]:
    from pulumi_vertex_training.dynamic.adapter import DynamicProvider  # imported only if needed

    provider = getattr(importlib.import_module(registry.PROVIDERS[name]), name)()
    return type(name, (DynamicProvider,), {"provider": provider, "__module__": __name__})


def provider_of(name: str) -> DynamicProvider:
    """Create a provider by the name of its class. Never rename this function: states record its name."""
    return _class_of(name)()
