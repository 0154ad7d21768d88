"""A chart of curves. The browser draws it (`assets/curves.js`), and has its values as a table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pulumi_vertex_training.ui.pages.page import Rows

MOST_POINTS = 500
_MOST_LAST = 3
_EXACT, _LARGE = 2**53, 1e8
_THOUSAND, _LEAST = 1e3, 1e-4

Shape = Literal["line", "points", "steps", "band"]
Point = tuple[float, ...]
"""x and y; of a band, x with the least and the most."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve: points (x, y) in ascending order of x. Where y is not finite, the curve has a gap.

    `times` has the seconds of each point since the first value of its run, and may be empty.
    """

    name: str
    points: tuple[Point, ...]
    shape: Shape = "line"
    times: tuple[float, ...] = ()

    @property
    def last(self) -> float | None:
        """The value of the last point."""
        return self.points[-1][1] if self.points else None


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Curves over one axis. `across` names it; "time" means seconds since 1970. `key` is unique on a page.

    With `zero` the values are drawn from zero, and the axis reaches at least that value.
    """

    key: str
    title: str
    series: tuple[Series, ...]
    across: str = "step"
    unit: str = ""
    zero: float = 0.0

    @property
    def summary(self) -> str:
        """The last value of each curve in words; the unit for many curves, whose values are in the table."""
        known = [(one.name, one.last) for one in self.series if one.last is not None]
        unit = f" {self.unit}" if self.unit else ""
        if len(known) == 1:
            return f"{number_in_words(known[0][1])}{unit}"
        if len(known) > _MOST_LAST:
            return self.unit
        return ", ".join(f"{name} {number_in_words(last)}{unit}" for name, last in known)

    @property
    def document(self) -> str:
        """The JSON that the browser draws."""
        series = [_document_of(one) for one in self.series]
        found = {"across": self.across, "unit": self.unit, "zero": self.zero, "series": series}
        return json.dumps(found, separators=(",", ":"))


def _document_of(series: Series) -> dict[str, Any]:
    """Return the JSON of a curve. Where times are known, they are the third number of each point."""
    points = series.points
    if series.times:
        points = tuple((*point, time) for point, time in zip(points, series.times, strict=True))
    return {
        "name": series.name,
        "shape": series.shape,
        "timed": bool(series.times),
        "points": [[_short(each) for each in point] for point in thinned(points)],
    }


def curves(charts: Iterable[Chart]) -> Rows:
    """Return the part of a page that has these charts."""
    return Rows(template="curves/chart.html", items=[(f"curve/{chart.key}", chart) for chart in charts])


def thinned(points: Sequence[Point], *, most: int = MOST_POINTS) -> Sequence[Point]:
    """Return at most that many points with a finite x, evenly chosen, with the first and the last."""
    known = [point for point in points if math.isfinite(point[0])]
    if len(known) <= most:
        return known
    step = (len(known) - 1) / (most - 1)
    return [known[round(number * step)] for number in range(most)]


def spark(values: Sequence[float], *, width: int = 60, height: int = 16) -> str:
    """Return the points of a line without axes, for `points` of an SVG polyline."""
    least, most = min(values), max(values)
    inner, size = height - 2, most - least
    step = width / max(len(values) - 1, 1)
    heights = ((value - least) / size if size else 0.5 for value in values)
    return " ".join(f"{number * step:.4g},{1 + inner * (1 - up):.3g}" for number, up in enumerate(heights))


def number_in_words(value: float) -> str:
    """Format a number with about four digits: "0.8405", "12,345", "1.2e-05"."""
    size = abs(value)
    if size >= _LARGE or 0 < size < _LEAST:
        return f"{value:.3g}"
    return f"{value:,.0f}" if size >= _THOUSAND else f"{value:.4g}"


def _short(value: float) -> float | str:
    """Return a number with as many digits as a picture shows, and one that is not finite as a word."""
    if not math.isfinite(value):
        return number_in_words(value)
    if abs(value) < _EXACT and value == int(value):
        return int(value)
    return round(value, 3) if abs(value) >= _LARGE else float(f"{value:.7g}")
