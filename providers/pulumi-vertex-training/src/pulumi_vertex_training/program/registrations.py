"""Let a preview end its registrations before it waits for outputs, which takes the SDK quadratic time.

Pulumi's SDK waits for calls of the engine one by one, and for outputs all at once: each output that becomes
known makes it look at all others again. It begins with the outputs unless a call is under way after the last
line of the program, and no registration is by then. `test_registrations.py` fails if a later SDK waits
otherwise; a preview of many jobs then takes longer.
"""

from __future__ import annotations

import asyncio

import pulumi
from pulumi.runtime import settings


def await_first() -> None:
    """Make the SDK wait for the registrations of a preview first, as if a call were under way.

    A deployment keeps the SDK's order: its program ends with the first output that fails.
    """
    calls = getattr(getattr(settings.SETTINGS, "rpc_manager", None), "rpcs", None)
    if pulumi.runtime.is_dry_run() and isinstance(calls, list):
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answered.set_result(None)
        calls.append(answered)
