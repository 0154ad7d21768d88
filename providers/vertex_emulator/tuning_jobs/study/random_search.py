"""Random search, by the scale of each parameter. Pure: the same seed and number give the same values."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from vertex_emulator.tuning_jobs.study.study import Parameter, Value, choose


def sample(parameters: Sequence[Parameter], *, seed: int, number: int) -> dict[str, Value]:
    """The values of the trial of that number."""
    source = random.Random(f"{seed}/{number}")  # noqa: S311 - a search, not a secret
    return choose(parameters, lambda parameter, _: pick(parameter, source.random()))


def middle(parameters: Sequence[Parameter]) -> dict[str, Value]:
    """The values in the middle of each parameter's scaled range."""
    return choose(parameters, lambda parameter, _: pick(parameter, 0.5))


def pick(parameter: Parameter, unit: float) -> Value:
    """The value at a point of the parameter's scaled range, which goes from 0 to 1."""
    if parameter.kind in ("CATEGORICAL", "DISCRETE"):
        return parameter.values[min(int(unit * len(parameter.values)), len(parameter.values) - 1)]
    if parameter.kind == "DOUBLE":
        return unscaled(parameter.low, parameter.high, parameter.scale, unit)
    low, high = int(parameter.low), int(parameter.high)
    if parameter.scale == "LINEAR":
        return min(low + int(unit * (high - low + 1)), high)
    return min(max(round(unscaled(low - 0.5, high + 0.5, parameter.scale, unit)), low), high)


def unscaled(low: float, high: float, scale: str, unit: float) -> float:
    """The value between `low` and `high` at a point of the scaled range, which goes from 0 to 1."""
    if scale == "REVERSE_LOG":
        return min(max(low + high - unscaled(low, high, "LOG", 1.0 - unit), low), high)
    if scale == "LOG":
        value = math.exp(math.log(low) * (1.0 - unit) + math.log(high) * unit)
    else:
        value = low * (1.0 - unit) + high * unit
    return min(max(value, low), high)
