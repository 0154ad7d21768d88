"""When a job starts and when it gives up: the API's `Scheduling` (v1 reference,
`CustomJobSpec.scheduling`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from vertex_training.catalog import enumerations
from vertex_training.fields import durations

STRATEGIES: Mapping[str, int] = MappingProxyType(
    {
        "STRATEGY_UNSPECIFIED": 0,
        "ON_DEMAND": 1,  # deprecated: STANDARD
        "LOW_COST": 2,  # deprecated: SPOT
        "STANDARD": 3,
        "SPOT": 4,
        "FLEX_START": 6,
    }
)
"""Every name with its number in the enum `Scheduling.Strategy`; `tests/specs` compares it with Google's."""


@dataclass(frozen=True, kw_only=True)
class Scheduling:
    """`timeout` is the longest running time, "3600s"; the service's own is 7 days. `max_wait_duration` is how
    long FLEX_START waits for machines: 24 hours unless given, "0s" for ever."""

    timeout: str | None = field(default=None, metadata={"convert": durations.seconds_text})
    restart_job_on_worker_restart: bool = False
    strategy: str | None = field(default=None, metadata={"convert": enumerations.by_number(STRATEGIES)})
    disable_retries: bool = False
    max_wait_duration: str | None = field(default=None, metadata={"convert": durations.seconds_text})


FLEX_START_WAIT = "86400s"
"""How long FLEX_START waits unless told otherwise."""


def normal_scheduling(scheduling: Scheduling) -> Scheduling | None:
    """What is the same to the service in one spelling; None for what changes nothing.

    STANDARD is what a job without a strategy gets; ON_DEMAND and LOW_COST are the old names of STANDARD and
    SPOT.
    """
    timeout = durations.normal(scheduling.timeout or "")
    wait = durations.normal(scheduling.max_wait_duration or "")
    meaningless = FLEX_START_WAIT if scheduling.strategy == "FLEX_START" else "0s"
    strategy = _RENAMED.get(scheduling.strategy or "", scheduling.strategy)
    normal = replace(
        scheduling,
        timeout=None if timeout in ("", "0s") else timeout,
        strategy=None if strategy in ("", "STRATEGY_UNSPECIFIED", "STANDARD") else strategy,
        max_wait_duration=None if wait in ("", meaningless) else wait,
    )
    return None if normal == Scheduling() else normal


_RENAMED = {"ON_DEMAND": "STANDARD", "LOW_COST": "SPOT"}
