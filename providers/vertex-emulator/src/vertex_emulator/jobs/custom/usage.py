"""CPU and memory of the replicas of a job, as the kernel counts them for their processes.

Nothing is measured while nobody asks. The samples of the last jobs that somebody asked for are in memory.
"""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vertex_emulator.job_folder.progress import ReplicaProgress
from vertex_emulator.kernel import machine_clock
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.services.resource_engine.records import Record

_PROC = Path("/proc")
_LEAST_SECONDS = 0.5
_SAMPLES = 240
_JOBS = 32
_PATH = r"/_local/jobs/([0-9]+)/usage"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """CPU seconds and resident bytes of a process, or of a process and all below it."""

    cpu_seconds: float
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process of this machine; its CPU seconds include its ended children's."""

    parent: int
    usage: Usage


def processes(proc: Path = _PROC) -> dict[int, Process]:
    """Return all processes of this machine that can be read."""
    by_pid = {}
    for folder in proc.iterdir():
        if folder.name.isdigit() and (process := _process(folder / "stat")) is not None:
            by_pid[int(folder.name)] = process
    return by_pid


def _process(path: Path) -> Process | None:
    try:
        text = path.read_text(errors="replace")
    except OSError:  # it has ended
        return None
    fields = text.rpartition(")")[2].split()  # a program's name may have spaces and brackets
    try:
        ticks = sum(int(fields[number]) for number in (11, 12, 13, 14))
        return Process(
            parent=int(fields[1]),
            usage=Usage(
                cpu_seconds=ticks / os.sysconf("SC_CLK_TCK"),
                memory_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
            ),
        )
    except (IndexError, ValueError):
        return None


def with_descendants(roots: Mapping[str, int], known: Mapping[int, Process]) -> dict[str, Usage]:
    """Return the sum for each root process and all below it, without roots that have ended."""
    children: dict[int, list[int]] = {}
    for pid, process in known.items():
        children.setdefault(process.parent, []).append(pid)
    return {name: _sum(root, known, children) for name, root in roots.items() if root in known}


def _sum(root: int, known: Mapping[int, Process], children: Mapping[int, Sequence[int]]) -> Usage:
    below, seconds, size = [root], 0.0, 0
    while below:
        pid = below.pop()
        seconds += known[pid].usage.cpu_seconds
        size += known[pid].usage.memory_bytes
        below += children.get(pid, ())
    return Usage(cpu_seconds=seconds, memory_bytes=size)


@dataclass(frozen=True)
class Sample:
    """The use of each running replica at a time, in seconds since 1970 by the machine's clock."""

    at: float
    replicas: Mapping[str, Usage]


@dataclass
class _Samples:
    kept: deque[Sample] = field(default_factory=lambda: deque(maxlen=_SAMPLES))


class UsageRoutes:
    """GET of the samples of a job: it takes another one, unless the last was taken just now."""

    def __init__(
        self,
        records: Callable[[str | None], Sequence[Record]],
        replicas: Callable[[Record], Iterable[ReplicaProgress]],
    ) -> None:
        self._records = records
        self._replicas = replicas
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Samples] = OrderedDict()

    def routes(self) -> Sequence[Route]:
        """Return the route."""
        return (Route("GET", _PATH, self._get),)

    def _get(self, _request: Request, match: re.Match[str]) -> Response:
        for record in self._records(match[1]):
            return json_response({"samples": [_wire(one) for one in self.of(record)]})
        raise HttpError(404, "", f"The emulator has no job {match[1]}. GET /_local/jobs lists its jobs.")

    def of(self, record: Record) -> Sequence[Sample]:
        """Return the samples of a job, oldest first, with a new one if a replica is running."""
        roots = {one.name: one.pid for one in self._replicas(record) if one.state == "running" and one.pid}
        with self._lock:
            samples = self._known.get(record.id)
            if samples is None:
                if not roots:
                    return ()
                samples = self._known[record.id] = _Samples()
            self._known.move_to_end(record.id)
            while len(self._known) > _JOBS:
                self._known.popitem(last=False)
            kept, now = samples.kept, machine_clock.unix_nanoseconds() / 1e9
            if roots and not (kept and 0 <= now - kept[-1].at < _LEAST_SECONDS):
                kept.append(Sample(now, with_descendants(roots, processes())))
            return tuple(kept)


def _wire(sample: Sample) -> dict[str, Any]:
    return {
        "at": round(sample.at, 3),
        "replicas": {
            name: {"cpuSeconds": round(one.cpu_seconds, 3), "memoryBytes": one.memory_bytes}
            for name, one in sample.replicas.items()
        },
    }
