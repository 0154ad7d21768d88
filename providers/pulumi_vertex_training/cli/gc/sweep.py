"""Delete orphans, each only after another lookup right before the deletion."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, Conflict, DeadlineExceeded, NotFound
from pulumi_vertex_training.cloud.objects import ObjectRecord
from pulumi_vertex_training.runs.deletion import PROGRESS_SECONDS, WAIT_SECONDS, StillRunningError, delete_run
from pulumi_vertex_training.runs.deletion_policy import OnDelete
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.persistent import PersistentKind, PersistentRecord

T = TypeVar("T")

AT_ONCE = 16
"""How many jobs are cancelled, and waited for, at the same time."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a thing. `failed`: it is still there though it was to be deleted."""

    words: str
    deleted: bool = False
    failed: bool = False


@dataclass
class Fresh(Generic[T]):
    """Something that is read anew for whoever asks; several who ask at the same time share a reading."""

    read: Callable[[], T]
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: tuple[float, T] | None = None

    def get(self) -> T:
        """What a reading says that began after this call."""
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
    tell: Callable[[str], None],
    wait: float = WAIT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Cancel a job that lives, wait until it has ended, delete its record.

    `refusal` says why a job, as it is now, is not to be touched, "" otherwise; it is asked before it is
    cancelled and again before it is deleted, minutes later perhaps. Never raises a CloudError.
    """
    try:
        record = kind.get(endpoint, name)
        if reason := refusal(record):
            return Outcome(words=f"left alone: {reason}")
        if not record.state.is_terminal:
            tell("cancelling")
            delete_run(
                kind,
                endpoint,
                name,
                label=kind.noun,
                tell=lambda _: None,
                on_delete=OnDelete.CANCEL,
                wait=wait,
                clock=clock,
                sleep=sleep,
            )
            tell("it has ended")
            if reason := refusal(kind.get(endpoint, name)):
                return Outcome(words=f"cancelled, and its record left alone: {reason}")
        kind.delete(endpoint, name)
    except NotFound:
        return Outcome(words="gone before")
    except (CloudError, StillRunningError) as error:
        return Outcome(words=str(error), failed=True)
    return Outcome(words="deleted", deleted=True)


def delete_lasting(
    kind: PersistentKind,
    endpoint: Endpoint,
    name: str,
    *,
    refusal: Callable[[PersistentRecord], str],
    tell: Callable[[str], None],
    wait: float = WAIT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Delete a persistent resource or a model and wait until it is gone. `refusal` as of `delete_job`.

    What stands in the way is looked at again after `refusal`, which reads states and takes its time. Never
    raises a CloudError.
    """
    try:
        if reason := refusal(kind.get(endpoint, name)):
            return Outcome(words=f"left alone: {reason}")
        record = kind.get(endpoint, name)
        if not record.is_going:
            if record.obstacle:
                return Outcome(words=f"not deleted: {record.obstacle}", failed=True)
            kind.delete(endpoint, name)
    except NotFound:
        return Outcome(words="gone before")
    except CloudError as error:
        return Outcome(words=str(error), failed=True)
    try:
        _until_gone(kind, endpoint, record, tell=tell, wait=wait, clock=clock, sleep=sleep)
    except CloudError as error:
        return Outcome(words=str(error), failed=True)
    return Outcome(words="deleted", deleted=True)


def _until_gone(
    kind: PersistentKind,
    endpoint: Endpoint,
    deleted: PersistentRecord,
    *,
    tell: Callable[[str], None],
    wait: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    began = told = clock()
    pause = 0.1
    while True:
        try:
            record = kind.get(endpoint, deleted.name)
        except NotFound:
            return
        if record.create_time != deleted.create_time:
            return  # a new one of this name
        if clock() - began >= wait:
            raise DeadlineExceeded(
                f"{kind.noun} {record.id} is not gone {wait:g} s after its deletion began, it is "
                f"{record.state or 'still there'}. Run the same command again: it goes on waiting.",
                resource=record.id,
                endpoint=endpoint,
            )
        if clock() - told >= PROGRESS_SECONDS:
            told = clock()
            tell(f"is being deleted, for {told - began:.0f} s so far")
        sleep(pause)
        pause = min(pause * 1.5, 5.0)


def delete_object(
    endpoint: Endpoint, bucket: str, name: str, *, refusal: Callable[[ObjectRecord], str]
) -> Outcome:
    """Delete an object, unless it has been written or staged again since `refusal` was asked."""
    try:
        record = objects.get(endpoint, bucket, name)
        if reason := refusal(record):
            return Outcome(words=f"left alone: {reason}")
        objects.delete(
            endpoint,
            bucket,
            name,
            generation=record.generation,
            if_metageneration_match=record.metageneration,
        )
    except NotFound:
        return Outcome(words="gone before")
    except Conflict:
        return Outcome(words="left alone: somebody has just staged it again")
    except CloudError as error:
        return Outcome(words=str(error), failed=True)
    return Outcome(words="deleted", deleted=True)
