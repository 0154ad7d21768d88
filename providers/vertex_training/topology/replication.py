"""n replicas of one machine as worker pools: a chief, and workers like it."""

from __future__ import annotations

from dataclasses import replace

from vertex_training.topology.pools import WorkerPoolSpec


def chief_worker_counts(replica_count: int) -> tuple[int, ...]:
    """The replica counts of a chief and of workers, together `replica_count`; the chief's alone for 1.

    Raises ValueError unless it is a whole number of 1 or more.
    """
    if isinstance(replica_count, bool) or not isinstance(replica_count, int) or replica_count < 1:
        raise ValueError(
            f"{replica_count!r} replicas; a job has at least its chief: give a whole number of 1 or more"
        )
    return (1,) if replica_count == 1 else (1, replica_count - 1)


def chief_worker_pool(pool: WorkerPoolSpec, replica_count: int) -> tuple[WorkerPoolSpec, ...]:
    """1 chief and `replica_count` - 1 workers with the machine, disk, mounts and task of `pool`.

    The replica count of `pool` itself does not matter. Raises ValueError unless `replica_count` is 1 or more.
    """
    return tuple(replace(pool, replica_count=count) for count in chief_worker_counts(replica_count))
