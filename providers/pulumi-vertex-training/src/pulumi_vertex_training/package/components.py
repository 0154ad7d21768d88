"""The components of the package, which run as in a program in Python, with the plugin's SDK.

Each call has an event loop of its own, and Pulumi's settings in its context: calls run side by side.
"""

from __future__ import annotations

import contextvars
import dataclasses
import importlib
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.package.host import EngineHost
from pulumi_vertex_training.package.wire import sdk
from vertex_training import __version__


def construct(request: Any, host: EngineHost, provider: str) -> Any:
    """Return the answer to a request. `provider` is the reference of the plugin's provider resource."""
    name = request.type.rpartition(":")[2]
    if name not in registry.COMPONENTS or request.type != registry.package_token(name):
        raise Failure(f"{request.type} is no component of this package (version {__version__})")
    sdk.load()
    component = importlib.import_module(registry.COMPONENTS[name]).COMPONENT
    settings = dataclasses.replace(OPERATION.settings, form="package")
    context = contextvars.copy_context()
    return context.run(component.construct, request, host.engine, provider, settings)
