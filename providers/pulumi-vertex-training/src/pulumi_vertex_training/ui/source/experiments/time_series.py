"""The time series of an experiment's runs: scalars of its Tensorboard."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.views.curve import Curve
from vertex_training.fields import timestamps

MOST_RUNS = 8
"""Runs whose time series are read, the newest ones: a chart names no more."""

_PAGE = 100
_BATCH = 20
"""Time series of one request: their names are in its address."""


def titles(endpoint: Endpoint) -> Mapping[str, str]:
    """Return the names that users gave the newest Tensorboards, by resource name; {} if refused."""
    try:
        return {
            str(one.get("name") or ""): str(one.get("displayName") or "")
            for one in _listed(endpoint, endpoint.parent, "tensorboards", "tensorboards")
        }
    except CloudError:
        return {}


def curves(endpoint: Endpoint, board: str, experiment_id: str, runs: Sequence[str]) -> tuple[Curve, ...]:
    """Return the curves of runs, by the names that they have in the experiment. Raises CloudError."""
    try:
        return tuple(_curves(endpoint, board, experiment_id, runs))
    except NotFound:  # no run has a time series, or the Tensorboard was deleted
        return ()


def _curves(endpoint: Endpoint, board: str, experiment_id: str, runs: Sequence[str]) -> Iterator[Curve]:
    known = {
        str(one.get("displayName") or ""): str(one["name"])
        for one in _listed(endpoint, f"{board}/experiments/{experiment_id}", "runs", "tensorboardRuns")
    }
    series = {
        str(one["name"]): (run, str(one.get("displayName") or ""))
        for run in runs
        if run in known
        for one in reversed(_listed(endpoint, known[run], "timeSeries", "tensorboardTimeSeries"))
        if one.get("valueType") == "SCALAR"
    }
    points = _points(endpoint, board, list(series))
    for name, (run, metric) in series.items():
        if found := points.get(name.rpartition("/")[2]):
            yield replace(found, metric=metric, source=run)


def _listed(endpoint: Endpoint, parent: str, collection: str, items: str) -> list[Mapping[str, Any]]:
    """Return the newest resources below a parent."""
    query: rest.Query = {"pageSize": _PAGE, "orderBy": "create_time desc"}
    with translated(endpoint, f"list the {collection} of {parent}"):
        answer = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/v1/{parent}/{collection}", query=query)
    return list(answer.get(items, ()))


def _points(endpoint: Endpoint, board: str, names: list[str]) -> Mapping[str, Curve]:
    """Return time series by their ids, without names, and without those that have no values."""
    found: dict[str, Curve] = {}
    left = iter(names)
    while batch := list(itertools.islice(left, _BATCH)):
        with translated(endpoint, f"read the time series of {board}"):
            answer = rest.call(
                endpoint,
                "GET",
                f"{endpoint.vertex_url}/v1/{board}:batchRead",
                query={"timeSeries": batch},
            )
        for one in answer.get("timeSeriesData", ()):
            series_id = str(one.get("tensorboardTimeSeriesId") or "")
            if values := list(_finite(one.get("values") or ())):
                found[series_id] = _curve(values)
    return found


def _curve(values: Sequence[tuple[float, float, datetime | None]]) -> Curve:
    times = tuple(time.timestamp() for _, _, time in values if time is not None)
    return Curve(
        metric="",
        source="",
        points=tuple((step, value) for step, value, _ in values),
        times=times if len(times) == len(values) else (),
    )


def _finite(values: Sequence[Mapping[str, Any]]) -> Iterator[tuple[float, float, datetime | None]]:
    """Yield step, value and time, where the value is a number. JSON has the step as text, without a zero."""
    for one in values:
        value = float((one.get("scalar") or {}).get("value") or 0.0)
        if math.isfinite(value):
            yield float(one.get("step") or 0), value, timestamps.parse_or_none(one.get("wallTime"))
