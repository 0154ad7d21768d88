"""The lookups of a program: what a preview asks the service, because it asks a provider only its check."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import MutableMapping

from pulumi_vertex_training.runs.lookups import Lookups

_LOOKUPS: MutableMapping[asyncio.AbstractEventLoop, Lookups] = weakref.WeakKeyDictionary()
"""The lookups of each program of this process. With the Automation API a process may run several at once."""


def program_lookups() -> Lookups:
    """Return the lookups of the running program."""
    return _LOOKUPS.setdefault(asyncio.get_running_loop(), Lookups())
