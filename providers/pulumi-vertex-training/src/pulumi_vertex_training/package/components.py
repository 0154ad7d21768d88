"""The components of the package, which run as in a program in Python, with the plugin's SDK.

Each call has an event loop of its own, and Pulumi's settings in its context: calls run side by side.
"""

from __future__ import annotations

import contextvars
import dataclasses
import importlib
from typing import TYPE_CHECKING

from pulumi_vertex_training import registry
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.package.host import EngineHost
from pulumi_vertex_training.package.wire import sdk
from vertex_training import __version__

if TYPE_CHECKING:
    from pulumi.runtime.proto import provider_pb2


def construct(
    request: provider_pb2.ConstructRequest, host: EngineHost, provider: str
) -> provider_pb2.ConstructResponse:
    """Return the answer to a request. `provider` is the reference of the plugin's provider resource."""
    name = request.type.rpartition(":")[2]
    if name not in registry.COMPONENTS or request.type != registry.package_token(name):
        raise Failure(f"{request.type} is no component of this package (version {__version__})")
    sdk.load()
    component = importlib.import_module(registry.COMPONENTS[name]).COMPONENT
    settings = dataclasses.replace(OPERATION.settings, form="package")
    context = contextvars.copy_context()
    answer: provider_pb2.ConstructResponse = context.run(
        component.construct, request, host.engine, provider, settings
    )
    return answer
