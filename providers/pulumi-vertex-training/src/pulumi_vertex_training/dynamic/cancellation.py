"""Ctrl-C in the provider process: a patch of Pulumi's host of dynamic providers, as `threads` is.

The engine reports Ctrl-C by the call `Cancel`, and waits for every call that has begun. Pulumi's host answers
`Cancel` and does nothing else. gRPC's server holds the host's method itself, so the method's code is
replaced. `test_cancellation.py` fails if a later host is made otherwise; waits would then end at their
timeouts.
"""

from __future__ import annotations

import sys

SERVICER = "DynamicResourceProviderServicer"
"""The class of Pulumi's host that has `Cancel`."""


def listen() -> bool:
    """Make `Cancel` set `CANCELLED`. Return whether the host's method can be replaced."""
    servicer = getattr(sys.modules.get("__main__"), SERVICER, None)
    method = getattr(servicer, "Cancel", None)
    if method is None or method.__code__.co_freevars:
        return False
    method.__code__ = _cancel.__code__
    return True


def _cancel(self, request, context):  # type: ignore[no-untyped-def]  # noqa: ARG001
    # This code runs with the globals of the host's module, which has `empty_pb2`.
    from pulumi_vertex_training.core.engine import CANCELLED

    CANCELLED.set()
    return empty_pb2.Empty()  # type: ignore[name-defined]  # noqa: F821
