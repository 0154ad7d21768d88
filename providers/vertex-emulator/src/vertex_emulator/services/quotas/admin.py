"""The emulator's own calls at `/_local/quotas`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from vertex_emulator.server.http.bodies import body_of, whole_number
from vertex_emulator.server.http.messages import HttpError, Request, Route
from vertex_emulator.server.http.settings import settings_routes
from vertex_emulator.services.quotas import metrics
from vertex_emulator.services.quotas.limits import ANY_REGION, Quota, Quotas, Usage
from vertex_training.catalog import accelerators, quota_metrics
from vertex_training.catalog.regions import REGIONS
from vertex_training.findings.words import did_you_mean

MOST = 1_000_000

_PATH = "/_local/quotas"
_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]{1,2}|\*")
_CHOICES = (None, "refuse", "queue")
_MISSPELT = 0.9
"""How similar to the name of a known area one must be to count as misspelt, not as a new area."""


def quota_routes(quotas: Quotas) -> Sequence[Route]:
    """Return GET all, POST one, DELETE all or, with the parameters metric and region, some."""

    def put(request: Request) -> Mapping[str, Any]:
        quota = _read(body_of(request, "metric", "preemptible", "region", "limit", "whenExceeded"))
        quotas.set(quota)
        return _view(quota, quotas.usage())

    return settings_routes(
        _PATH,
        quotas,
        views=lambda: views(quotas),
        put=put,
        parameters={"metric": _metric, "region": region_of},
    )


def views(quotas: Quotas) -> list[dict[str, Any]]:
    """Return the quotas that are set, with what is used of them."""
    found = quotas.all()
    usage = quotas.usage() if found else {}
    return [_view(each, usage) for each in found]


def _view(quota: Quota, usage: Usage) -> dict[str, Any]:
    return {
        "metric": quota_metrics.PREFIX + quota.metric,
        "region": quota.region,
        "limit": quota.limit,
        "whenExceeded": quota.when_exceeded,
        "usage": [
            {"projectNumber": project, "region": region, "used": used}
            for (project, region), counts in sorted(usage.items())
            if quota.region in (ANY_REGION, region) and (used := counts.get(quota.metric, 0))
        ],
    }


def _read(body: Mapping[str, Any]) -> Quota:
    preemptible = body.get("preemptible", False)
    if not isinstance(preemptible, bool):
        raise HttpError(400, "", f"preemptible must be true or false, not {preemptible!r}.")
    when = body.get("whenExceeded")
    if when not in _CHOICES:
        raise HttpError(400, "", f'whenExceeded must be "refuse" or "queue", not {when!r}.')
    return Quota(
        metric=_metric(body.get("metric"), preemptible=preemptible),
        region=region_of(body.get("region", ANY_REGION)),
        limit=whole_number(body, "limit", most=MOST),
        when_exceeded=when,
    )


def region_of(given: object) -> str:
    """Return a region, or `ANY_REGION`, as a request names it. Raises `HttpError` 400."""
    if not (isinstance(given, str) and _REGION.fullmatch(given)):
        raise HttpError(400, "", f"region must be a region, such as us-central1, or *, not {given!r}.")
    areas = {_area(each): each for each in sorted(REGIONS, reverse=True)}
    near = difflib.get_close_matches(_area(given), areas, n=1, cutoff=_MISSPELT)
    if near and _area(given) not in areas:
        raise HttpError(400, "", f"There is no region {given!r}. Did you mean {areas[near[0]]!r}?")
    return given


def _area(region: str) -> str:
    """Return a region without its number: a region that is newer than the table is often in a known area."""
    return region.rstrip("0123456789")


def _metric(given: object, *, preemptible: bool = False) -> str:
    found = metrics.metric(given, preemptible=preemptible) if isinstance(given, str) else None
    if found is None:
        same = accelerators.meant(str(given))
        hint = f" Did you mean {same!r}?" if same else did_you_mean(str(given), metrics.metric_names())
        raise HttpError(
            400,
            "",
            f"There is no quota for {given!r}.{hint} Name an accelerator, such as NVIDIA_L4, or a metric, "
            "such as nvidia_l4_gpus or cpus.",
        )
    return found
