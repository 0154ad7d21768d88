"""Cloud Logging's `entries:list` over the logs of jobs, as gcloud and google-cloud-logging call it.

The monitored resource is `ml_job` with the labels job_id, project_id and task_name, as for jobs of the
service; the task of what the service itself says is called "service".
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vertex_training.emulator import filters, times
from vertex_training.emulator.http import Request, Response, Route, json_response
from vertex_training.emulator.jobs import logs
from vertex_training.emulator.projects import project_number
from vertex_training.emulator.rpc import RpcError
from vertex_training.emulator.vertex.listing import page_token, read_page_token

SEVERITIES = (
    "DEFAULT",
    "DEBUG",
    "INFO",
    "NOTICE",
    "WARNING",
    "ERROR",
    "CRITICAL",
    "ALERT",
    "EMERGENCY",
)
_FIELDS = (
    "resource.type",
    "resource.labels.job_id",
    "resource.labels.project_id",
    "resource.labels.task_name",
    "timestamp",
    "insertId",
    "severity",
    "logName",
    "jsonPayload.message",
)
_ORDERS = {"": False, "timestamp asc": False, "timestamp": False, "timestamp desc": True}
_KEYS = {
    "resource_names": "resourceNames",
    "order_by": "orderBy",
    "page_size": "pageSize",
    "page_token": "pageToken",
}
_DEFAULT_PAGE, _MAX_PAGE = 50, 1000


@dataclass(frozen=True, kw_only=True)
class LogSource:
    """The logs of one job: a file a task in `folder`. `project` is the id that the job was created with."""

    job_id: str
    project: str
    folder: Path


Sources = Callable[[str | None], Iterable[LogSource]]
"""The sources of a job by its id, of all jobs for None."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """A request of entries:list, checked."""

    projects: frozenset[str]
    expression: filters.Expression
    descending: bool
    page_size: int
    after: tuple[str, str] | None
    text: str


def routes(sources: Sources) -> list[Route]:
    """The routes of Cloud Logging."""

    def entries(request: Request, _: re.Match[str]) -> Response:
        try:
            query = _read(request.body.json())
        except RpcError as error:
            raise error.http_error() from error
        return json_response(_answer(query, sources))

    return [Route("POST", r"/v2/entries:list", entries, "logging.entries.list")]


def _answer(query: Query, sources: Sources) -> dict[str, Any]:
    found = _matching(query, sources)
    page = list(islice(found, query.page_size + 1))
    answer: dict[str, Any] = {"entries": [_document(*each) for each in page[: query.page_size]]}
    if len(page) > query.page_size:
        last = page[query.page_size - 1][1]
        answer["nextPageToken"] = page_token([last.time, last.insert_id], query=query.text)
    return answer


def _matching(query: Query, sources: Sources) -> Iterator[tuple[LogSource, logs.Entry]]:
    task = filters.required(query.expression, "resource.labels.task_name")
    since = filters.lower_bound(query.expression, "timestamp")
    if query.after and not query.descending:
        since = max(since, query.after[0])
    streams = [
        _read_task(source, path, since=since, descending=query.descending)
        for source in sources(filters.required(query.expression, "resource.labels.job_id"))
        if project_number(source.project) in query.projects
        for path in sorted(source.folder.glob("*.jsonl"))
        if task in (None, path.stem)
    ]
    merged = heapq.merge(*streams, key=lambda pair: _position(pair[1]), reverse=query.descending)
    for source, entry in merged:
        if query.after is not None and not _is_after(entry, query.after, descending=query.descending):
            continue
        if filters.matches(query.expression, lambda each, s=source, e=entry: _holds(each, s, e)):  # type: ignore[misc]
            yield source, entry


def _read_task(
    source: LogSource, path: Path, *, since: str, descending: bool
) -> Iterator[tuple[LogSource, logs.Entry]]:
    for entry in logs.read(path, since=since, descending=descending):
        yield source, entry


def _position(entry: logs.Entry) -> tuple[str, str]:
    return entry.time, entry.insert_id


def _is_after(entry: logs.Entry, position: tuple[str, str], *, descending: bool) -> bool:
    return _position(entry) < position if descending else _position(entry) > position


def _document(source: LogSource, entry: logs.Entry) -> dict[str, Any]:
    return {
        "insertId": entry.insert_id,
        "logName": _log_name(source, entry),
        "resource": {
            "type": "ml_job",
            "labels": {"job_id": source.job_id, "project_id": source.project, "task_name": entry.task},
        },
        "timestamp": entry.time,
        "receiveTimestamp": entry.time,
        "severity": entry.severity,
        "jsonPayload": {"message": entry.message, "levelname": entry.severity},
    }


def _log_name(source: LogSource, entry: logs.Entry) -> str:
    """One log a task; what the service says is in a log with the job's name."""
    log = f"ml.googleapis.com/{source.job_id}" if entry.task == "service" else entry.task
    return f"projects/{source.project}/logs/{quote(log, safe='')}"


def _holds(comparison: filters.Comparison, source: LogSource, entry: logs.Entry) -> bool:
    actual = {
        "resource.type": "ml_job",
        "resource.labels.job_id": source.job_id,
        "resource.labels.project_id": source.project,
        "resource.labels.task_name": entry.task,
        "timestamp": entry.time,
        "insertId": entry.insert_id,
        "severity": entry.severity,
        "logName": _log_name(source, entry),
        "jsonPayload.message": entry.message,
    }[comparison.field]
    wanted, operator = comparison.value, comparison.operator
    if operator == ":":
        return wanted == "*" or wanted.lower() in actual.lower()
    if operator in ("=", "!="):
        return (actual == wanted) == (operator == "=")
    one: Any = actual
    other: Any = wanted
    if comparison.field == "severity":
        one, other = SEVERITIES.index(actual), SEVERITIES.index(wanted)
    return bool({"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator])


def _read(document: Any) -> Query:
    if not isinstance(document, dict):
        raise RpcError("INVALID_ARGUMENT", "Invalid JSON payload received. The body is not an object.")
    values = {_KEYS.get(str(key), str(key)): value for key, value in document.items() if value is not None}
    known = {"resourceNames", "filter", *_KEYS.values()}
    if unknown := sorted(set(values) - known):
        raise RpcError(
            "INVALID_ARGUMENT",
            f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.',
        )
    text, order = str(values.get("filter", "")), " ".join(str(values.get("orderBy", "")).split())
    if order not in _ORDERS:
        raise RpcError(
            "INVALID_ARGUMENT", f'orderBy must be "timestamp asc" or "timestamp desc", not {order!r}.'
        )
    try:
        expression = filters.mapped(filters.parse(text), _checked)
        size = int(values.get("pageSize", 0))
    except filters.FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"Invalid filter {text!r}: {error}.") from error
    except (TypeError, ValueError):
        raise RpcError("INVALID_ARGUMENT", "Invalid value at 'page_size' (TYPE_INT32).") from None
    if size < 0:
        raise RpcError("INVALID_ARGUMENT", "page_size must not be negative.")
    fixed = f"{text}\n{order}"
    position = read_page_token(str(values.get("pageToken", "")), query=fixed)
    return Query(
        projects=_projects(values.get("resourceNames")),
        expression=expression,
        descending=_ORDERS[order],
        page_size=min(size or _DEFAULT_PAGE, _MAX_PAGE),
        after=(str(position[0]), str(position[1])) if position else None,
        text=fixed,
    )


def _projects(resource_names: Any) -> frozenset[str]:
    if not isinstance(resource_names, list) or not resource_names:
        raise RpcError(
            "INVALID_ARGUMENT", "resource_names must name at least one project, as projects/PROJECT."
        )
    found = set()
    for name in resource_names:
        match = re.fullmatch(r"projects/([^/]+)", str(name))
        if match is None:
            raise RpcError(
                "UNIMPLEMENTED",
                f"The emulator does not support the log resource {name!r}, only projects/PROJECT.",
            )
        found.add(project_number(match[1]))
    return frozenset(found)


def _checked(comparison: filters.Comparison) -> filters.Comparison:
    field, value = comparison.field, comparison.value
    if field not in _FIELDS:
        raise filters.FilterError(f"{field!r} cannot be filtered by; use {', '.join(_FIELDS)}")
    if field == "timestamp":
        try:
            value = times.text(times.parse(value))
        except ValueError:
            raise filters.FilterError(f"{value!r} is not a time, such as 2026-01-31T12:00:00Z") from None
    if field == "severity":
        value = value.upper()
        if value not in SEVERITIES:
            raise filters.FilterError(f"{value!r} is not a severity; they are {', '.join(SEVERITIES)}")
    return filters.Comparison(field, comparison.operator, value)
