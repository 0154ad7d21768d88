"""The addresses of the providers that states record; the classes are in the packages of their kinds.

A state has the module and the name of each provider's class in it. Classes say that they are of this module
(`plugin.provider.Provider`), so they can move without making a state unreadable.
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
