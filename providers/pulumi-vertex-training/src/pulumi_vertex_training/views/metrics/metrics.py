"""All metrics of a job: as curves, and the last values of a run that has ended."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud import emulator_api, objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.monitoring.progress import directory_of
from pulumi_vertex_training.views.curve import Curve, Point, curves_of
from pulumi_vertex_training.views.metrics.tensorboard import TENSORBOARD, EventFiles
from pulumi_vertex_training.views.runs import history
from vertex_emulator import machine_clock
from vertex_training.fields import uris
from vertex_training.fields.json_numbers import finite_number_of, number_of

REPORTS = "vertex_cluster.report"
HYPERTUNE = "hypertune"

_LIVE_SECONDS, _ENDED_SECONDS = 1.0, 10.0
"""Seconds between two looks at the metrics of a job."""

_KEPT = 32


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """The metrics of a job. `values` are its results, and `source` says where they are from."""

    curves: tuple[Curve, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    source: str = ""


def by_name(curves: Iterable[Curve]) -> dict[str, tuple[Point, ...]]:
    """Return the points of each metric, of all sources, as `named` names them."""
    return {name: curve.points for name, curve in named(curves).items()}


def named(curves: Iterable[Curve]) -> dict[str, Curve]:
    """Return the curve of each metric, of all sources: "train/loss" for one in a folder of TensorBoard.

    Of a metric that several sources have under one name, the first source counts.
    """
    found: dict[str, Curve] = {}
    for curve in curves:
        if curve.source in (REPORTS, HYPERTUNE, TENSORBOARD):
            name = curve.metric
        elif curve.source.startswith(f"{HYPERTUNE} "):
            name = f"{curve.metric} ({curve.source.removeprefix(f'{HYPERTUNE} ')})"
        else:
            name = f"{curve.source}/{curve.metric}"
        found.setdefault(name, curve)
    return found


def read(endpoint: Endpoint, record: JobRecord) -> Metrics:
    """Return the metrics of a job. What cannot be read is left out."""
    return _read(endpoint, record, _event_files(record))


@dataclass(kw_only=True)
class _Known:
    files: EventFiles | None
    found: Metrics
    state: str
    at: float


class AllMetrics:
    """A cache of the metrics of recently viewed jobs. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str | None, str], _Known] = OrderedDict()

    def of(self, endpoint: Endpoint, record: JobRecord) -> Metrics:
        """Return the metrics of a job, read at most a moment ago. What cannot be read is left out."""
        with self._lock:
            key, now = (endpoint.url, record.name), machine_clock.monotonic()
            known = self._known.get(key)
            seconds = _ENDED_SECONDS if record.state.is_terminal else _LIVE_SECONDS
            if known is not None and known.state == record.state.name and now - known.at < seconds:
                return known.found
            files = known.files if known is not None else _event_files(record)
            found = _read(endpoint, record, files)
            self._known[key] = _Known(files=files, found=found, state=record.state.name, at=now)
            self._known.move_to_end(key)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return found


def _event_files(record: JobRecord) -> EventFiles | None:
    directory = directory_of(record)
    if record.collection != registry.CUSTOM_JOB.collection or not directory:
        return None
    return EventFiles(directory)


def _read(endpoint: Endpoint, record: JobRecord, files: EventFiles | None) -> Metrics:
    found: list[Curve] = []
    for read in (_reports, _hypertune):
        try:
            found += read(endpoint, record)
        except (CloudError, ValueError, RecursionError):
            continue
    with suppress(CloudError):
        found += files.read(endpoint) if files is not None else []
    if not record.state.is_terminal:
        return Metrics(curves=tuple(found))
    result = history.result_of(endpoint, record)
    values = tuple((str(name), _text(value)) for name, value in result.metrics.items())
    return Metrics(curves=tuple(found), values=values, source=result.source)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else json.dumps(value)


def _reports(endpoint: Endpoint, record: JobRecord) -> list[Curve]:
    """Return the history in the latest report. Raises CloudError, ValueError."""
    from vertex_cluster.reporting import REPORT_FILE

    directory = directory_of(record)
    if not directory:
        return []
    address = uris.parse(f"{directory.rstrip('/')}/{REPORT_FILE}")
    document = json.loads(objects.read(endpoint, address.bucket, address.name))
    past = document.get("history") if isinstance(document, dict) else None
    return curves_of(_past_values(past if isinstance(past, list) else []), source=REPORTS)


def _past_values(past: list[Any]) -> Iterator[tuple[str, float, float, float | None]]:
    for number, one in enumerate(past):
        if not isinstance(one, dict) or not isinstance(one.get("metrics"), dict):
            continue
        step = finite_number_of(one.get("step"))
        for name, value in one["metrics"].items():
            known = number_of(value)
            if known is not None:
                yield str(name), number if step is None else step, known, finite_number_of(one.get("at"))


def _hypertune(endpoint: Endpoint, record: JobRecord) -> list[Curve]:
    """Return what the chief has reported. Raises CloudError."""
    if not endpoint.is_emulator or record.collection != registry.CUSTOM_JOB.collection:
        return []
    reports = emulator_api.metric_reports(endpoint, record.job_id)
    by_replica: dict[str, list[Mapping[str, Any]]] = {}
    for one in reports:
        by_replica.setdefault(str(one["replica"]), []).append(one)
    return [
        curve
        for replica, several in by_replica.items()
        for curve in curves_of(
            (
                (str(one["metric"]), int(one["step"]), float(one["value"]), finite_number_of(one.get("time")))
                for one in several
            ),
            source=HYPERTUNE if replica == "workerpool0-0" else f"{HYPERTUNE} {replica}",
        )
    ]
