"""The curves of a job's page: one chart for each metric, and for CPU and memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from pulumi_vertex_training.ui.pages.curves.chart import Chart, Point, Series
from pulumi_vertex_training.ui.source.usage import ReplicaUsage
from pulumi_vertex_training.views.curve import Curve
from pulumi_vertex_training.views.metrics.metrics import REPORTS, Metrics

MOST_CHARTS = 40
_MOST_REPLICAS = 8
_GIB = 1024
"""MiB of a GiB."""

_IDLE_CPUS = 0.1
"""CPUs to which the axis reaches at least: an idle replica is a line on the ground."""


def metric_charts(metrics: Metrics, *, sources_are_runs: bool = False) -> tuple[Chart, ...]:
    """Return a chart for each metric, with a curve for each source of it. Only the chief reports.

    With `sources_are_runs` each source is a run, whose time begins with its own first value.
    """
    by_metric: dict[str, list[Series]] = {}
    for curve in metrics.curves:
        run = (one for one in metrics.curves if not sources_are_runs or one.source == curve.source)
        name = "chief" if curve.source == REPORTS else curve.source
        by_metric.setdefault(curve.metric, []).append(series_of(curve, name, begin_of(run)))
    charts = [
        Chart(key=f"metric/{short_key(name)}", title=name, series=tuple(several))
        for name, several in by_metric.items()
    ]
    return tuple(charts[:MOST_CHARTS])


def begin_of(curves: Iterable[Curve]) -> float:
    """Return the time of the first value of a run, 0 if no time is known."""
    return min((min(curve.times) for curve in curves if curve.times), default=0.0)


def series_of(curve: Curve, name: str, begin: float) -> Series:
    """Return a curve for a chart. `begin` is the time of the first value of its run."""
    times = tuple(round(time - begin, 1) for time in curve.times)
    return Series(name=name, points=curve.points, times=times)


def usage_charts(usage: tuple[ReplicaUsage, ...]) -> tuple[Chart, ...]:
    """Return the charts of CPU and memory: lines for the replicas that use most, a band for the others."""
    cpus = _lines([(one.replica, one.cpus) for one in usage if one.cpus])
    memory = _lines([(one.replica, one.memory) for one in usage])
    unit, least = "MiB", 1.0
    if max((max(point[1:]) for one in memory for point in one.points), default=0.0) >= _GIB:
        unit, least = "GiB", 0.1
        memory = [
            replace(one, points=tuple((x, *(y / _GIB for y in values)) for x, *values in one.points))
            for one in memory
        ]
    charts = (
        Chart(key="usage/cpu", title="CPU", unit="CPUs", across="time", series=tuple(cpus), zero=_IDLE_CPUS),
        Chart(key="usage/memory", title="Memory", unit=unit, across="time", series=tuple(memory), zero=least),
    )
    return tuple(chart for chart in charts if chart.series)


def _lines(usage: list[tuple[str, tuple[Point, ...]]]) -> list[Series]:
    by_mean = sorted(usage, key=lambda one: -_mean(one[1]))
    named = sorted(by_mean[:_MOST_REPLICAS], key=lambda one: one[0])
    lines = [Series(name=name, points=points) for name, points in named]
    others = [points for _, points in by_mean[_MOST_REPLICAS:]]
    return [*lines, *([_band(others)] if others else [])]


def _band(others: list[tuple[Point, ...]]) -> Series:
    """Return the least and the most of these replicas at each time."""
    at: dict[float, list[float]] = {}
    for points in others:
        for x, y in points:
            at.setdefault(x, []).append(y)
    name = f"{len(others)} other{'s' if len(others) != 1 else ''}"
    points = tuple((x, min(at[x]), max(at[x])) for x in sorted(at))
    return Series(name=name, points=points, shape="band")


def _mean(points: tuple[Point, ...]) -> float:
    return sum(point[1] for point in points) / len(points) if points else 0.0


def short_key(name: str) -> str:
    """Return a name as a part of an id: nothing of the user's text."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
