"""n replicas of one machine as worker pools: a chief, and workers like it."""

from __future__ import annotations

from dataclasses import replace

from vertex_training.topology.pools import WorkerPoolSpec


def chief_worker_pool(pool: WorkerPoolSpec, replica_count: int) -> tuple[WorkerPoolSpec, ...]:
    """1 chief and `replica_count` - 1 workers with the machine, disk, mounts and task of `pool`.

    The replica count of `pool` itself does not matter. One replica is the chief alone. Raises ValueError
    unless `replica_count` is 1 or more.
    """
    if replica_count < 1:
        raise ValueError(
            f"{replica_count} replicas; a job has at least its chief: give a whole number of 1 or more"
        )
    chief = replace(pool, replica_count=1)
    return (chief,) if replica_count == 1 else (chief, replace(pool, replica_count=replica_count - 1))
