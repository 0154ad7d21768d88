"""The curves of a job's page: one chart for each metric, and for CPU and memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from pulumi_vertex_training.ui.pages.curves.chart import Chart, Series
from pulumi_vertex_training.ui.source.usage import ReplicaUsage
from pulumi_vertex_training.views.metrics.metrics import Metrics

MOST_CHARTS = 40
_MOST_REPLICAS = 8
_GIB = 1024
"""MiB of a GiB."""


def metric_charts(metrics: Metrics) -> tuple[Chart, ...]:
    """Return a chart for each metric, with a curve for each source of it."""
    by_metric: dict[str, list[Series]] = {}
    for curve in metrics.curves:
        by_metric.setdefault(curve.metric, []).append(Series(name=curve.source, points=curve.points))
    charts = [
        Chart(key=f"metric/{short_key(name)}", title=name, series=tuple(several))
        for name, several in by_metric.items()
    ]
    return tuple(charts[:MOST_CHARTS])


def usage_charts(usage: tuple[ReplicaUsage, ...]) -> tuple[Chart, ...]:
    """Return the charts of CPU and memory; with many replicas, of those that use the most."""
    cpus, memory = tuple(_cpus(usage)), tuple(_memory(usage))
    unit = "MiB"
    if max((y for one in memory for _, y in one.points), default=0.0) >= _GIB:
        unit = "GiB"
        memory = tuple(replace(one, points=tuple((x, y / _GIB) for x, y in one.points)) for one in memory)
    charts = (
        Chart(key="usage/cpu", title="CPU", unit="CPUs", across="time", series=cpus),
        Chart(key="usage/memory", title="Memory", unit=unit, across="time", series=memory),
    )
    return tuple(chart for chart in charts if chart.series)


def _cpus(usage: tuple[ReplicaUsage, ...]) -> Iterator[Series]:
    known = [one for one in usage if one.cpus]
    for one in sorted(sorted(known, key=lambda one: -_mean(one.cpus))[:_MOST_REPLICAS], key=_name):
        yield Series(name=one.replica, points=one.cpus)


def _memory(usage: tuple[ReplicaUsage, ...]) -> Iterator[Series]:
    for one in sorted(sorted(usage, key=lambda one: -_mean(one.memory))[:_MOST_REPLICAS], key=_name):
        yield Series(name=one.replica, points=one.memory)


def _name(one: ReplicaUsage) -> str:
    return one.replica


def _mean(points: tuple[tuple[float, float], ...]) -> float:
    return sum(y for _, y in points) / len(points) if points else 0.0


def short_key(name: str) -> str:
    """Return a name as a part of an id: nothing of the user's text."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
