"""The engine's request behind a call of a dynamic provider: what Pulumi's host does not hand over.

The host has the whole request in the frame that calls the provider, and gives the provider its properties
alone. This is private to Pulumi, so nothing rests on it alone: without a request the URN is unknown and the
name stands in for it, and a run's identity is drawn at random. `test_request.py` fails if a later host is
made otherwise.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

_DEPTH = 6
"""The most frames between the provider and the host's method."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The parts of a request that the core uses; empty where the host has none.

    `seed` are random bytes of the registration, the same in a preview and in the deployment of its plan.
    `timeout` are the seconds of the resource's `custom_timeouts` for create, update, read or delete.
    """

    urn: str = ""
    seed: bytes = b""
    timeout: float | None = None


def current() -> Request:
    """Return the request of the calling provider's method; an empty one outside of Pulumi's host."""
    frame = sys._getframe(1)
    for _ in range(_DEPTH):
        found = frame.f_locals
        if "request" in found and "context" in found:
            request = found["request"]
            return Request(
                urn=str(getattr(request, "urn", "")),
                seed=bytes(getattr(request, "randomSeed", b"")),
                timeout=float(getattr(request, "timeout", 0)) or None,
            )
        if frame.f_back is None:
            break
        frame = frame.f_back
    return Request()
