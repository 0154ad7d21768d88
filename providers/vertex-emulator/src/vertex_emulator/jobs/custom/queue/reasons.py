"""Why jobs wait for their start, in words that follow "waits for"."""

from __future__ import annotations

from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.custom.queue.capacity import Capacity, Demand, FreeCapacity, demand
from vertex_emulator.jobs.custom.queue.slots import FreeSlots, replicas_of
from vertex_emulator.jobs.custom.store import WaitingJob
from vertex_emulator.services.quotas.limits import FreeQuota
from vertex_emulator.services.resource_engine.records import Record
from vertex_training.findings.words import duration


class Reasons:
    """The reasons of the waiting jobs, asked for in the order in which they would start."""

    def __init__(self, *, slots: FreeSlots, machines: FreeCapacity, quota: FreeQuota) -> None:
        self._slots = slots
        self._machines = machines
        self._quota = quota
        self._first = ""
        self._others = 0  # behind the first

    def of(self, record: Record, one: WaitingJob, *, is_due: bool) -> str:
        """Return why a job waits. It takes what is free for it, so later jobs find the rest."""
        if one.queued:
            return self._queued(record)
        if not is_due:
            return f"the start delay of {_in_words(one.delay / 1e6)} to pass (`vertex-emulator start-delay`)"
        wanted = demand_of(record)
        too_few = self._machines.take(wanted)
        if too_few is not None:
            return self._capacity(too_few, wanted)
        was_full = self._slots.is_full
        if self._slots.take(record.message):
            return "its start"
        if was_full:
            self._others += 1
            return self._behind(self._others - 1)
        self._first = f"custom job {record.message.display_name or record.id}"
        return self._replica_slots(replicas_of(record.message))

    def _behind(self, others: int) -> str:
        if not others:
            return f"{self._first}, which is before it in the queue"
        return f"{self._first} and {others} more, which are before it in the queue"

    def _queued(self, record: Record) -> str:
        resource = record.message.job_spec.persistent_resource_id
        if resource:
            return f"free machines of the persistent resource {resource}"
        needs = store.demand_of(record.message)
        short = self._quota.short(record.place, needs)
        if not short:
            return "its admission by the quota"
        metric, limit = short[0].metric, short[0].limit
        used = self._quota.used(record.place, metric)
        return (
            f"{needs[metric]} of the quota {metric} in {record.location}; {used} of {limit} are in use "
            "(`vertex-emulator quota list`)"
        )

    def _capacity(self, capacity: Capacity, wanted: Demand) -> str:
        used = self._machines.use_of(capacity, wanted.region)
        return (
            f"{wanted.machines[capacity.machine]} x {capacity.machine} in {wanted.region}; "
            f"{capacity.available} are there and {used} in use (`vertex-emulator capacity list`)"
        )

    def _replica_slots(self, wanted: int) -> str:
        noun = "replica slot" if wanted == 1 else "replica slots"
        taken = f", and {self._slots.used} are taken" if self._slots.used else ""
        return (
            f"{wanted} {noun}; {self._slots.limit} run at once here{taken} (`vertex-emulator replica-limit`)"
        )


def _in_words(seconds: float) -> str:
    return duration(seconds) if seconds >= 1 else f"{seconds:g} s"


def demand_of(record: Record) -> Demand:
    """Return the machines that a job needs."""
    return demand(record.message, region=record.place.location, strategy=store.strategy_of(record.message))
