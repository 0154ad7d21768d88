"""The wait for a resource that takes time to start: how it is watched, and what a deployment says about it.

A host waits: the program for dynamic resources, the call itself in the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint

DEFAULT_TIMEOUT = 3600.0
"""Seconds. Machines with accelerators can take half an hour."""


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """How a kind of resource becomes ready.

    `get` reads the record of a full name; its state has a `word`. `is_ready` is true of one that runs, and
    `failure` returns why one never will, "" if it may. `line` is the text of its row.
    """

    noun: str
    get: Callable[[Endpoint, str], Any]
    is_ready: Callable[[Any], bool]
    failure: Callable[[Any], str]
    line: Callable[[Any], str]


def gone(title: str) -> str:
    """Return why the deployment of a resource that was deleted fails."""
    return f"{title} no longer exists. Run `pulumi refresh`"


def interrupted(title: str) -> str:
    """Return what a wait that Ctrl-C ended says."""
    return f"{title}: interrupted, but the service continues. Run `pulumi up` to wait for it again"


def timed_out(title: str, state: str, seconds: float) -> str:
    """Return the warning of a wait that took too long."""
    return f"{title} is still {state} after {seconds:g} s. The deployment no longer waits for it"
