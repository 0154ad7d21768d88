"""The rules of a list of worker pools: their positions, tasks and replica counts.

The rules of machines, tasks, regions, reduction servers and frameworks have their own modules, called from
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vertex_training.catalog.machines import is_tpu
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.topology.normal import normal_pools
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import CHIEF, EVALUATORS, MAX_POOLS
from vertex_training.topology.rules.frameworks import framework_problems
from vertex_training.topology.rules.images import fitting_problems
from vertex_training.topology.rules.machines import disk_problems, machine_problems
from vertex_training.topology.rules.reduction_servers import reduction_server_problems
from vertex_training.topology.rules.regions import region_problems
from vertex_training.topology.rules.tasks import task_problems

_TRAINING = 'Vertex AI documentation, "Distributed training"'
_COMPUTE = 'Vertex AI documentation, "Configure compute resources for serverless training"'

POOLS_MISSING = Rule(
    name="pools-missing",
    says="a job has at least one worker pool",
    source="Vertex AI API, CustomJobSpec.worker_pool_specs",
)
CHIEF_MISSING = Rule(
    name="chief-missing", says="the first worker pool is the chief and cannot be skipped", source=_TRAINING
)
POOLS_TOO_MANY = Rule(
    name="pools-too-many",
    says="a job has at most four worker pools, one for each role",
    source=_TRAINING,
)
REPLICAS_NEGATIVE = Rule(
    name="replicas-negative",
    says="a replica count is 0 or more",
    source="Vertex AI API, WorkerPoolSpec.replica_count",
)
CHIEF_REPLICAS = Rule(
    name="chief-replicas", says="the first worker pool has exactly one replica", source=_TRAINING
)
EVALUATORS_MANY = Rule(
    name="evaluators-many",
    says="TensorFlow expects at most one evaluator",
    source=_TRAINING,
    level="warning",
)
TASK_MISSING = Rule(
    name="task-missing",
    says="a pool with replicas has a task",
    source="Vertex AI API, WorkerPoolSpec.task",
)
TASK_TWICE = Rule(
    name="task-twice",
    says="a pool has one task, a container or a Python package",
    source="Vertex AI API, WorkerPoolSpec.task",
)
MACHINE_MISSING = Rule(
    name="machine-missing",
    says="a pool with replicas has a machine type",
    source="Vertex AI API, MachineSpec.machine_type",
)
TPU_ALONE = Rule(
    name="tpu-alone",
    says="a TPU job has one worker pool with one replica; the topology decides how many machines there are",
    source=_COMPUTE,
)


def validate_pools(
    pools: Sequence[WorkerPoolSpec],
    *,
    path: str = "worker_pool_specs",
    options: CheckOptions = DEFAULT_OPTIONS,
) -> list[Problem]:
    """Return every finding about a list of worker pools, in their order; `path` leads to the list."""
    return list(_problems(pools, path, options))


def _problems(pools: Sequence[WorkerPoolSpec], path: str, options: CheckOptions) -> Iterator[Problem]:
    normal = normal_pools(pools)
    if not pools:
        yield POOLS_MISSING.broken(
            path,
            "there is no worker pool; a job needs at least its chief, the first pool, with 1 replica",
            rests_on=(path,),
        )
    elif not normal or normal[CHIEF].is_empty:
        yield CHIEF_MISSING.broken(
            f"{path}[0]",
            "the first worker pool is empty; it is the chief of the job and cannot be skipped: "
            "give it replica_count 1, a machine and a task",
            rests_on=(f"{path}[0].replica_count",),
        )
    if len(normal) > MAX_POOLS:
        yield POOLS_TOO_MANY.broken(
            path,
            f"there are {len(normal)} worker pools; a job has at most {MAX_POOLS}: chief, workers, "
            "parameter or reduction servers, evaluators. Put replicas of one kind in one pool",
            rests_on=(path,),
        )
    replicas = sum(max(0, pool.replica_count) for pool in normal)
    for position, pool in enumerate(normal):
        if not pool.is_empty:
            yield from _pool_problems(pool, position, f"{path}[{position}]", replicas, options)
    known = normal[:MAX_POOLS]
    yield from _tpu_problems(known, path)
    yield from reduction_server_problems(known, path, options)
    yield from framework_problems(known, path, options)
    yield from region_problems(known, path, options)


def _pool_problems(
    pool: WorkerPoolSpec, position: int, path: str, replicas: int, options: CheckOptions
) -> Iterator[Problem]:
    yield from _replica_problems(pool, position, path, options)
    tasks = (f"{path}.replica_count", f"{path}.container_spec", f"{path}.python_package_spec")
    if pool.task is None and options.with_tasks:
        yield TASK_MISSING.broken(
            path,
            "the pool has replicas but no task; give it container_spec or python_package_spec",
            rests_on=tasks,
        )
    if pool.container_spec is not None and pool.python_package_spec is not None:
        yield TASK_TWICE.broken(
            path,
            "the pool has two tasks, container_spec and python_package_spec; keep one of them",
            rests_on=tasks,
        )
    if pool.machine_spec is None:
        yield MACHINE_MISSING.broken(
            f"{path}.machine_spec",
            "is missing; a pool with replicas needs a machine type, for example n1-standard-4",
            rests_on=(f"{path}.replica_count", f"{path}.machine_spec"),
        )
    else:
        yield from machine_problems(pool.machine_spec, f"{path}.machine_spec", options)
    if pool.disk_spec is not None:
        yield from disk_problems(pool.disk_spec, pool.machine_type, f"{path}.disk_spec", options)
    yield from task_problems(pool, path, replicas=replicas)
    if pool.machine_spec is not None:
        for field, image in pool.images:
            yield from fitting_problems(image, pool.machine_spec, f"{path}.{field}", f"{path}.machine_spec")


def _replica_problems(
    pool: WorkerPoolSpec, position: int, path: str, options: CheckOptions
) -> Iterator[Problem]:
    below, count = f"{path}.replica_count", pool.replica_count
    if count < 0:
        remedy = "a whole number of 0 or more, 0 skips the pool"
        if position == CHIEF:
            remedy = "1, as the first worker pool is the chief of the job"
        yield REPLICAS_NEGATIVE.broken(below, f"{count} replicas; give {remedy}")
    elif position == CHIEF and count != 1:
        remedy = f"Set it to 1 and put the other {count - 1} in worker_pool_specs[1], the workers"
        if is_tpu(pool.machine_type):
            remedy = "Set it to 1, and choose a larger TPU: it decides how many machines there are"
        yield CHIEF_REPLICAS.broken(
            below,
            f"{count} replicas; the first worker pool is the chief of the job and has exactly 1. {remedy}",
        )
    elif position == EVALUATORS and count > 1 and options.framework is None:
        yield EVALUATORS_MANY.broken(
            below,
            f"{count} evaluators; TensorFlow expects at most one, and the others do the same work again: set "
            "it to 1",
        )


def _tpu_problems(pools: Sequence[WorkerPoolSpec], path: str) -> Iterator[Problem]:
    used = [position for position, pool in enumerate(pools) if not pool.is_empty]
    tpus = [position for position in used if is_tpu(pools[position].machine_type)]
    if tpus and used != [CHIEF]:
        counts = (f"{path}[{position}].replica_count" for position in used)
        where = f"the job has {len(used)} worker pools" if len(used) > 1 else "it is not in the first pool"
        yield TPU_ALONE.broken(
            f"{path}[{tpus[0]}].machine_spec.machine_type",
            f"{pools[tpus[0]].machine_type} is a TPU, and {where}; a TPU job has only the first, with 1 "
            "replica: choose a larger TPU instead of more pools",
            rests_on=(f"{path}[{tpus[0]}].machine_spec.machine_type", *counts),
        )
