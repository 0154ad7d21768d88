"""Grid search: every combination once, in the order of the study. Pure.

Combinations are counted, not listed: an integer parameter may have more values than fit in a memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from vertex_emulator.tuning_jobs.study.study import Parameter, Value


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
