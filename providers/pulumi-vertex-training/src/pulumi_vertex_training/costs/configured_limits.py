"""The limits of cost in a stack's configuration. Imports nothing heavy: every program reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pulumi_vertex_training import configuration_keys

MAX_HOURLY_COST = configuration_keys.MAX_HOURLY_COST.name
MAX_RUN_COST = configuration_keys.MAX_RUN_COST.name
ALLOW_UNKNOWN_PRICES = configuration_keys.ALLOW_UNKNOWN_PRICES.name
LIMITS_VARIABLE = "VERTEX_TRAINING_COST_LIMITS"
"""Environment variable that `plan` sets to `REPORTED`: it applies the limits itself, to the whole preview."""
REPORTED = "reported"

_AMOUNT = re.compile(r"\d{1,12}(\.\d{1,12})?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class CostLimits:
    """Limits in US dollars; None is no limit.

    `max_hourly` is for all resources of a stack that run at the same time, `max_run` for one run until its
    timeout. With `allow_unknown`, a part without a known price is not counted; without it, it is refused.
    """

    max_hourly: float | None = None
    max_run: float | None = None
    allow_unknown: bool = False

    @property
    def are_set(self) -> bool:
        return self.max_hourly is not None or self.max_run is not None


NO_LIMITS = CostLimits()


def cost_limits(get: Callable[[str], str | None]) -> tuple[CostLimits, tuple[str, ...]]:
    """Return the limits, by a function that returns the value of a configuration key.

    The second value has a message for each wrong value, with its remedy.
    """
    problems: list[str] = []
    hourly, run = (_amount(key, get(key), problems) for key in (MAX_HOURLY_COST, MAX_RUN_COST))
    allow = get(ALLOW_UNKNOWN_PRICES)
    if allow not in (None, "true", "false"):
        problems.append(
            f"{ALLOW_UNKNOWN_PRICES} is {allow!r}; it must be true or false. "
            f"Run `pulumi config set {ALLOW_UNKNOWN_PRICES} true`."
        )
    return CostLimits(max_hourly=hourly, max_run=run, allow_unknown=allow == "true"), tuple(problems)


def _amount(key: str, text: str | None, problems: list[str]) -> float | None:
    if text is None:
        return None
    amount = float(text) if _AMOUNT.fullmatch(text) else 0.0
    if amount <= 0:
        problems.append(
            f"{key} is {text!r}; it must be an amount of US dollars above 0, such as 12.50. "
            f"Run `pulumi config set {key} 12.50`."
        )
        return None
    return amount
