"""CPU and memory of the replicas of a job on the emulator, from the samples that it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.emulator_api import UsageSample
from pulumi_vertex_training.cloud.endpoint import Endpoint

Point = tuple[float, float]

_MIB = 2**20

_GAP_SECONDS = 15.0
"""Seconds between two samples between which nobody looked. Only samples after the last such gap are shown."""


@dataclass(frozen=True, kw_only=True)
class ReplicaUsage:
    """CPUs in use and MiB of memory over the time in seconds since 1970."""

    replica: str
    cpus: tuple[Point, ...]
    memory: tuple[Point, ...]


def usage_of(endpoint: Endpoint, job_id: str) -> tuple[ReplicaUsage, ...]:
    """Return the use of each replica that has run while somebody looked. Raises CloudError."""
    return of_samples(since_last_gap(emulator_api.usage(endpoint, job_id)))


def since_last_gap(samples: Sequence[UsageSample]) -> Sequence[UsageSample]:
    """Return the samples of the last time that a page was open."""
    gaps = [
        number + 1
        for number, (one, next_one) in enumerate(pairwise(samples))
        if next_one.at - one.at > _GAP_SECONDS
    ]
    return samples[gaps[-1] :] if gaps else samples


def of_samples(samples: Sequence[UsageSample]) -> tuple[ReplicaUsage, ...]:
    """Return the use of each replica. CPUs are the CPU time of the time between two samples."""
    names = sorted({name for sample in samples for name in sample.replicas})
    return tuple(
        ReplicaUsage(
            replica=name,
            cpus=tuple(_cpus(samples, name)),
            memory=tuple(
                (sample.at, sample.replicas[name].memory_bytes / _MIB)
                for sample in samples
                if name in sample.replicas
            ),
        )
        for name in names
    )


def _cpus(samples: Sequence[UsageSample], name: str) -> list[Point]:
    found = []
    last: tuple[float, float] | None = None
    for sample in samples:
        if name not in sample.replicas:
            last = None
            continue
        seconds = sample.replicas[name].cpu_seconds
        # A replica that has started again begins at 0.
        if last is not None and sample.at > last[0] and seconds >= last[1]:
            found.append((sample.at, (seconds - last[1]) / (sample.at - last[0])))
        last = (sample.at, seconds)
    return found
