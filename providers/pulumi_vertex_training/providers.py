"""Provider classes under the module name that Pulumi states record.

A state has the module and name of each provider class. The classes are in the packages of their kinds but
declare this module as theirs (`plugin.provider.Provider`), so they can move and old states stay readable.
A program pickles calls of `provider_of`: it never runs a provider, so it imports none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pulumi_vertex_training import registry

if TYPE_CHECKING:
    from pulumi.dynamic import ResourceProvider


def __getattr__(name: str) -> type[ResourceProvider]:
    """Load a provider class. Raises AttributeError if the registry does not name it."""
    if name not in registry.PROVIDERS:
        raise AttributeError(f"module {__name__!r} has no provider {name!r}")
    provider: type[ResourceProvider] = getattr(importlib.import_module(registry.PROVIDERS[name]), name)
    return provider


def provider_of(name: str) -> ResourceProvider:
    """Create a provider by the name of its class. Never rename this function: states record its name."""
    return __getattr__(name)()
