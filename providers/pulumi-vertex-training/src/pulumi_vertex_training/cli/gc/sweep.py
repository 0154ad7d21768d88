"""Delete orphans, each only after another lookup right before the deletion."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, Conflict, DeadlineExceeded, NotFound
from pulumi_vertex_training.cloud.objects import ObjectRecord
from pulumi_vertex_training.runs.deletion import PROGRESS_SECONDS, StillRunningError, delete_run
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.persistent import PersistentKind, PersistentRecord
from vertex_emulator import machine_clock

T = TypeVar("T")

AT_ONCE = 16
"""Number of deletions that run at the same time."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of a deletion. `failed` means that the resource still exists although it should be deleted."""

    words: str
    deleted: bool = False
    failed: bool = False


@dataclass
class SharedRead(Generic[T]):
    """A value that is read again for each caller. Callers that ask at the same time share one read."""

    read: Callable[[], T]
    clock: Callable[[], float] = machine_clock.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: tuple[float, T] | None = None

    def get(self) -> T:
        """Return the result of a read that began after this call."""
        asked = self.clock()
        with self._lock:
            if self._last is None or self._last[0] < asked:
                began = self.clock()
                self._last = (began, self.read())
            return self._last[1]


def delete_job(
    kind: RunGateway,
    endpoint: Endpoint,
    name: str,
    *,
    refusal: Callable[[Any], str],
    report: Callable[[str], None],
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> Outcome:
    """Cancel the job if it is live, wait until it has ended, and delete its record.

    `refusal` returns why the job as it is now must be kept, or "". It is called before the job is cancelled
    and again before it is deleted, perhaps minutes later. Never raises a CloudError.
    """
    try:
        record = kind.get(endpoint, name)
        if reason := refusal(record):
            return Outcome(words=f"skipped: {reason}")
        if not record.state.is_terminal:
            report("cancelling")
            delete_run(
                kind,
                endpoint,
                name,
                label=kind.noun,
                tell=lambda _: None,
                keep_record=True,
                clock=clock,
                sleep=sleep,
            )
            report("ended")
            if reason := refusal(kind.get(endpoint, name)):
                return Outcome(words=f"cancelled, but its record was kept: {reason}")
        kind.delete(endpoint, name)
    except NotFound:
        return Outcome(words="already deleted")
    except (CloudError, StillRunningError) as error:
        return Outcome(words=str(error), failed=True)
    return Outcome(words="deleted", deleted=True)


def delete_persistent(
    kind: PersistentKind,
    endpoint: Endpoint,
    name: str,
    *,
    refusal: Callable[[PersistentRecord], str],
    report: Callable[[str], None],
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> Outcome:
    """Delete a persistent resource or a model and wait until it is deleted. `refusal` is as in `delete_job`.

    The record is read again after `refusal`, which reads states and takes a while. Never raises a CloudError.
    """
    try:
        if reason := refusal(kind.get(endpoint, name)):
            return Outcome(words=f"skipped: {reason}")
        record = kind.get(endpoint, name)
        if not record.is_going:
            if record.obstacle:
                return Outcome(words=f"not deleted: {record.obstacle}", failed=True)
            kind.delete(endpoint, name)
    except NotFound:
        return Outcome(words="already deleted")
    except CloudError as error:
        return Outcome(words=str(error), failed=True)
    try:
        _wait_until_deleted(kind, endpoint, record, report=report, clock=clock, sleep=sleep)
    except CloudError as error:
        return Outcome(words=str(error), failed=True)
    return Outcome(words="deleted", deleted=True)


def _wait_until_deleted(
    kind: PersistentKind,
    endpoint: Endpoint,
    deleted: PersistentRecord,
    *,
    report: Callable[[str], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    began = reported = clock()
    wait, pause = endpoint.timeouts.job_end, 0.1
    while True:
        try:
            record = kind.get(endpoint, deleted.name)
        except NotFound:
            return
        if record.create_time != deleted.create_time:
            return  # another resource of the same name
        if clock() - began >= wait:
            raise DeadlineExceeded(
                f"{kind.noun} {record.id} is still {record.state or 'there'} {wait:g} s after its deletion "
                "began. Run the same command again to keep waiting.",
                resource=record.id,
                endpoint=endpoint,
            )
        if clock() - reported >= PROGRESS_SECONDS:
            reported = clock()
            report(f"deleting for {reported - began:.0f} s")
        sleep(pause)
        pause = min(pause * 1.5, 5.0)


def delete_object(
    endpoint: Endpoint, bucket: str, name: str, *, refusal: Callable[[ObjectRecord], str]
) -> Outcome:
    """Delete an object, unless it was written or staged again after `refusal` was called."""
    try:
        record = objects.get(endpoint, bucket, name)
        if reason := refusal(record):
            return Outcome(words=f"skipped: {reason}")
        objects.delete(
            endpoint,
            bucket,
            name,
            generation=record.generation,
            if_metageneration_match=record.metageneration,
        )
    except NotFound:
        return Outcome(words="already deleted")
    except Conflict:
        return Outcome(words="skipped: it was just staged again")
    except CloudError as error:
        return Outcome(words=str(error), failed=True)
    return Outcome(words="deleted", deleted=True)
