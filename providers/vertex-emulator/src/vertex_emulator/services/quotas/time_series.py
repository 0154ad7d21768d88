"""Cloud Monitoring's `timeSeries.list` for one metric: the quota that live jobs use.

A series has one point: the usage at the time of the call. What was used before is not recorded, so an
interval that ended earlier has no series.
"""

from __future__ import annotations

from collections.abc import Mapping

from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.rpc import descriptors, filters
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.services.quotas import metrics, series_filters
from vertex_emulator.services.quotas.limits import Quotas
from vertex_training.catalog import quota_metrics

USAGE = "serviceruntime.googleapis.com/quota/allocation/usage"

_PACKAGE = "google.monitoring.v3"
_RESOURCE = "consumer_quota"
_GAUGE, _INT64 = 1, 2
_HEADERS = 1
_LATE_SECONDS = 300
"""How long ago an interval may have ended: Google writes usage with some delay as well."""


class QuotaSeries:
    """The method ListTimeSeries."""

    def __init__(self, quotas: Quotas, clock: Clock) -> None:
        self._quotas = quotas
        self._clock = clock

    def bindings(self) -> Mapping[str, Binding]:
        """Return the method by its full name."""
        return {f"{descriptors.MONITORING}.ListTimeSeries": self.list}

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """Answer ListTimeSeries. There is one series for each metric that jobs use in a region."""
        project = _project(request.name)
        condition = _filter(request.filter)
        if not request.interval.HasField("end_time"):
            raise RpcError("INVALID_ARGUMENT", "Field interval.end_time had an invalid value: it is missing.")
        if request.interval.start_time.ToMicroseconds() > request.interval.end_time.ToMicroseconds():
            raise RpcError(
                "INVALID_ARGUMENT",
                "Field interval.start_time had an invalid value: it is after interval.end_time.",
            )
        if request.HasField("aggregation") or request.HasField("secondary_aggregation"):
            raise RpcError("UNIMPLEMENTED", "The emulator does not aggregate time series.")
        answer = descriptors.message(f"{_PACKAGE}.ListTimeSeriesResponse")
        end = request.interval.end_time.ToMicroseconds()
        if end < self._now() - _LATE_SECONDS * 1_000_000:
            return answer
        for (number, region), used in sorted(self._quotas.usage().items()):
            if number != project_number(project):
                continue
            for metric, count in sorted(used.items()):
                labels = _labels(project, region, metric)
                if series_filters.matches(condition, labels):
                    _add(answer, labels, count, request)
        return answer

    def _now(self) -> int:
        """Return the earlier of the emulator's time and the machine's: a caller may know either."""
        return min(self._clock.microseconds(), machine_clock.unix_nanoseconds() // 1000)


def _project(name: str) -> str:
    kind, _, project = name.partition("/")
    if kind != "projects" or not project:
        raise RpcError("UNIMPLEMENTED", f"The emulator has time series of projects only, not of {name!r}.")
    return project


def _filter(text: str) -> filters.Expression:
    """Return the filter of a request. It must choose the metric of usage."""
    try:
        condition = series_filters.parse(text)
    except filters.FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"Field filter had an invalid value: {error}") from error
    wanted = filters.required(condition, "metric.type")
    if wanted is None:
        raise RpcError(
            "INVALID_ARGUMENT",
            f'Field filter had an invalid value of "{text}": must specify a restriction on "metric.type" in '
            'the filter; see "Metric Types" for a list of available metric types.',
        )
    if wanted != USAGE:
        raise RpcError(
            "NOT_FOUND",
            f'Cannot find metric(s) that match type = "{wanted}". The emulator has {USAGE} only.',
        )
    return condition


def _labels(project: str, region: str, metric: str) -> Mapping[str, str]:
    """Return the fields of a series by the names that filters use."""
    return {
        "metric.type": USAGE,
        "resource.type": _RESOURCE,
        "metric.labels.quota_metric": f"{quota_metrics.PREFIX}{metric}",
        series_filters.PROJECT_ID: project,
        "resource.labels.service": metrics.SERVICE,
        "resource.labels.location": region,
    }


def _add(answer: DynamicMessage, labels: Mapping[str, str], count: int, request: DynamicMessage) -> None:
    series = answer.time_series.add()
    series.metric.type, series.resource.type = USAGE, _RESOURCE
    for name, value in labels.items():
        part, _, key = name.partition(".labels.")
        if key:
            getattr(series, part).labels[key] = value
    series.metric_kind, series.value_type = _GAUGE, _INT64
    if request.view != _HEADERS:
        point = series.points.add()
        point.interval.start_time.CopyFrom(request.interval.end_time)
        point.interval.end_time.CopyFrom(request.interval.end_time)
        point.value.int64_value = count
