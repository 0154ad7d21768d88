"""Limits and usage of Vertex AI's quotas in a region: the APIs of Cloud Quotas and Cloud Monitoring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated
from vertex_training.fields import timestamps

QUOTAS_HOST = "cloudquotas.googleapis.com"
MONITORING_HOST = "monitoring.googleapis.com"

UNLIMITED = -1
"""The value of a quota without a limit."""

_SERVICE = "aiplatform.googleapis.com"
_USAGE = "serviceruntime.googleapis.com/quota/allocation/usage"
_PAGE = 500
_MOST_POINTS = 100_000
"""The largest page of time series: with their points, it counts these."""
_LOOKED_BACK = timedelta(days=1)


def limits(endpoint: Endpoint) -> Mapping[str, int]:
    """Return the limit of each metric of Vertex AI in the endpoint's region; `UNLIMITED` for none.

    A metric with several quotas, such as one of the project and one of the region, has the least of them.
    """
    url = (
        f"{endpoint.service_url(QUOTAS_HOST)}/v1/projects/{endpoint.project}/locations/global"
        f"/services/{_SERVICE}/quotaInfos"
    )
    found: dict[str, int] = {}
    with translated(endpoint, f"read the quotas of project {endpoint.project}"):
        for page in rest.pages(endpoint, url, query={"pageSize": _PAGE}):
            for info in page.get("quotaInfos", []):
                value = _value(info, endpoint.location)
                metric = str(info.get("metric", ""))
                if value is not None and metric:
                    found[metric] = _least(found.get(metric), value)
    return found


def _value(info: Mapping[str, Any], region: str) -> int | None:
    """Return the value of a quota in a region, or None if it does not apply there.

    The entry of the region comes before the one that has no region, which is for all others.
    """
    general: int | None = None
    for entry in info.get("dimensionsInfos", []):
        dimensions, details = entry.get("dimensions") or {}, entry.get("details")
        if not isinstance(details, dict) or set(dimensions) - {"region"}:
            continue  # a quota of something that a job does not name, such as a model
        value = int(details.get("value") or 0)  # JSON leaves out a zero
        places = entry.get("applicableLocations") or ()
        if dimensions.get("region") == region:
            return value
        if not dimensions and (not places or region in places or "global" in places):
            general = value
    return general


def _least(one: int | None, other: int) -> int:
    limited = [value for value in (one, other) if value is not None and value != UNLIMITED]
    return min(limited, default=UNLIMITED)


def usage(endpoint: Endpoint) -> Mapping[str, int]:
    """Return the latest usage of each metric in the endpoint's region; a metric without any is left out."""
    now = datetime.now(timezone.utc)
    query: rest.Query = {
        "filter": f'metric.type="{_USAGE}" AND resource.label.service="{_SERVICE}" '
        f'AND resource.label.location="{endpoint.location}"',
        "interval.startTime": timestamps.normal((now - _LOOKED_BACK).isoformat()),
        "interval.endTime": timestamps.normal(now.isoformat()),
        "view": "FULL",
        "pageSize": _MOST_POINTS,
    }
    url = f"{endpoint.service_url(MONITORING_HOST)}/v3/projects/{endpoint.project}/timeSeries"
    with translated(endpoint, f"read the usage of quotas of project {endpoint.project}"):
        pages = list(rest.pages(endpoint, url, query=query))
    return _latest(series for page in pages for series in page.get("timeSeries", []))


def _latest(all_series: Iterator[Mapping[str, Any]]) -> Mapping[str, int]:
    """Return the newest value of each metric. A page may end in a series: the next has the older points."""
    found: dict[str, int] = {}
    for series in all_series:
        metric = str(((series.get("metric") or {}).get("labels") or {}).get("quota_metric", ""))
        points = series.get("points") or ()  # the newest first
        if metric and points:
            found.setdefault(metric, int((points[0].get("value") or {}).get("int64Value") or 0))
    return found
