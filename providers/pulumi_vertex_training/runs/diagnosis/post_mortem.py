"""The diagnosis of a failed job, with its log if the service's error contains no lines of it."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence

from pulumi_vertex_training.cloud import logs
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.cloud.logs import LogEntry
from pulumi_vertex_training.runs.diagnosis.diagnosis import LINES, SEARCHED, Diagnosis, diagnose, take_apart
from pulumi_vertex_training.runs.gateway import gateway_of

SECONDS = 20.0
"""How long the log may take; after that a failure is reported without it."""

LOOKS = 3
"""The most attempts to read a log that has nothing yet: Cloud Logging is some seconds late."""

_PAUSE_SECONDS = 3.0
_EMULATOR_NOTICE = "NOTICE"


def has_failed(record: JobRecord) -> bool:
    """Return whether there is a failure to diagnose: the job ended without success and was not cancelled."""
    return record.state.is_terminal and record.state.word not in ("SUCCEEDED", "CANCELLED")


def examine(
    endpoint: Endpoint,
    record: JobRecord,
    *,
    seconds: float = SECONDS,
    pause: Callable[[float], None] = time.sleep,
    mask: Callable[[str], str] = str,
) -> Diagnosis:
    """Return why the job failed. Raise nothing. `mask` removes secrets from each message and log entry.

    A log that cannot be read in time is a remark in the diagnosis. No call is made if the service's error has
    the lines, as the emulator's has, or explains itself, as one about a quota does; else at most `LOOKS`.
    """
    message = mask(record.error.message) if record.error else ""
    failure, alone = take_apart(message), diagnose(message)
    if failure.lines or not has_failed(record) or (failure.replica is None and alone.kind):
        return alone
    try:
        entries = _within(seconds, lambda: _last_entries(endpoint, record, failure.replica, pause))
    except (CloudError, TimeoutError) as error:
        return dataclasses.replace(alone, unread=str(error))
    return diagnose(message, lines=[mask(_line(entry, failure.replica)) for entry in entries])


def _last_entries(
    endpoint: Endpoint, record: JobRecord, replica: str | None, pause: Callable[[float], None]
) -> Sequence[LogEntry]:
    """Return the last log entries of the job, or of the first failed job that it ran."""
    sources = gateway_of(record.name).log_sources(endpoint, record)
    job_id = next((one.job_id for one in sources if one.failed), sources[-1].job_id if sources else None)
    if job_id is None:
        return ()
    found: Sequence[LogEntry] = ()
    for look in range(LOOKS):
        found = logs.newest(endpoint, job_id, count=max(LINES, SEARCHED), task=replica)
        if found or endpoint.is_emulator:
            break
        if look + 1 < LOOKS:
            pause(_PAUSE_SECONDS)
    # The error contains the service's own entries; the emulator's notice is about the image.
    return [entry for entry in found if entry.task and entry.severity != _EMULATOR_NOTICE]


def _line(entry: LogEntry, replica: str | None) -> str:
    return entry.message if replica else f"{entry.task}: {entry.message}"


def _within(seconds: float, work: Callable[[], Sequence[LogEntry]]) -> Sequence[LogEntry]:
    """Return the result of the work. Raise its error, or TimeoutError; the thread then goes on."""
    results: list[Sequence[LogEntry]] = []
    errors: list[CloudError] = []

    def run() -> None:
        try:
            results.append(work())
        except CloudError as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="post-mortem", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer in {seconds:g} s")
    return results[0]
