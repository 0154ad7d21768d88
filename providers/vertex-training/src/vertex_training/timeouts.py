"""The scale of timeouts, the one setting for slow machines.

A timeout says how long a process waits for another one before it gives up. Each process has one frozen object
with its timeouts, scaled once where the process starts. Polling intervals, and times that a service or a
protocol fixes, are never scaled.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TypeVar

VARIABLE = "VERTEX_TRAINING_TIMEOUT_SCALE"
"""The environment variable that holds the scale."""

LOWEST, HIGHEST = 1.0, 100.0

T = TypeVar("T")


def timeout_scale(text: str | None) -> float:
    """Return the scale that a user has set; 1.0 if `text` is None or empty.

    Raises ValueError with a sentence for the user if it is not a number from LOWEST to HIGHEST.
    """
    if not text:
        return LOWEST
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not LOWEST <= scale <= HIGHEST:
        raise ValueError(
            f"{VARIABLE} is {text!r}, but must be a number from {LOWEST:g} to {HIGHEST:g}. "
            f"Set it to 3 on a slow machine, or unset it."
        )
    return scale


def scaled(timeouts: T, scale: float) -> T:
    """Return a frozen dataclass of seconds with every field multiplied by `scale`."""
    values = {each.name: getattr(timeouts, each.name) * scale for each in fields(timeouts)}  # type: ignore[arg-type]
    return replace(timeouts, **values)  # type: ignore[type-var]
