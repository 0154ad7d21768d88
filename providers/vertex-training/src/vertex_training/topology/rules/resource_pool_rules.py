"""The rules of the pools of a declared persistent resource."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.rules import regions
from vertex_training.topology.rules.machines import disk_problems, machine_problems
from vertex_training.topology.rules.resource_pools import ResourcePool

_POOL = "Vertex AI API, ResourcePool"

RESOURCE_POOLS = Rule(
    name="resource-pools",
    says="a persistent resource has at least one pool",
    source="Vertex AI API, PersistentResource.resource_pools",
)
RESOURCE_POOL_ID = Rule(
    name="resource-pool-id",
    says="the pools of a persistent resource have different ids",
    source=f"{_POOL}.id",
)
RESOURCE_POOL_REPLICAS = Rule(
    name="resource-pool-replicas",
    says="a resource pool has a number of machines, or bounds for autoscaling",
    source=f"{_POOL}.replica_count and autoscaling_spec",
)
RESOURCE_POOL_AUTOSCALING = Rule(
    name="resource-pool-autoscaling",
    says="an autoscaled pool has a minimum above 0, a larger maximum, and starts between them",
    source=f"{_POOL}.AutoscalingSpec.min_replica_count and max_replica_count",
)


def pool_problems(
    pools: Sequence[ResourcePool], options: CheckOptions, *, for_ray: bool, path: str = "resource_pools"
) -> Iterator[Problem]:
    """Yield every finding about resource pools; the pools of a Ray cluster (`for_ray`) may shrink to 0."""
    if not pools:
        yield RESOURCE_POOLS.broken(
            path, "is empty; declare a pool with machine_spec and replica_count", rests_on=(path,)
        )
    first: dict[str, int] = {}
    for i, pool in enumerate(pools):
        below = f"{path}[{i}]"
        if pool.id and first.setdefault(pool.id, i) != i:
            other = f"{path}[{first[pool.id]}]"
            yield RESOURCE_POOL_ID.broken(
                f"{below}.id",
                f"{shown(pool.id)} is the id of {other} as well; give each its own, or leave it out",
                rests_on=(f"{below}.id", f"{other}.id"),
            )
        yield from machine_problems(pool.machine_spec, f"{below}.machine_spec", options)
        if pool.disk_spec is not None:
            disk, machine_type = pool.disk_spec, pool.machine_spec.machine_type
            yield from disk_problems(disk, machine_type, f"{below}.disk_spec", options)
        yield from _size_problems(pool, below, for_ray=for_ray)
    alike = [WorkerPoolSpec(machine_spec=pool.machine_spec, replica_count=1) for pool in pools]
    # The rule that all GPUs of one job are in one zone does not hold for a resource of several jobs.
    yield from (
        each for each in regions.region_problems(alike, path, options) if each.rule != regions.ONE_ZONE.name
    )


def _size_problems(pool: ResourcePool, path: str, *, for_ray: bool) -> Iterator[Problem]:
    where, scaling = f"{path}.replica_count", pool.autoscaling_spec
    if pool.replica_count < 0 or (scaling is None and pool.replica_count == 0):
        given = f"{pool.replica_count} machines" if pool.replica_count else "is missing or 0"
        yield RESOURCE_POOL_REPLICAS.broken(
            where,
            f"{given}; give a whole number of 1 or more, or an autoscaling_spec",
            rests_on=(where, f"{path}.autoscaling_spec"),
        )
    if scaling is None:
        return
    least, most = scaling.min_replica_count, scaling.max_replica_count
    smallest, largest = (f"{path}.autoscaling_spec.{end}_replica_count" for end in ("min", "max"))
    if least < 0 or (least == 0 and not for_ray):
        given = str(least) if least else "is missing or 0"
        yield RESOURCE_POOL_AUTOSCALING.broken(
            smallest,
            f"{given}; only the pools of a Ray cluster may shrink to nothing, give 1 or more",
            rests_on=(smallest, "resource_runtime_spec.*"),
        )
    if most <= least:
        yield RESOURCE_POOL_AUTOSCALING.broken(
            largest,
            f"{most} is not above min_replica_count, {least}; give a larger number, or a replica_count "
            "without autoscaling_spec",
            rests_on=(smallest, largest),
        )
    elif pool.replica_count > 0 and not least <= pool.replica_count <= most:
        yield RESOURCE_POOL_AUTOSCALING.broken(
            where,
            f"{pool.replica_count} is not between {least} and {most} of autoscaling_spec; leave it out, or "
            "give a number between them",
            rests_on=(where, smallest, largest),
        )
