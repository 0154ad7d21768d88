"""The log of a job in Cloud Logging: read once, or followed until the job has ended.

Entries are read as JSON, because Cloud Logging's own client cuts timestamps to microseconds, so that a page
could not be continued where it ended. All functions raise the errors of
`pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.cloud.translation import translated
from vertex_emulator import machine_clock
from vertex_training.fields import timestamps

_PAGE_SIZE = 1000
_POLL_SECONDS_LOCAL = 0.5
_POLL_SECONDS_CLOUD = 2.0
_LATE_SECONDS_LOCAL = 2.0
_LATE_SECONDS_CLOUD = 15.0


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """An entry of a log; `timestamp` is RFC 3339 with up to nine decimals.

    `task` is a replica such as "workerpool0-0", or empty for the service itself.
    """

    timestamp: str
    severity: str
    task: str
    message: str
    insert_id: str

    @property
    def time(self) -> datetime:
        """The timestamp in UTC, to the microsecond."""
        return timestamps.parse(self.timestamp)

    @property
    def order(self) -> tuple[datetime, str, str]:
        """The sort key of entries: chronological, by nanoseconds and then by insert id."""
        fraction = self.timestamp.partition(".")[2].rstrip("Z").ljust(9, "0")
        return self.time, fraction, self.insert_id


def entries(
    endpoint: Endpoint, job_id: str, *, after: datetime | None = None, task: str | None = None
) -> Iterator[LogEntry]:
    """Yield the existing entries of a job, oldest first; those before `after` are left out."""
    body = _request(endpoint, job_id, after=after, task=task, order="asc", size=_PAGE_SIZE)
    with translated(endpoint, f"read the log of job {job_id}"):
        while True:
            page = rest.call(endpoint, "POST", f"{endpoint.logging_url}/v2/entries:list", body=body)
            yield from map(_entry, page.get("entries", []))
            if not page.get("nextPageToken"):
                return
            body["pageToken"] = page["nextPageToken"]


def newest(
    endpoint: Endpoint, job_id: str, *, count: int, task: str | None = None, words: str = ""
) -> list[LogEntry]:
    """Return the last `count` entries (at most 1,000) of a job or one of its tasks, oldest first.

    With `words`, those that contain them. It takes one call.
    """
    body = _request(endpoint, job_id, task=task, words=words, order="desc", size=count)
    with translated(endpoint, f"read the log of job {job_id}"):
        page = rest.call(endpoint, "POST", f"{endpoint.logging_url}/v2/entries:list", body=body)
    return [_entry(one) for one in page.get("entries", [])][:count][::-1]


class Tail:
    """The growing log of a job: every poll returns the entries that no earlier poll returned.

    Entries that reach the service late, by up to 2 s in the emulator and 15 s on Google Cloud, are still
    returned, after later ones that arrived earlier.
    """

    def __init__(self, job_id: str, *, task: str | None = None, after: LogEntry | None = None) -> None:
        """Start after the entry `after`; older entries are not returned."""
        self._job_id = job_id
        self._task = task
        self._oldest = after.time if after is not None else None
        self._newest = self._oldest
        self._seen = {(after.timestamp, after.insert_id): after.time} if after is not None else {}

    def poll(self, endpoint: Endpoint) -> Iterator[LogEntry]:
        """Yield the new entries. If the iteration ends early or fails, the next poll continues it."""
        late = timedelta(seconds=_LATE_SECONDS_LOCAL if endpoint.is_emulator else _LATE_SECONDS_CLOUD)
        since = self._newest - late if self._newest else None
        if since is not None and self._oldest is not None:
            since = max(since, self._oldest)
        for entry in entries(endpoint, self._job_id, after=since, task=self._task):
            key = (entry.timestamp, entry.insert_id)
            if key in self._seen:
                continue
            self._seen[key] = entry.time
            self._newest = max(self._newest or entry.time, entry.time)
            yield entry
        if self._newest is not None:
            horizon = self._newest - 2 * late
            self._seen = {key: at for key, at in self._seen.items() if at >= horizon}


class PolledLog(Protocol):
    """A log that is polled repeatedly, such as `Tail`."""

    def poll(self, endpoint: Endpoint) -> Iterator[LogEntry]:
        """Yield the new entries."""


def follow(
    endpoint: Endpoint,
    job: str | PolledLog,
    *,
    ended: Callable[[], bool],
    task: str | None = None,
    poll: float | None = None,
    reconnect: Callable[[], Endpoint] | None = None,
    sleep: Callable[[float], None] = machine_clock.sleep,
    clock: Callable[[], float] = machine_clock.monotonic,
) -> Iterator[LogEntry]:
    """Yield the entries of a job, then new ones as they arrive; late ones as in `Tail`, none twice.

    `job` is an id or a log; `task` applies to an id. Ends once `ended()` has returned true and two more polls
    returned nothing new. `poll` is in seconds, by default 0.5 in the emulator and 2 on Google Cloud. While
    the service does not answer, it is polled for the endpoint's `timeouts.outage`; an emulator that may be
    restarted is polled at the endpoint that `reconnect` returns.
    """
    pause = poll if poll is not None else _POLL_SECONDS_LOCAL if endpoint.is_emulator else _POLL_SECONDS_CLOUD
    tail = Tail(job, task=task) if isinstance(job, str) else job
    empty_polls = 0
    over = False
    silent_since: float | None = None
    while True:
        brought = False
        try:
            over = over or ended()
            for entry in tail.poll(endpoint):
                brought = True
                yield entry
        except Unavailable:
            silent_since = clock() if silent_since is None or brought else silent_since
            if clock() - silent_since >= endpoint.timeouts.outage:
                raise
            endpoint = reconnect() if reconnect is not None else endpoint
        else:
            silent_since = None
            empty_polls = empty_polls + 1 if over and not brought else 0
        if empty_polls >= 2:
            return
        sleep(pause)


def _request(
    endpoint: Endpoint,
    job_id: str,
    *,
    after: datetime | None = None,
    task: str | None = None,
    words: str = "",
    order: str,
    size: int,
) -> dict[str, Any]:
    terms = ['resource.type="ml_job"', f'resource.labels.job_id="{job_id}"']
    if task is not None:
        terms.append(f'resource.labels.task_name="{task}"')
    if words:
        terms.append(f'"{words}"')
    if after is not None:
        terms.append(f'timestamp>="{_format(after)}"')
    return {
        "resourceNames": [f"projects/{endpoint.project}"],
        "filter": " AND ".join(terms),
        "orderBy": f"timestamp {order}",
        "pageSize": size,
    }


def _entry(wire: Mapping[str, Any]) -> LogEntry:
    labels = wire.get("resource", {}).get("labels", {})
    payload = wire.get("jsonPayload", {})
    message = wire.get("textPayload")
    if message is None:
        message = payload.get("message", payload) if isinstance(payload, Mapping) else payload
    task = str(labels.get("task_name", ""))
    return LogEntry(
        timestamp=str(wire.get("timestamp") or wire.get("receiveTimestamp") or "1970-01-01T00:00:00Z"),
        severity=str(wire.get("severity", "DEFAULT")),
        task="" if task == "service" else task,
        message=str(message).rstrip("\n"),
        insert_id=str(wire.get("insertId", "")),
    )


def _format(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
