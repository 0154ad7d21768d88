"""A curve: the values of one metric from one source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Point = tuple[float, float]

_MOST = 4000
"""Points that are kept of one metric; of more, every second one goes."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The points (step, value) of a metric, by ascending step. `source` says who wrote them."""

    metric: str
    source: str
    points: tuple[Point, ...]


class Points:
    """The points of a curve that grows. A program that starts again from a checkpoint repeats steps."""

    def __init__(self) -> None:
        self._steps: dict[float, float] = {}

    def add(self, step: float, value: float) -> None:
        """Add a point. A step that is before the last one begins again there."""
        if self._steps and step < next(reversed(self._steps)):
            self._steps = {known: kept for known, kept in self._steps.items() if known < step}
        self._steps[step] = value
        if len(self._steps) > _MOST:
            self._steps = {known: self._steps[known] for known in list(self._steps)[::2]}

    @property
    def all(self) -> tuple[Point, ...]:
        """All points."""
        return tuple(self._steps.items())


def curves_of(values: Iterable[tuple[str, float, float]], *, source: str) -> list[Curve]:
    """Return a curve for each metric of (metric, step, value), in the order of their first values."""
    found: dict[str, Points] = {}
    for metric, step, value in values:
        found.setdefault(metric, Points()).add(step, value)
    return [Curve(metric=metric, source=source, points=points.all) for metric, points in found.items()]
