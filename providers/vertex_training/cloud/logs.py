"""The log of a job, from Cloud Logging: what is there, or followed until the job has ended.

Cloud Logging's own client cuts timestamps to microseconds, so that a page could not be continued where it
ended; the entries are therefore read as JSON. All functions raise the errors of
`vertex_training.cloud.errors`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from vertex_training.cloud import rest
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.translation import translated

_PAGE_SIZE = 1000
_POLL_SECONDS_LOCAL = 0.5
_POLL_SECONDS_CLOUD = 2.0
_LATE_SECONDS_LOCAL = 2.0
_LATE_SECONDS_CLOUD = 15.0


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One entry. `timestamp` is RFC 3339 with up to nine decimals; `task` is a replica such as
    "workerpool0-0", or empty for the service itself."""

    timestamp: str
    severity: str
    task: str
    message: str
    insert_id: str

    @property
    def time(self) -> datetime:
        """The timestamp, to the microsecond, in UTC."""
        return parse_time(self.timestamp)

    @property
    def order(self) -> tuple[datetime, str, str]:
        """Entries sort by it chronologically, by nanoseconds and then by insert id."""
        fraction = self.timestamp.partition(".")[2].rstrip("Z").ljust(9, "0")
        return self.time, fraction, self.insert_id


def entries(
    endpoint: Endpoint, job_id: str, *, after: datetime | None = None, task: str | None = None
) -> Iterator[LogEntry]:
    """The entries of a job that exist now, oldest first; those before `after` are left out."""
    terms = ['resource.type="ml_job"', f'resource.labels.job_id="{job_id}"']
    if task is not None:
        terms.append(f'resource.labels.task_name="{task}"')
    if after is not None:
        terms.append(f'timestamp>="{_format(after)}"')
    body: dict[str, Any] = {
        "resourceNames": [f"projects/{endpoint.project}"],
        "filter": " AND ".join(terms),
        "orderBy": "timestamp asc",
        "pageSize": _PAGE_SIZE,
    }
    with translated(endpoint, f"read the log of job {job_id}"):
        while True:
            page = rest.call(endpoint, "POST", f"{endpoint.logging_url}/v2/entries:list", body=body)
            yield from map(_entry, page.get("entries", []))
            if not page.get("nextPageToken"):
                return
            body["pageToken"] = page["nextPageToken"]


def follow(
    endpoint: Endpoint,
    job_id: str,
    *,
    ended: Callable[[], bool],
    task: str | None = None,
    poll: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[LogEntry]:
    """The entries of a job, then new ones as they come; no entry twice.

    Ends when `ended()` has said that the job is over and two polls after it brought nothing new. Entries that
    reach the service late, by up to 2 s in the emulator and 15 s on Google Cloud, are still delivered, after
    younger ones that were faster. `poll` is in seconds; None means 0.5 in the emulator, 2 on Google Cloud.
    """
    pause = poll if poll is not None else _POLL_SECONDS_LOCAL if endpoint.is_emulator else _POLL_SECONDS_CLOUD
    late = timedelta(seconds=_LATE_SECONDS_LOCAL if endpoint.is_emulator else _LATE_SECONDS_CLOUD)
    seen: dict[tuple[str, str], datetime] = {}
    newest: datetime | None = None
    empty_polls = 0
    over = False
    while True:
        over = over or ended()
        brought = False
        for entry in entries(endpoint, job_id, after=newest - late if newest else None, task=task):
            key = (entry.timestamp, entry.insert_id)
            if key in seen:
                continue
            seen[key] = entry.time
            newest = max(newest or entry.time, entry.time)
            brought = True
            yield entry
        if newest is not None:
            horizon = newest - 2 * late
            seen = {key: at for key, at in seen.items() if at >= horizon}
        empty_polls = empty_polls + 1 if over and not brought else 0
        if empty_polls >= 2:
            return
        sleep(pause)


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


def parse_time(timestamp: str) -> datetime:
    """RFC 3339 as Google writes it, in UTC with 0 to 9 decimals."""
    whole, _, rest_ = timestamp.removesuffix("Z").partition(".")
    moment = datetime.fromisoformat(whole.removesuffix("+00:00")).replace(tzinfo=timezone.utc)
    digits = rest_.removesuffix("+00:00")[:6].ljust(6, "0")
    return moment + timedelta(microseconds=int(digits))


def _format(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
