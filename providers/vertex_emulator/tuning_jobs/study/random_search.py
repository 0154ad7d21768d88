"""Search without learning: a grid, or random values.

Combinations are counted, not listed: an integer parameter may have more values than fit in a memory.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from math import prod

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


def size(parameters: Sequence[Parameter]) -> int:
    """How many combinations there are."""
    return prod(_size(each) for each in parameters)


def combination(parameters: Sequence[Parameter], index: int) -> dict[str, Value] | None:
    """The combination of that number, from 0; the last parameter changes first. None past the last."""
    if not 0 <= index < size(parameters):
        return None
    chosen: dict[str, Value] = {}
    rest = index
    for position, parameter in enumerate(parameters):
        below = size(parameters[position + 1 :])
        mine, rest = divmod(rest, below)
        chosen.update(_combination(parameter, mine))
    return chosen


def _size(parameter: Parameter) -> int:
    return sum(len(values) * size(children) for values, children in _segments(parameter))


def _combination(parameter: Parameter, index: int) -> dict[str, Value]:
    rest = index
    for values, children in _segments(parameter):
        each = size(children)
        if rest < len(values) * each:
            position, below = divmod(rest, each)
            return {parameter.id: values[position], **(combination(children, below) or {})}
        rest -= len(values) * each
    raise IndexError(index)


def _segments(parameter: Parameter) -> Iterator[tuple[Sequence[Value], list[Parameter]]]:
    """The values in their order, those next to each other with the same active parameters together."""
    if parameter.kind != "INTEGER":
        for value in parameter.values:
            yield (value,), [child for _, child in parameter.active(value)]
        return
    low, high = int(parameter.low), int(parameter.high)
    special = sorted(
        {int(value) for each in parameter.conditions for value in each.values if not isinstance(value, str)}
    )
    for value in (each for each in special if low <= each <= high):
        if low < value:
            yield range(low, value), []
        yield (value,), [child for _, child in parameter.active(value)]
        low = value + 1
    if low <= high:
        yield range(low, high + 1), []
