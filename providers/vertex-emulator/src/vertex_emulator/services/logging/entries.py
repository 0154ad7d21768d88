"""The Cloud Logging service: lists the logs of jobs and the entries that programs write.

The monitored resource is `ml_job` with the labels job_id, project_id and task_name, as for jobs of the
service. The task of the service's own messages is called "service".
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

from vertex_emulator.job_folder import logs
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.http.messages import (
    ANY_METHOD,
    Request,
    Response,
    Route,
    json_response,
    not_supported,
)
from vertex_emulator.server.rpc import filters
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.server.rpc.paging import page_token, read_page_token
from vertex_emulator.services.logging import query as logging_query
from vertex_emulator.services.logging.written_entries import LOG_NAME, WrittenEntries, read_entries
from vertex_emulator.services.resource_engine.service import Service

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
    """The logs of one job: a file for each task in `folder`.

    `project` is the id with which the job was created.

    A tuning job has the logs of its trials, each with its number as `trial`.
    """

    job_id: str
    project: str
    folder: Path
    trial: int | None = None

    def insert_id(self, entry: logs.Entry) -> str:
        """Return an insert id that is unique in the job."""
        return entry.insert_id if self.trial is None else f"{self.trial}-{entry.insert_id}"


Sizes: TypeAlias = "dict[str, int]"
"""Bytes of the logs of a job at its first page, by task, and for trials by number and task.

All pages show the state of one moment. Otherwise a line that a task writes between two pages would appear in
the second page if it is younger than the last entry of the first, and in no page if it is older. With a clock
that does not advance, or a supervisor that was delayed between stamping lines and writing them, lines of one
task would be read out of order.
"""

Sources = Callable[[str | None], Iterable[LogSource]]
"""Returns the sources of a job by its id, or of all jobs for None."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """A checked request of entries:list."""

    projects: frozenset[str]
    expression: filters.Expression
    descending: bool
    page_size: int
    after: tuple[str, str] | None
    sizes: Sizes | None
    text: str


LogFile: TypeAlias = "tuple[LogSource, Path]"

PositionedEntry: TypeAlias = "tuple[tuple[str, str], dict[str, Any]]"
"""An entry in the API's JSON, preceded by its position: time and insert id."""


def _answer(query: Query, sources: Sources, written: WrittenEntries) -> dict[str, Any]:
    job_id = filters.required(query.expression, "resource.labels.job_id")
    files = [
        (source, path)
        for source in sources(job_id)
        if project_number(source.project) in query.projects
        for path in sorted(source.folder.glob("*.jsonl"))
    ]
    sizes = query.sizes
    if sizes is None and job_id is not None:
        sizes = {_key(*file): _size(file[1]) for file in files}
    page = list(islice(_matching(query, files, sizes, written), query.page_size + 1))
    answer: dict[str, Any] = {"entries": [document for _, document in page[: query.page_size]]}
    if len(page) > query.page_size:
        last, _ = page[query.page_size - 1]
        answer["nextPageToken"] = page_token([*last, sizes], query=query.text)
    return answer


def _matching(
    query: Query, files: Iterable[LogFile], sizes: Sizes | None, written: WrittenEntries
) -> Iterator[PositionedEntry]:
    task = filters.required(query.expression, "resource.labels.task_name")
    since = filters.lower_bound(query.expression, "timestamp")
    if query.after and not query.descending:
        since = max(since, query.after[0])
    streams = [
        _read_task(
            source,
            path,
            since=since,
            descending=query.descending,
            size=None if sizes is None else sizes.get(_key(source, path), 0),
        )
        for source, path in files
        if task in (None, path.stem)
    ]
    streams.append(written.read(query.projects, since=since, descending=query.descending))
    for position, document in heapq.merge(*streams, key=lambda found: found[0], reverse=query.descending):
        if query.after is not None and not _is_after(position, query.after, descending=query.descending):
            continue
        if filters.matches(query.expression, logging_query.predicate_of(document)):
            yield position, document


def _key(source: LogSource, path: Path) -> str:
    return path.stem if source.trial is None else f"{source.trial}-{path.stem}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _read_task(
    source: LogSource, path: Path, *, since: str, descending: bool, size: int | None
) -> Iterator[PositionedEntry]:
    for entry in logs.read(path, since=since, descending=descending, size=size):
        yield (entry.time, source.insert_id(entry)), document_of(source, entry)


def _is_after(position: tuple[str, str], other: tuple[str, str], *, descending: bool) -> bool:
    return position < other if descending else position > other


def document_of(source: LogSource, entry: logs.Entry) -> dict[str, Any]:
    """Return an entry of a job's log in the API's JSON."""
    return {
        "insertId": source.insert_id(entry),
        "logName": log_name(source, entry.task),
        "resource": {
            "type": "ml_job",
            "labels": {"job_id": source.job_id, "project_id": source.project, "task_name": entry.task},
        },
        "timestamp": entry.time,
        "receiveTimestamp": entry.time,
        "severity": entry.severity,
        "jsonPayload": {"message": entry.message, "levelname": entry.severity},
    }


def log_name(source: LogSource, task: str) -> str:
    """Return the name of a task's log; the service's own messages are in a log with the job's name."""
    log = f"ml.googleapis.com/{source.job_id}" if task == "service" else task
    return f"projects/{source.project}/logs/{quote(log, safe='')}"


def read_query(document: object) -> Query:
    """Return the query of a request. Raises `RpcError`."""
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
        expression = logging_query.parse(text)
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
        sizes=position[2] if position else None,
        text=fixed,
    )


def _projects(resource_names: object) -> frozenset[str]:
    if not isinstance(resource_names, list) or not resource_names:
        raise RpcError(
            "INVALID_ARGUMENT", "resource_names must name at least one project, as projects/PROJECT."
        )
    projects = set()
    for name in resource_names:
        match = re.fullmatch(r"projects/([^/]+)", str(name))
        if match is None:
            raise RpcError(
                "UNIMPLEMENTED",
                f"The emulator does not support the log resource {name!r}, only projects/PROJECT.",
            )
        projects.add(project_number(match[1]))
    return frozenset(projects)


class CloudLogging(Service):
    """The logs of one emulator; `sources` are the sources of its jobs.

    Its methods take and return documents in the API's JSON, and raise `RpcError`.
    """

    def __init__(self, database: Database, clock: Clock, sources: Sources) -> None:
        self.sources = sources
        self.written = WrittenEntries(database)
        self._clock = clock

    def routes(self) -> Sequence[Route]:
        """Return the routes of the methods.

        Other methods are UNIMPLEMENTED, and the error names them.
        """

        def post(pattern: str, method: Callable[[Any], dict[str, Any]], call: str) -> Route:
            return Route("POST", pattern, lambda request, _: _answered(method, request.body.json()), call)

        def of_log(verb: str, pattern: str, method: Callable[[str], dict[str, Any]], call: str) -> Route:
            return Route(verb, pattern, lambda _, match: _answered(method, match[1]), call)

        return [
            post(r"/v2/entries:list", self.list_entries, "LoggingServiceV2.ListLogEntries"),
            post(r"/v2/entries:write", self.write, "LoggingServiceV2.WriteLogEntries"),
            of_log("GET", r"/v2/(projects/[^/]+)/logs", self.logs, "LoggingServiceV2.ListLogs"),
            of_log("DELETE", r"/v2/(projects/[^/]+/logs/.+)", self.delete, "LoggingServiceV2.DeleteLog"),
            Route(ANY_METHOD, r"/v2/(entries:[a-zA-Z]+)", _no_method),
            Route(
                ANY_METHOD,
                r"/v2/(projects/[^/]+/(?:logs|sinks|metrics|exclusions|locations)(?:/.*)?)",
                _no_method,
            ),
        ]

    def remove_all(self) -> None:
        """Remove the entries that programs wrote; the jobs' own logs are removed with the jobs."""
        self.written.remove_all()

    def list_entries(self, document: object) -> dict[str, Any]:
        """Answer ListLogEntries."""
        return _answer(read_query(document), self.sources, self.written)

    def write(self, document: object) -> dict[str, Any]:
        """Answer WriteLogEntries."""
        self.written.add(read_entries(document, clock=self._clock))
        return {}

    def logs(self, parent: str) -> dict[str, Any]:
        """Answer ListLogs, with all names in one page."""
        [number] = _projects([unquote(parent)])
        return {"logNames": sorted(self._names_of_jobs(number) | self.written.log_names(number))}

    def delete(self, name: str) -> dict[str, Any]:
        """Answer DeleteLog: delete the entries that programs wrote."""
        match = LOG_NAME.fullmatch(name)
        if match is None:
            raise RpcError(
                "INVALID_ARGUMENT", f"The log name {name!r} is not of the form projects/PROJECT/logs/LOG."
            )
        number = project_number(match[1])
        if self.written.remove(number, match[2]):
            return {}
        if any(each.endswith(f"/logs/{match[2]}") for each in self._names_of_jobs(number)):
            raise RpcError(
                "FAILED_PRECONDITION", f"{name} has the output of jobs. It is deleted with the jobs."
            )
        raise RpcError("NOT_FOUND", f"Log {name} does not exist.")

    def _names_of_jobs(self, number: str) -> set[str]:
        return {
            log_name(source, path.stem)
            for source in self.sources(None)
            if project_number(source.project) == number
            for path in source.folder.glob("*.jsonl")
        }


def _answered(method: Callable[[Any], dict[str, Any]], argument: object) -> Response:
    try:
        return json_response(method(argument))
    except RpcError as error:
        raise error.http_error() from error


def _no_method(request: Request, match: re.Match[str]) -> Response:
    raise not_supported(f"The emulator does not implement {request.method} /v2/{unquote(match[1])}.")
