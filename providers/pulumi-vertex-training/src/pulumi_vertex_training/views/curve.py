"""A curve: the values of one metric from one source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Point = tuple[float, float]

_MOST = 4000
"""Points that are kept of one metric; of more, every second one goes."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The points (step, value) of a metric, by ascending step. `source` says who wrote them.

    A value may be NaN or infinite. `times` has the time of each point in seconds since 1970; it is empty if
    one of them is not known.
    """

    metric: str
    source: str
    points: tuple[Point, ...]
    times: tuple[float, ...] = ()


class Points:
    """The points of a curve that grows. A program that starts again from a checkpoint repeats steps."""

    def __init__(self) -> None:
        self._steps: dict[float, tuple[float, float | None]] = {}

    def add(self, step: float, value: float, time: float | None = None) -> None:
        """Add a point, and its time. A step that is before the last one begins again there."""
        if self._steps and step < next(reversed(self._steps)):
            self._steps = {known: kept for known, kept in self._steps.items() if known < step}
        self._steps[step] = (value, time)
        if len(self._steps) > _MOST:
            self._steps = {known: self._steps[known] for known in list(self._steps)[::2]}

    @property
    def each(self) -> Iterator[tuple[float, float, float | None]]:
        """All points with their times."""
        return ((step, value, time) for step, (value, time) in self._steps.items())

    @property
    def all(self) -> tuple[Point, ...]:
        """All points."""
        return tuple((step, value) for step, (value, _) in self._steps.items())

    @property
    def times(self) -> tuple[float, ...]:
        """The times of all points, empty unless each is known."""
        known = tuple(time for _, time in self._steps.values() if time is not None)
        return known if len(known) == len(self._steps) else ()


def curves_of(values: Iterable[tuple[str, float, float, float | None]], *, source: str) -> list[Curve]:
    """Return a curve for each metric of (metric, step, value, time), in the order of their first values."""
    found: dict[str, Points] = {}
    for metric, step, value, time in values:
        found.setdefault(metric, Points()).add(step, value, time)
    return [
        Curve(metric=metric, source=source, points=points.all, times=points.times)
        for metric, points in found.items()
    ]
