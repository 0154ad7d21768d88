"""The pools of a persistent resource, and whether worker pools fit on them.

Source: Vertex AI documentation, "Run training jobs on a persistent resource". Machine and disk of a worker
pool must be exactly those of a resource pool, and its replicas must fit into the size that this pool has, or
may grow to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from vertex_training.catalog import api
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.topology.normal import default_disk, normal_disk, normal_pools
from vertex_training.topology.pools import DiskSpec, MachineSpec, WorkerPoolSpec

_RUN = 'Vertex AI documentation, "Run training jobs on a persistent resource"'

RESOURCE_POOL_MACHINE = Rule(
    name="resource-pool-machine",
    says="machine and disk of a worker pool are those of a pool of the persistent resource",
    source=_RUN,
)
RESOURCE_POOL_SIZE = Rule(
    name="resource-pool-size",
    says="the replicas of a job fit on the persistent resource",
    source=_RUN,
)


@dataclass(frozen=True, kw_only=True)
class AutoscalingSpec:
    """The bounds between which the service scales a resource pool."""

    min_replica_count: int = field(default=0, metadata={"int64": True})
    """Smallest number of machines."""
    max_replica_count: int = field(default=0, metadata={"int64": True})
    """Largest number of machines."""


@dataclass(frozen=True, kw_only=True)
class ResourcePool:
    """Machines of one kind in a persistent resource; the service chooses `id` if it is not given.

    A `replica_count` of 0 means not given, which requires an `autoscaling_spec`.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = api.OUTPUT_ONLY["ResourcePool"]

    machine_spec: MachineSpec
    """Machine of the pool. A worker pool of a job needs a resource pool with exactly its machine and disk."""
    id: str = ""
    """Id of the pool, unique in the persistent resource. Default: the service chooses one."""
    replica_count: int = field(default=0, metadata={"int64": True})
    """Number of machines; with `autoscaling_spec`, the initial number."""
    disk_spec: DiskSpec | None = None
    """Boot disk of the machines."""
    autoscaling_spec: AutoscalingSpec | None = None
    """Limits between which the service changes the number of machines. Give this, `replica_count`, or both.
    """

    @property
    def capacity(self) -> int:
        """The most replicas that the pool can have."""
        most = self.autoscaling_spec.max_replica_count if self.autoscaling_spec else 0
        return max(self.replica_count, most)

    @property
    def is_autoscaled(self) -> bool:
        """True if the service changes `replica_count` by itself."""
        return self.autoscaling_spec is not None


def resource_pool_problems(
    pools: Sequence[WorkerPoolSpec],
    resource_pools: Sequence[ResourcePool],
    path: str = "worker_pool_specs",
    *,
    chosen: str = "persistent_resource_id",
) -> Iterator[Problem]:
    """Yield a finding for each worker pool that does not fit on a persistent resource, all of it free.

    `path` leads to the worker pools, `chosen` the path that names the resource.
    """
    wanted: dict[int, int] = {}
    for position, pool in enumerate(normal_pools(pools)):
        if pool.is_empty or pool.machine_spec is None:
            continue
        fitting = _fitting(pool, resource_pools)
        if fitting is None:
            yield RESOURCE_POOL_MACHINE.broken(
                f"{path}[{position}].machine_spec",
                f"{_in_words(pool.machine_spec, pool.disk_spec)} is not available on the persistent "
                f"resource, which has {'; '.join(map(_pool_in_words, resource_pools)) or 'no machines'}; "
                "use one of them, with the same accelerators and boot disk",
                rests_on=(f"{path}[{position}].*", chosen),
            )
            continue
        wanted[fitting] = wanted.get(fitting, 0) + pool.replica_count
        capacity = resource_pools[fitting].capacity
        if wanted[fitting] > capacity:
            yield RESOURCE_POOL_SIZE.broken(
                f"{path}[{position}].replica_count",
                f"the job needs {wanted[fitting]} of {_in_words(pool.machine_spec, pool.disk_spec)}, but the "
                f"persistent resource has at most {capacity}; use fewer, or enlarge the pool",
                rests_on=(f"{path}.*", chosen),
            )


def jobs_at_once(pools: Sequence[WorkerPoolSpec], resource_pools: Sequence[ResourcePool]) -> int | None:
    """Return how many jobs with these pools fit on a persistent resource at a time, all of it free.

    None means that the job has no machines, or does not fit at all.
    """
    wanted: dict[int, int] = {}
    for pool in normal_pools(pools):
        if pool.is_empty or pool.machine_spec is None:
            continue
        fitting = _fitting(pool, resource_pools)
        if fitting is None:
            return None
        wanted[fitting] = wanted.get(fitting, 0) + pool.replica_count
    jobs = [resource_pools[index].capacity // count for index, count in wanted.items() if count > 0]
    return min(jobs, default=0) or None


def _fitting(pool: WorkerPoolSpec, resource_pools: Sequence[ResourcePool]) -> int | None:
    for index, resource_pool in enumerate(resource_pools):
        if (pool.machine_spec, pool.disk_spec) == (resource_pool.machine_spec, _disk(resource_pool)):
            return index
    return None


def _disk(resource_pool: ResourcePool) -> DiskSpec | None:
    return normal_disk(resource_pool.disk_spec, resource_pool.machine_spec.machine_type)


def _pool_in_words(pool: ResourcePool) -> str:
    return f"{pool.capacity} x {_in_words(pool.machine_spec, _disk(pool))}"


def _in_words(machine: MachineSpec, disk: DiskSpec | None) -> str:
    disk = disk or default_disk(machine.machine_type)
    accelerators = f"{machine.accelerator_count} x {machine.accelerator_type}"
    equipment = f" with {accelerators}" if machine.accelerator_type else ""
    name = machine.machine_type or shown("")
    return f"{name}{equipment} and {disk.boot_disk_type or 'a disk'} of {disk.boot_disk_size_gb} GB"
