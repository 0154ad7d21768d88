"""The log of a job, from Cloud Logging: what is there, or followed until the job has ended.

Cloud Logging's own client cuts timestamps to microseconds, so that a page could not be continued where it
ended; the entries are therefore read as JSON. All functions raise the errors of
`pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Unavailable
from pulumi_vertex_training.cloud.translation import translated
from vertex_training.fields import timestamps

_PAGE_SIZE = 1000
_POLL_SECONDS_LOCAL = 0.5
_POLL_SECONDS_CLOUD = 2.0
_LATE_SECONDS_LOCAL = 2.0
_LATE_SECONDS_CLOUD = 15.0
OUTAGE_SECONDS = 30.0
"""How long `follow` puts up with a service that does not answer."""


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One entry. `timestamp` is RFC 3339 with up to nine decimals; `task` is a replica such as
    "workerpool0-0", or empty for the service itself.
    """

    timestamp: str
    severity: str
    task: str
    message: str
    insert_id: str

    @property
    def time(self) -> datetime:
        """The timestamp, to the microsecond, in UTC."""
        return timestamps.parse(self.timestamp)

    @property
    def order(self) -> tuple[datetime, str, str]:
        """Entries sort by it chronologically, by nanoseconds and then by insert id."""
        fraction = self.timestamp.partition(".")[2].rstrip("Z").ljust(9, "0")
        return self.time, fraction, self.insert_id


def entries(
    endpoint: Endpoint, job_id: str, *, after: datetime | None = None, task: str | None = None
) -> Iterator[LogEntry]:
    """The entries of a job that exist now, oldest first; those before `after` are left out."""
    body = _request(endpoint, job_id, after=after, task=task, order="asc", size=_PAGE_SIZE)
    with translated(endpoint, f"read the log of job {job_id}"):
        while True:
            page = rest.call(endpoint, "POST", f"{endpoint.logging_url}/v2/entries:list", body=body)
            yield from map(_entry, page.get("entries", []))
            if not page.get("nextPageToken"):
                return
            body["pageToken"] = page["nextPageToken"]


def newest(endpoint: Endpoint, job_id: str, *, count: int, task: str | None = None) -> list[LogEntry]:
    """The last `count` entries of a job, at most 1,000, or of one of its tasks; oldest first. One call."""
    body = _request(endpoint, job_id, task=task, order="desc", size=count)
    with translated(endpoint, f"read the log of job {job_id}"):
        page = rest.call(endpoint, "POST", f"{endpoint.logging_url}/v2/entries:list", body=body)
    return [_entry(one) for one in page.get("entries", [])][:count][::-1]


class Tail:
    """The log of a job as it grows: every look brings the entries that no look has brought before.

    Entries that reach the service late, by up to 2 s in the emulator and 15 s on Google Cloud, are still
    delivered, after younger ones that were faster.
    """

    def __init__(self, job_id: str, *, task: str | None = None, after: LogEntry | None = None) -> None:
        """`after`: an entry that is known already; what is older than it is not delivered."""
        self._job_id = job_id
        self._task = task
        self._oldest = after.time if after is not None else None
        self._newest = self._oldest
        self._seen = {(after.timestamp, after.insert_id): after.time} if after is not None else {}

    def poll(self, endpoint: Endpoint) -> Iterator[LogEntry]:
        """The new entries. An iteration that ends early, also by an error, is gone on with by the next."""
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
    """A log that is looked at again and again, as `Tail`."""

    def poll(self, endpoint: Endpoint) -> Iterator[LogEntry]: ...


def follow(
    endpoint: Endpoint,
    job: str | PolledLog,
    *,
    ended: Callable[[], bool],
    task: str | None = None,
    poll: float | None = None,
    again: Callable[[], Endpoint] | None = None,
    outage_seconds: float = OUTAGE_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[LogEntry]:
    """The entries of a job, by its id or as a log, then new ones as they come; no entry twice, late ones as
    in `Tail`. `task` is for an id.

    Ends when `ended()` has said that the job is over and two polls after it brought nothing new. `poll` is in
    seconds; None means 0.5 in the emulator, 2 on Google Cloud. A service that does not answer is asked again
    for `outage_seconds` seconds, an emulator at the endpoint that `again` gives: it may be restarted.
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
            if clock() - silent_since >= outage_seconds:
                raise
            endpoint = again() if again is not None else endpoint
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
    order: str,
    size: int,
) -> dict[str, Any]:
    terms = ['resource.type="ml_job"', f'resource.labels.job_id="{job_id}"']
    if task is not None:
        terms.append(f'resource.labels.task_name="{task}"')
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
