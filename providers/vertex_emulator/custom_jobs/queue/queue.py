"""The queue of jobs between creation and start: which one a quota admits, waits for a slot, or expires."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from vertex_emulator.custom_jobs import store
from vertex_emulator.custom_jobs.queue import slots
from vertex_emulator.custom_jobs.queue.quotas import FreeQuota, Quotas
from vertex_emulator.custom_jobs.queue.slots import Slots, StartDelay
from vertex_emulator.custom_jobs.reconciler import Reconciler
from vertex_emulator.custom_jobs.store import JobStore, WaitingJob
from vertex_emulator.job_folder import outcome
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Next
from vertex_emulator.rpc.methods import RpcError


class FreeMachines(Protocol):
    """What is left of persistent resources at one moment."""

    def take(self, place: Place, job: Any) -> bool:
        """Whether there is room for a job on the resource that it names, which it then has."""


class Allocator(Protocol):
    """The persistent resources."""

    def check(self, place: Place, job: Any) -> None:
        """Raises `RpcError` for a job that names a resource on which it can never run."""

    def free(self) -> FreeMachines:
        """What is left at present."""


class NoResources:
    """Where there are none."""

    def check(self, place: Place, job: Any) -> None:
        wanted = f"{place}/persistentResources/{job.job_spec.persistent_resource_id}"
        raise RpcError("NOT_FOUND", f"The PersistentResource does not exist: {wanted}.")

    def free(self) -> FreeMachines:
        return self

    def take(self, place: Place, job: Any) -> bool:  # noqa: ARG002
        return False


DEFAULT_MAX_WAIT = 24 * 3600
"""Seconds that a job with FLEX_START waits unless it says otherwise (API, `Scheduling.max_wait_duration`)."""

_POLL_SECONDS = 0.2
"""How often it is looked whether a job has ended and left its quota to the next."""


class Queue:
    """Lets jobs in, now or later."""

    def __init__(
        self,
        reconciler: Reconciler,
        store: JobStore,
        quotas: Quotas,
        slots: Slots,
        delay: StartDelay,
        clock: Clock,
    ) -> None:
        self._reconciler = reconciler
        self._store = store
        self._quotas = quotas
        self._slots = slots
        self._delay = delay
        self._clock = clock
        self._lock = threading.Lock()
        self.allocator: Allocator = NoResources()

    def add(self, place: Place, job_id: str, job: Any) -> None:
        """Record a new job and start it when it may. Raises `RpcError`, `sqlite3.Error`."""
        with self._lock:
            now = self._clock.microseconds()
            if job.job_spec.persistent_resource_id:  # its machines are there
                queued, delay = not self._take_machines(place, job), 0
            else:
                queued, delay = not self._quotas.free().take(place, job), round(self._delay.seconds * 1e6)
            if queued:
                store.queue(job)
            wait = None
            if queued or delay or not self._can_start(job, now):
                longest = _max_wait(job)
                wait = WaitingJob(
                    id=job_id,
                    starts=now + delay,
                    queued=queued,
                    delay=delay,
                    gives_up=None if longest is None else now + round(longest * 1e6),
                )
            self._reconciler.add(place, job_id, job, wait=wait)

    def _take_machines(self, place: Place, job: Any) -> bool:
        """Whether a new job can start at once on its persistent resource: nobody is overtaken."""
        free = self.allocator.free()
        waiting = (self._store.find(one.id) for one in self._reconciler.waiting() if one.queued)
        for record in waiting:
            if record is not None and record.message.job_spec.persistent_resource_id:
                free.take(record.place, record.message)
        return free.take(place, job)

    @contextmanager
    def clock_jump(self, jump: int) -> Iterator[None]:
        """The time of day jumps by so many microseconds within the block: who waits does so for no less."""
        with self._lock:
            yield
            if jump:
                self._reconciler.shift_waiting(jump)

    def run_due(self) -> Next:
        """Start the jobs whose time has come, let queued ones in, end those that have waited too long."""
        with self._lock:  # the clock and who waits for it change together
            now = self._clock.microseconds()
            waiting = self._reconciler.waiting()
            if any(one.queued for one in waiting):
                waiting = self._admit(waiting, now)
            self._start_due(waiting, now)
            waiting = self._reconciler.waiting()
        at: int | None = None
        for one in waiting:
            if _has_expired(one, now):
                self._expire(one)
            elif one.queued or now < one.starts:
                times = [each for each in (at, one.gives_up, None if one.queued else one.starts) if each]
                at = min(times, default=None)
        others_end = any(one.queued or _is_due(one, now) for one in waiting)
        return Next(at=at, seconds=_POLL_SECONDS if others_end else None)

    def _can_start(self, job: Any, now: int) -> bool:
        """Whether there is a slot for each replica of a job, and nobody who has waited for some longer."""
        if any(_is_due(one, now) for one in self._reconciler.waiting()):
            return False
        if self._slots.free(each.message for each in self._store.started()).take(job):
            return True
        return self._free_slots().take(job)

    def _free_slots(self) -> slots.FreeSlots:
        return self._slots.free(each.message for each in self._reconciler.live())

    def _start_due(self, waiting: Sequence[WaitingJob], now: int) -> None:
        """The oldest first; what finds no slots waits, and all after it."""
        due = [one for one in waiting if _is_due(one, now)]
        free = self._free_slots() if due else None
        for one in due:
            record = self._store.find(one.id)
            if free is not None and record is not None and not free.take(record.message):
                return
            self._reconciler.start_waiting(one.id)

    def _admit(self, waiting: Sequence[WaitingJob], now: int) -> list[WaitingJob]:
        """The oldest first; the jobs as they wait then."""
        free, shared = self._quotas.free(), self.allocator.free()
        left = []
        for one in waiting:
            record = self._store.find(one.id) if one.queued else None
            if record is not None and _take(free, shared, record.place, record.message):
                left.append(self._reconciler.admit(one, starts=now + one.delay))
            else:
                left.append(one)
        return left

    def _expire(self, one: WaitingJob) -> None:
        record = self._store.find(one.id)
        if record is not None:
            longest = _max_wait(record.message) or 0
            words = f"The job had waited for {longest:g} s (job_spec.scheduling.max_wait_duration)."
            self._reconciler.end_waiting(one.id, outcome.stockout(record.location, words))


def _is_due(one: WaitingJob, now: int) -> bool:
    return not one.queued and now >= one.starts and not _has_expired(one, now)


def _has_expired(one: WaitingJob, now: int) -> bool:
    """Whether a job has waited too long. One that was due before and found no running emulator has not."""
    if one.gives_up is None or now < one.gives_up:
        return False
    return one.queued or one.gives_up < one.starts


def _take(free: FreeQuota, shared: FreeMachines, place: Place, job: Any) -> bool:
    if job.job_spec.persistent_resource_id:
        return shared.take(place, job)
    try:
        return free.take(place, job)
    except RpcError:  # the quota was made smaller meanwhile
        return False


def _max_wait(job: Any) -> float | None:
    """Seconds; None for ever."""
    scheduling = job.job_spec.scheduling
    if store.strategy_of(job) != "FLEX_START" or job.job_spec.persistent_resource_id:
        return None
    if not scheduling.HasField("max_wait_duration"):
        return DEFAULT_MAX_WAIT
    return scheduling.max_wait_duration.ToNanoseconds() / 1e9 or None
