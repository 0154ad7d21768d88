"""The slots in which jobs run, and the delay before they start. Both are settings for tests, in memory.

A replica is a process, and two hundred of them that each load a framework need more memory than most machines
have. Jobs beyond the limit wait in JOB_STATE_PENDING, as they do while machines are provisioned, and start
oldest first. A job with more replicas than the limit runs alone.

A setting applies to the jobs that are created after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vertex_emulator.server.http.bodies import seconds, whole_number
from vertex_emulator.server.http.settings import Setting
from vertex_emulator.server.rpc.descriptors import DynamicMessage


class StartDelay(Setting[float]):
    """A delay in seconds on the emulator's clock, 0 for none."""

    key = "seconds"

    def __init__(self, *, path: str = "/_local/start-delay", default: float = 0.0) -> None:
        super().__init__(default)
        self.path = path

    def read(self, body: Mapping[str, Any]) -> float:
        return seconds(body, "seconds")


MOST = 100_000

_PER_CPU = 16
_BYTES_PER_REPLICA = 256 << 20
_MINIMUM = 8


def default_limit() -> int:
    """Return the limit of this machine."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        memory = 0
    return limit_of(cpus=os.cpu_count() or 1, memory=memory)


def limit_of(*, cpus: int, memory: int) -> int:
    """Return sixteen replicas for each CPU, as far as each can have 256 MiB of `memory`; at least eight."""
    return max(_MINIMUM, min(_PER_CPU * cpus, memory // _BYTES_PER_REPLICA))


def replicas_of(job: DynamicMessage) -> int:
    """Return the number of replicas of a `CustomJob` message."""
    return sum(pool.replica_count for pool in job.job_spec.worker_pool_specs)


class Slots(Setting[int]):
    """The limit on replicas that run at once. `changed` is called after it was set."""

    path, key = "/_local/replica-limit", "replicas"

    def __init__(self, *, changed: Callable[[], None]) -> None:
        super().__init__(default_limit())
        self.changed = changed

    def read(self, body: Mapping[str, Any]) -> int:
        return whole_number(body, "replicas", least=1, most=MOST)

    def free(self, running: Iterable[Any]) -> FreeSlots:
        """Return the slots that these running jobs, `CustomJob` messages, leave free."""
        return FreeSlots(limit=self.value, used=sum(map(replicas_of, running)))


class FreeSlots:
    """The slots that are free at one moment, taken by one job after the other."""

    def __init__(self, *, limit: int, used: int) -> None:
        self.limit = limit
        self.used = used
        self.is_full = False

    def take(self, job: DynamicMessage) -> bool:
        """Take the slots for a job.

        Return whether there were enough; after the first refusal, all jobs wait.
        """
        wanted = replicas_of(job)
        if self.is_full or (self.used and self.used + wanted > self.limit):
            self.is_full = True
            return False
        self.used += wanted
        return True
