"""The queue of jobs between creation and start: admitted by quotas, waiting for machines, or expired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from vertex_emulator.job_folder import outcome
from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.queue import slots
from vertex_emulator.jobs.custom.queue.capacity import Capacities, Capacity, demand
from vertex_emulator.jobs.custom.queue.reasons import Reasons, demand_of
from vertex_emulator.jobs.custom.queue.slots import Slots, StartDelay
from vertex_emulator.jobs.custom.reconciler import Reconciler
from vertex_emulator.jobs.custom.store import JobStore, WaitingJob
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import OuterLock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Next
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.quotas.limits import FreeQuota, Quotas


class FreeMachines(Protocol):
    """The machines of persistent resources that are free at one moment."""

    def take(self, place: Place, job: DynamicMessage) -> bool:
        """Take the machines for a job on its persistent resource. Return whether there were enough."""


class Allocator(Protocol):
    """Allocates the machines of persistent resources to jobs."""

    def check(self, place: Place, job: DynamicMessage) -> None:
        """Check that a job can ever run on the persistent resource that it names. Raises `RpcError`."""

    def free(self) -> FreeMachines:
        """Return the machines that are free now."""


class NoResources:
    """The allocator of an emulator without persistent resources."""

    def check(self, place: Place, job: DynamicMessage) -> None:
        wanted = f"{place}/persistentResources/{job.job_spec.persistent_resource_id}"
        raise RpcError("NOT_FOUND", f"The PersistentResource does not exist: {wanted}.")

    def free(self) -> FreeMachines:
        return self

    def take(self, place: Place, job: DynamicMessage) -> bool:  # noqa: ARG002
        return False


DEFAULT_MAX_WAIT = 24 * 3600
"""Seconds that a job with FLEX_START waits unless it sets another time (API, `Scheduling.max_wait_duration`).
"""

_POLL_SECONDS = 0.2
"""Interval between checks whether a job has ended and its quota is free for the next one."""


class Queue:
    """Starts jobs, at once or when there is capacity for them."""

    def __init__(
        self,
        reconciler: Reconciler,
        store: JobStore,
        quotas: Quotas,
        capacities: Capacities,
        slots: Slots,
        delay: StartDelay,
        clock: Clock,
    ) -> None:
        self._reconciler = reconciler
        self._store = store
        self._quotas = quotas
        self._capacities = capacities
        self._slots = slots
        self._delay = delay
        self._clock = clock
        self._lock = OuterLock(store.database)
        self.allocator: Allocator = NoResources()

    def add(self, place: Place, job_id: str, job: DynamicMessage) -> None:
        """Record a new job, and start it if it may start now. Raises `RpcError`, `sqlite3.Error`."""
        with self._lock:
            now = self._clock.microseconds()
            if job.job_spec.persistent_resource_id:  # its machines are provisioned already
                queued, delay = not self._take_machines(place, job), 0
            else:
                queued = not self._quotas.free().take(place, store.demand_of(job))
                delay = round(self._delay.value * 1e6)
            if queued:
                store.queue(job)
            wait = None
            too_few = (
                None
                if queued or delay
                else self._capacities.free().take(
                    demand(job, region=place.location, strategy=store.strategy_of(job))
                )
            )
            if queued or delay or too_few is not None or not self._can_start(job, now):
                longest = _max_wait(job)
                wait = WaitingJob(
                    id=job_id,
                    starts=now + delay,
                    queued=queued,
                    delay=delay,
                    gives_up=None if longest is None else now + round(longest * 1e6),
                )
                wait = _with_machines(wait, job, too_few, now)
            self._reconciler.add(place, job_id, job, wait=wait)

    def _take_machines(self, place: Place, job: DynamicMessage) -> bool:
        """Return whether a new job can start at once on its persistent resource.

        The queued jobs take their machines first, so that none is overtaken.
        """
        free = self.allocator.free()
        waiting = (self._store.find(one.id) for one in self._reconciler.waiting() if one.queued)
        for record in waiting:
            if record is not None and record.message.job_spec.persistent_resource_id:
                free.take(record.place, record.message)
        return free.take(place, job)

    @contextmanager
    def clock_jump(self, jump: int) -> Iterator[None]:
        """Let waiting jobs wait as long as before while the time of day jumps by `jump` microseconds."""
        with self._lock:
            yield
            if jump:
                self._reconciler.shift_waiting(jump)

    def run_due(self) -> Next:
        """Start the jobs that are due, admit queued ones, and end those that have waited too long."""
        with self._lock:  # the clock and the waiting jobs change together
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
            elif one.queued or one.lacks_machines or now < one.starts:
                starts = one.starts if not one.queued and now < one.starts else None
                times = [each for each in (at, one.gives_up, starts) if each]
                at = min(times, default=None)
        others_end = any(one.queued or _is_due(one, now) for one in waiting)
        return Next(at=at, seconds=_POLL_SECONDS if others_end else None)

    def reasons(self) -> Mapping[str, str]:
        """Return why each waiting job waits, by job id, in words that follow "waits for"."""
        with self._lock:
            now = self._clock.microseconds()
            waiting = self._reconciler.waiting()
            if not waiting:
                return {}
            reasons = Reasons(
                slots=self._slots.free(each.message for each in self._store.started()),
                machines=self._capacities.free(),
                quota=self._quotas.free(),
            )
            found = {}
            for one in waiting:
                record = self._store.find(one.id)
                if record is not None:
                    found[one.id] = reasons.of(record, one, is_due=_is_due(one, now))
            return found

    def _can_start(self, job: DynamicMessage, now: int) -> bool:
        """Return whether there is a slot for each replica of a job, and no older job is due."""
        if any(_is_due(one, now) for one in self._reconciler.waiting()):
            return False
        if self._slots.free(each.message for each in self._store.started()).take(job):
            return True
        return self._free_slots().take(job)

    def _free_slots(self) -> slots.FreeSlots:
        return self._slots.free(each.message for each in self._reconciler.live())

    def _start_due(self, waiting: Sequence[WaitingJob], now: int) -> None:
        """Start the jobs that are due, oldest first.

        A job without machines waits alone. A job without slots waits, and so do all jobs after it.
        """
        due = [one for one in waiting if _is_due(one, now)]
        if not due:
            return
        free, machines = self._free_slots(), self._capacities.free()
        for one in due:
            record = self._store.find(one.id)
            if record is not None:
                too_few = machines.take(demand_of(record))
                if (changed := _with_machines(one, record.message, too_few, now)) != one:
                    self._reconciler.update_waiting(changed)
                if too_few is not None:
                    continue
                if not free.take(record.message):
                    return
            self._reconciler.start_waiting(one.id)

    def _admit(self, waiting: Sequence[WaitingJob], now: int) -> list[WaitingJob]:
        """Admit queued jobs, oldest first. Return all waiting entries as they are then."""
        quota, machines = self._quotas.free(), self.allocator.free()
        entries = []
        for one in waiting:
            record = self._store.find(one.id) if one.queued else None
            if record is not None and _take(quota, machines, record.place, record.message):
                entries.append(self._reconciler.admit(one, starts=now + one.delay))
            else:
                entries.append(one)
        return entries

    def _expire(self, one: WaitingJob) -> None:
        record = self._store.find(one.id)
        if record is not None:
            longest = _max_wait(record.message)
            words = (
                f"The job had waited for {longest:g} s (job_spec.scheduling.max_wait_duration)."
                if longest
                else ""
            )
            self._reconciler.end_waiting(one.id, outcome.stockout(record.location, words))


def _is_due(one: WaitingJob, now: int) -> bool:
    return not one.queued and now >= one.starts and not _has_expired(one, now)


def _has_expired(one: WaitingJob, now: int) -> bool:
    """Return whether a job has waited too long; a job that was due before, while no emulator ran, has not."""
    if one.gives_up is None or now < one.gives_up:
        return False
    return one.queued or one.lacks_machines or one.gives_up < one.starts


def _with_machines(one: WaitingJob, job: DynamicMessage, too_few: Capacity | None, now: int) -> WaitingJob:
    """Return the entry of a job that lacks machines, which limits its wait, or that no longer does."""
    if one.lacks_machines == (too_few is not None):
        return one
    gives_up = one.gives_up
    if store.strategy_of(job) != "FLEX_START":
        gives_up = None if too_few is None else now + round(too_few.wait_seconds * 1e6)
    return replace(one, lacks_machines=too_few is not None, gives_up=gives_up)


def _take(quota: FreeQuota, machines: FreeMachines, place: Place, job: DynamicMessage) -> bool:
    if job.job_spec.persistent_resource_id:
        return machines.take(place, job)
    try:
        return quota.take(place, store.demand_of(job))
    except RpcError:  # the quota was made smaller meanwhile
        return False


def _max_wait(job: DynamicMessage) -> float | None:
    """Return the seconds that a job waits at most, or None if there is no limit."""
    scheduling = job.job_spec.scheduling
    if store.strategy_of(job) != "FLEX_START" or job.job_spec.persistent_resource_id:
        return None
    if not scheduling.HasField("max_wait_duration"):
        return DEFAULT_MAX_WAIT
    return scheduling.max_wait_duration.ToNanoseconds() / 1e9 or None
