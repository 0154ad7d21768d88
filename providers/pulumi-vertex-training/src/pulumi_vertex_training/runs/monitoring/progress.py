"""The progress that a training reports about itself: `vertex_cluster.report` writes it, this reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import InvalidArgument, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from vertex_training.fields import uris
from vertex_training.fields.document import json_of
from vertex_training.fields.json_numbers import finite_number_of as _number
from vertex_training.fields.json_numbers import number_of, text_of
from vertex_training.job.job_kind import JobKind

_SHOWN_METRICS = 4
_TREND = 24
"""Values of a trend: as many as a line of some letters can show."""


@dataclass(frozen=True, kw_only=True)
class NotFinite:
    """A metric whose latest value is NaN or infinite, since a step, and its last finite value with its step.

    Steps are None for a program that reports none. The last value is None for a metric that was never finite.
    """

    metric: str
    value: float
    since: float | None = None
    last_step: float | None = None
    last_value: float | None = None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The latest report of a run.

    `time` is when the program made it (RFC 3339). `seconds_per_step` is the mean since the first report.
    `resumed_from` is the step of the checkpoint from which the program continued, 0 without one, and
    `attempt` the number of its start in this job; None for a program without `vertex_cluster.checkpoints`.
    `trend` has some of the finite values of the first metric, the first and the last among them.
    `not_finite` are the metrics that are NaN or infinite now.
    """

    step: float | None = None
    total: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    time: str | None = None
    seconds_per_step: float | None = None
    resumed_from: float | None = None
    attempt: float | None = None
    trend: tuple[float, ...] = ()
    not_finite: tuple[NotFinite, ...] = ()

    @property
    def percent(self) -> int | None:
        """Whole percents that are done, None without step or total."""
        if self.step is None or not self.total or self.total < 0:
            return None
        return max(0, min(100, math.floor(100 * self.step / self.total)))

    @property
    def seconds_left(self) -> int | None:
        """Seconds until the end at the pace so far, counted from `time`; None while there is no pace."""
        if self.step is None or self.total is None or self.seconds_per_step is None:
            return None
        return round(max(0.0, self.total - self.step) * self.seconds_per_step)


def directory_of(record: JobRecord) -> str | None:
    """Return the output directory of a job, None without one and for a job of a newer version."""
    try:
        kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
        return kind.directory_of(record.wire)
    except (KeyError, ValueError):
        return None


def latest_report(endpoint: Endpoint, base_output_directory: str | None) -> Report | None:
    """Return the latest report in a run's output directory, None without one that can be read.

    Raises the errors of `pulumi_vertex_training.cloud.errors`.
    """
    if not base_output_directory:
        return None
    from vertex_cluster.reporting import REPORT_FILE  # costs 60 ms: only for those who wait or look

    address = uris.parse(f"{base_output_directory.rstrip('/')}/{REPORT_FILE}")
    return report_at(endpoint, address.bucket, address.name)


def report_at(endpoint: Endpoint, bucket: str, name: str) -> Report | None:
    """Return the report in an object, None if it cannot be read as one. Raises as `latest_report`."""
    try:
        return _report(json.loads(objects.read(endpoint, bucket, name)))
    except (NotFound, InvalidArgument, ValueError, RecursionError):
        return None


def _report(document: object) -> Report | None:
    if not isinstance(document, dict):
        return None
    metrics = document.get("metrics")
    found = (
        {str(name): number_of(value) for name, value in metrics.items()} if isinstance(metrics, dict) else {}
    )
    known = {name: value for name, value in found.items() if value is not None}
    time = document.get("time")
    return Report(
        step=_number(document.get("step")),
        total=_number(document.get("total")),
        metrics=known,
        time=time if isinstance(time, str) else None,
        seconds_per_step=_number(document.get("secondsPerStep")),
        resumed_from=_number(document.get("resumedFrom")),
        attempt=_number(document.get("attempt")),
        trend=_trend(document.get("history"), next(iter(known), "")),
        not_finite=tuple(_not_finite(document.get("notFinite"))),
    )


def _not_finite(document: object) -> Iterator[NotFinite]:
    for name, found in document.items() if isinstance(document, dict) else ():
        value = number_of(found.get("value")) if isinstance(found, dict) else None
        if value is not None and not math.isfinite(value):
            yield NotFinite(
                metric=str(name),
                value=value,
                since=_number(found.get("since")),
                last_step=_number(found.get("lastStep")),
                last_value=_number(found.get("lastValue")),
            )


def _trend(history: object, metric: str) -> tuple[float, ...]:
    """Return some of the values of a metric."""
    reports = history if isinstance(history, list) else []
    entries = [one.get("metrics") for one in reports if isinstance(one, dict)]
    values = [_number(one.get(metric)) for one in entries if isinstance(one, dict)]
    known = [value for value in values if value is not None]
    if len(known) <= _TREND:
        return tuple(known)
    step = (len(known) - 1) / (_TREND - 1)
    return tuple(known[round(number * step)] for number in range(_TREND))


def duration(seconds: float) -> str:
    """Format a duration in few characters: `45s`, `2m05s`, `3h10m`, `2d04h`."""
    whole = max(int(seconds), 0)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if not minutes:
        return f"{whole}s"
    if not hours:
        return f"{minutes}m{whole % 60:02}s"
    if not days:
        return f"{hours}h{minutes % 60:02}m"
    return f"{days}d{hours % 24:02}h"


def metrics_in_words(report: Report) -> list[str]:
    """Return the first metrics, such as `loss 0.25` and `accuracy 0.9`."""
    return [f"{name} {value:.4g}" for name, value in list(report.metrics.items())[:_SHOWN_METRICS]]


def warnings_of(report: Report | None) -> dict[str, str]:
    """Return a sentence for each metric that is not finite, by its name: `loss is NaN since step 5; ...`."""
    found = report.not_finite if report is not None else ()
    return {one.metric: _not_finite_in_words(one) for one in found}


def _not_finite_in_words(one: NotFinite) -> str:
    since = "" if one.since is None else f" since step {one.since:g}"
    text = f"{one.metric} is {text_of(one.value)}{since}"
    if one.last_value is None:
        return f"{text}; it was never finite"
    at = "" if one.last_step is None else f" at step {one.last_step:g}"
    return f"{text}; it was last finite{at} ({one.last_value:.4g})"


def start_in_words(report: Report) -> str:
    """Describe the start, such as `resumed from step 200, attempt 3`; "" for a first start at step 0."""
    parts = [f"resumed from step {report.resumed_from:g}"] if report.resumed_from else []
    if report.attempt is not None and report.attempt > 1:
        parts.append(f"attempt {report.attempt:g}")
    return ", ".join(parts)


def in_words(report: Report) -> str:
    """Describe a report, such as `45%, 2m05s left, loss 0.25`; without a total `step 12, loss 0.25`."""
    parts = []
    if report.percent is not None:
        parts.append(f"{report.percent}%")
    elif report.step is not None:
        parts.append(f"step {report.step:g}")
    if report.seconds_left:
        parts.append(f"{duration(report.seconds_left)} left")
    return ", ".join(filter(None, (*parts, *metrics_in_words(report), start_in_words(report))))


def as_json(report: Report | None) -> Any:
    """Return the JSON of a report, see docs/reference/json.md."""
    return (
        json_of(report, "step total percent seconds_left metrics time resumed_from attempt")
        if report is not None
        else None
    )
