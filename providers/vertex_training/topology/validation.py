"""The rules of worker pools.

Sources: Vertex AI documentation, "Distributed training" and "Configure compute resources for serverless
training"; the comments of the API's messages; the service's own error texts. The machine types and their
accelerators are not checked against a table here, only the shape of their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vertex_training.topology import accelerators
from vertex_training.topology.normal import normal_pools
from vertex_training.topology.pools import DiskSpec, MachineSpec, WorkerPoolSpec
from vertex_training.topology.problems import Problem
from vertex_training.topology.roles import (
    CHIEF,
    EVALUATORS,
    MAX_POOLS,
    WORKERS,
    Role,
    is_distributed,
    role_of,
)
from vertex_training.topology.tasks import task_problems
from vertex_training.topology.words import nearest, one_of, shown

BOOT_DISK_TYPES = ("pd-ssd", "pd-standard", "hyperdisk-balanced")
BOOT_DISK_SIZES_GB = range(100, 64001)

_MACHINE_TYPE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


def validate_pools(pools: Sequence[WorkerPoolSpec], *, path: str = "worker_pool_specs") -> list[Problem]:
    """Every finding about a list of worker pools, in their order; `path` is where the list stands."""
    return list(_problems(pools, path))


def _problems(pools: Sequence[WorkerPoolSpec], path: str) -> Iterator[Problem]:
    normal = normal_pools(pools)
    if not pools:
        yield Problem(
            path=path,
            message="there is no worker pool; a job needs at least its chief, the first pool, with 1 replica",
            rests_on=(path,),
        )
    elif not normal or normal[CHIEF].is_empty:
        yield Problem(
            path=f"{path}[0]",
            message="the first worker pool is empty; it is the chief of the job and cannot be skipped: "
            "give it replica_count 1, a machine and a task",
            rests_on=(f"{path}[0].replica_count",),
        )
    if len(normal) > MAX_POOLS:
        yield Problem(
            path=path,
            message=f"there are {len(normal)} worker pools; a job has at most {MAX_POOLS}: chief, workers, "
            "parameter or reduction servers, evaluators. Give replicas of one kind in one pool",
            rests_on=(path,),
        )
    distributed = is_distributed(normal)
    for position, pool in enumerate(normal):
        if not pool.is_empty:
            yield from _pool_problems(pool, position, f"{path}[{position}]", distributed)
    yield from _comparison_problems(normal, path)


def _pool_problems(pool: WorkerPoolSpec, position: int, path: str, distributed: bool) -> Iterator[Problem]:
    yield from _replica_problems(pool, position, path)
    tasks = (f"{path}.container_spec", f"{path}.python_package_spec")
    if pool.container_spec is None and pool.python_package_spec is None:
        yield Problem(
            path=path,
            message="the pool has replicas but no task; give it container_spec or python_package_spec",
            rests_on=tasks,
        )
    if pool.container_spec is not None and pool.python_package_spec is not None:
        yield Problem(
            path=path,
            message="the pool has two tasks, container_spec and python_package_spec; keep one of them",
            rests_on=tasks,
        )
    if pool.machine_spec is None:
        yield Problem(
            path=f"{path}.machine_spec",
            message="is missing; a pool with replicas needs a machine type, for example n1-standard-4",
        )
    else:
        yield from _machine_problems(pool.machine_spec, f"{path}.machine_spec")
        if position < MAX_POOLS and role_of(position, pool) is Role.REDUCTION_SERVER:
            yield from _reduction_server_problems(pool.machine_spec, path)
    if pool.disk_spec is not None:
        yield from _disk_problems(pool.disk_spec, f"{path}.disk_spec")
    yield from task_problems(pool, path, distributed=distributed)


def _replica_problems(pool: WorkerPoolSpec, position: int, path: str) -> Iterator[Problem]:
    below, count = f"{path}.replica_count", pool.replica_count
    if count < 0:
        yield Problem(
            path=below, message=f"{count} replicas; give a whole number of 0 or more, 0 skips the pool"
        )
    elif position == CHIEF and count != 1:
        yield Problem(
            path=below,
            message=f"{count} replicas; the first worker pool is the chief of the job and has exactly 1. "
            f"Set it to 1 and put the other {count - 1} in worker_pool_specs[1], the workers",
        )
    elif position == EVALUATORS and count > 1:
        yield Problem(
            path=below,
            message=f"{count} evaluators; TensorFlow expects at most one, the others do the same work again",
            level="warning",
        )


def _machine_problems(machine: MachineSpec, path: str) -> Iterator[Problem]:
    if not _MACHINE_TYPE.fullmatch(machine.machine_type):
        yield Problem(
            path=f"{path}.machine_type",
            message=f"{shown(machine.machine_type)} is no machine type; one is written like n1-standard-4",
        )
    kind, count = machine.accelerator_type, machine.accelerator_count
    both = (f"{path}.accelerator_type", f"{path}.accelerator_count")
    if kind is not None and kind not in accelerators.NAMES:
        guess = nearest(kind, accelerators.NAMES) or f"the accelerators are {', '.join(accelerators.NAMES)}"
        yield Problem(path=both[0], message=f"{shown(kind)} is no accelerator of Vertex AI; {guess}")
    if count < 0:
        yield Problem(
            path=both[1], message=f"{count} accelerators; give a whole number of 1 or more, or none"
        )
    elif kind is not None and count == 0:
        yield Problem(
            path=both[1],
            message=f"is missing while accelerator_type is {shown(kind)}; give both accelerator_type and "
            "accelerator_count, or none",
            rests_on=both,
        )
    elif kind is None and count > 0:
        yield Problem(
            path=both[0],
            message=f"is missing while accelerator_count is {count}; give both accelerator_type and "
            "accelerator_count, or none",
            rests_on=both,
        )


def _reduction_server_problems(machine: MachineSpec, path: str) -> Iterator[Problem]:
    if machine.accelerator_type is not None:
        below = f"{path}.machine_spec.accelerator_type"
        yield Problem(
            path=below,
            message=f"{machine.accelerator_type} on reduction servers, which use no accelerators; "
            "leave accelerator_type and accelerator_count out",
            rests_on=(below, f"{path}.container_spec.image_uri"),
        )


def _disk_problems(disk: DiskSpec, path: str) -> Iterator[Problem]:
    if disk.boot_disk_type not in BOOT_DISK_TYPES:
        yield Problem(
            path=f"{path}.boot_disk_type",
            message=f"{shown(disk.boot_disk_type)} is no type of boot disk; use {one_of(BOOT_DISK_TYPES)}",
        )
    if disk.boot_disk_size_gb not in BOOT_DISK_SIZES_GB:
        low, high = BOOT_DISK_SIZES_GB[0], BOOT_DISK_SIZES_GB[-1]
        yield Problem(
            path=f"{path}.boot_disk_size_gb",
            message=f"{disk.boot_disk_size_gb} GB; a boot disk has {low} to {high} GB",
        )


def _comparison_problems(pools: Sequence[WorkerPoolSpec], path: str) -> Iterator[Problem]:
    """What only two pools together show."""
    if len(pools) <= WORKERS or pools[CHIEF].is_empty or pools[WORKERS].is_empty:
        return
    equipment = [_equipment(pools[position]) for position in (CHIEF, WORKERS)]
    if equipment[0] != equipment[1]:
        fields = ("machine_spec.accelerator_type", "machine_spec.accelerator_count", "replica_count")
        yield Problem(
            path=f"{path}[{WORKERS}].machine_spec.accelerator_count",
            message=f"the workers have {equipment[1]} each, the chief has {equipment[0]}; data-parallel "
            "training such as MultiWorkerMirroredStrategy needs the same kind and number on every machine",
            level="warning",
            rests_on=tuple(f"{path}[{i}].{field}" for i in (CHIEF, WORKERS) for field in fields),
        )


def _equipment(pool: WorkerPoolSpec) -> str:
    machine = pool.machine_spec
    if machine is None or machine.accelerator_type is None or machine.accelerator_count <= 0:
        return "no accelerators"
    return f"{machine.accelerator_count} x {machine.accelerator_type}"
