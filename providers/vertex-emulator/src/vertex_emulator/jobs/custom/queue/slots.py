"""The slots in which jobs run, and the delay before they start. Both are settings for tests, in memory.

A replica is a process, and two hundred of them that each load a framework need more memory than most machines
have. Jobs beyond the limit wait in JOB_STATE_PENDING, as they do while machines are provisioned, and start
oldest first. A job with more replicas than the limit runs alone.

A setting applies to the jobs that are created after it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vertex_emulator.server.http.bodies import body_of, seconds, whole_number
from vertex_emulator.server.http.messages import Request, Response, Route, json_response
from vertex_emulator.server.rpc.descriptors import DynamicMessage

_DELAY_PATH = "/_local/start-delay"


class StartDelay:
    """A delay in `seconds` on the emulator's clock, 0 for none; `path` is its admin path."""

    def __init__(self, *, path: str = _DELAY_PATH, seconds: float = 0.0) -> None:
        self._path = path
        self.seconds = seconds

    def routes(self) -> Sequence[Route]:
        """Return GET and PUT; their body looks like {"seconds": 5}."""
        return (Route("GET", self._path, self._get), Route("PUT", self._path, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({"seconds": self.seconds})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        self.seconds = seconds(body_of(request, "seconds"), "seconds")
        return self._get(request, match)


MOST = 100_000

_LIMIT_PATH = "/_local/replica-limit"
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


class Slots:
    """The limit on replicas that run at once. `changed` is called after it was set."""

    def __init__(self, *, changed: Callable[[], None]) -> None:
        self.limit = default_limit()
        self._changed = changed

    def reset(self) -> None:
        """Go back to the default limit."""
        self.limit = default_limit()

    def free(self, running: Iterable[Any]) -> FreeSlots:
        """Return the slots that these running jobs, `CustomJob` messages, leave free."""
        return FreeSlots(limit=self.limit, used=sum(map(replicas_of, running)))

    def routes(self) -> Sequence[Route]:
        """Return GET and PUT; their body looks like {"replicas": 64}."""
        return (Route("GET", _LIMIT_PATH, self._get), Route("PUT", _LIMIT_PATH, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({"replicas": self.limit})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        self.limit = whole_number(body_of(request, "replicas"), "replicas", least=1, most=MOST)
        self._changed()
        return self._get(request, match)


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
