"""Numbers that are not finite: JSON has no NaN and no infinity, and NaN does not equal itself.

Documents have the texts "NaN", "Infinity" and "-Infinity" in their place. `vertex_cluster.report` writes the
same ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

NOT_FINITE: Mapping[str, float] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The numbers that are not finite, by their texts."""


def number_of(value: object) -> float | None:
    """Return a JSON number, or one that is not finite from its text; None for anything else.

    A whole number too large for a float is None.
    """
    if isinstance(value, str):
        return NOT_FINITE.get(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        float(value)
    except OverflowError:
        return None
    return NOT_FINITE[text_of(value)] if not math.isfinite(value) else value


def finite_number_of(value: object) -> float | None:
    """Return a finite JSON number, None for anything else."""
    found = number_of(value)
    return found if found is not None and math.isfinite(found) else None


def text_of(number: float) -> str:
    """Return the text of a number that is not finite."""
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def without_nan(value: object) -> Any:
    """Return a JSON value with texts for the numbers that are not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return text_of(value)
    if isinstance(value, Mapping):
        return {name: without_nan(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item) for item in value]
    return value
