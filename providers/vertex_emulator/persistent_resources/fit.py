"""Which resource pools a job takes, and how much of them. Pure; everything is a message of the API.

Vertex AI documentation, "Run training jobs on a persistent resource": machine and disk of a worker pool are
those of a resource pool exactly, and its replicas fit into what that pool has left, or may grow to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Taken = Mapping[int, int]
"""How many machines of each resource pool, by its position."""


def capacity(pool: Any) -> int:
    """The most machines that a resource pool can have."""
    most = pool.autoscaling_spec.max_replica_count if pool.HasField("autoscaling_spec") else 0
    return int(max(pool.replica_count, most))


def placed(job: Any, resource: Any, used: Taken) -> dict[int, int] | None:
    """What a job takes where so much is used already; None where it does not fit.

    A worker pool is in one resource pool, the first that matches and has room.
    """
    found: dict[int, int] = {}
    for pool in _needed(job):
        for index in _matching(pool, resource):
            taken = used.get(index, 0) + found.get(index, 0)
            if taken + pool.replica_count <= capacity(resource.resource_pools[index]):
                found[index] = found.get(index, 0) + pool.replica_count
                break
        else:
            return None
    return found


def usage(resource: Any, jobs: Iterable[Any]) -> dict[int, int]:
    """What jobs, the oldest first, have taken. One that a pool was made too small for still has its share."""
    used: dict[int, int] = {}
    for job in jobs:
        for index, count in (placed(job, resource, used) or _somewhere(job, resource)).items():
            used[index] = used.get(index, 0) + count
    return used


def strangers(job: Any, resource: Any) -> Sequence[int]:
    """The positions of the worker pools that match no resource pool."""
    return [
        index
        for index, pool in enumerate(job.job_spec.worker_pool_specs)
        if pool.replica_count and not _matching(pool, resource)
    ]


def settle(resource: Any, used: Taken) -> bool:
    """Note what is used; autoscaled pools grow to it at once, and shrink again when less of them is.

    Whether the resource has changed.
    """
    changed = False
    for index, pool in enumerate(resource.resource_pools):
        now, before = used.get(index, 0), pool.used_replica_count
        if pool.HasField("autoscaling_spec"):
            size = max(pool.replica_count, now)
            if now < before:
                size = max(pool.autoscaling_spec.min_replica_count, now)
            changed = changed or size != pool.replica_count
            pool.replica_count = size
        changed = changed or now != before
        pool.used_replica_count = now
    return changed


def _needed(job: Any) -> Iterable[Any]:
    return (pool for pool in job.job_spec.worker_pool_specs if pool.replica_count)


def _matching(pool: Any, resource: Any) -> Sequence[int]:
    return [
        index
        for index, each in enumerate(resource.resource_pools)
        if each.machine_spec == pool.machine_spec and each.disk_spec == pool.disk_spec
    ]


def _somewhere(job: Any, resource: Any) -> dict[int, int]:
    found: dict[int, int] = {}
    for pool in _needed(job):
        for index in _matching(pool, resource)[:1]:
            found[index] = found.get(index, 0) + pool.replica_count
    return found
