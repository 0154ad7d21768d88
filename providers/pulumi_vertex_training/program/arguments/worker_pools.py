"""Lists of worker pools by role, and the names of image resources in them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

import pulumi
from pulumi import Input

from pulumi_vertex_training.program.arguments.arguments_class import IMAGES
from pulumi_vertex_training.program.arguments.job_args import WorkerPoolSpecArgs
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.arguments.references import image_uri
from vertex_training.fields.schema import camel_case

WorkerPool = WorkerPoolSpecArgs | Mapping[str, object]

_IMAGE_KEYS = {spelling for name in IMAGES for spelling in (name, camel_case(name))}
_TASK_KEYS = {
    spelling for name in ("container_spec", "python_package_spec") for spelling in (name, camel_case(name))
}


def with_image_names(pools: Any) -> Any:
    """Replace image resources in pools by their names, also in plain dictionaries."""
    if isinstance(pools, (list, tuple)):
        return [_with_image_names(pool) for pool in pools]
    return pools.apply(with_image_names) if isinstance(pools, pulumi.Output) else pools


def _with_image_names(pool: Any) -> Any:
    """Replace image resources in a pool or a task; our own classes have already done it."""
    if not isinstance(pool, Mapping):
        return pool
    return {
        key: image_uri(value)
        if key in _IMAGE_KEYS
        else _with_image_names(value)
        if key in _TASK_KEYS
        else value
        for key, value in pool.items()
    }


@checked_call
def topology(
    *,
    chief: WorkerPool,
    workers: WorkerPool | None = None,
    parameter_servers: WorkerPool | None = None,
    reduction_servers: WorkerPool | Literal["auto"] | None = None,
    evaluator: WorkerPool | None = None,
) -> list[WorkerPool]:
    """Return the list of worker pools for `CustomJob(worker_pool_specs=...)` from pools by role.

    `reduction_servers="auto"` makes as many as the network bandwidth of chief and workers needs, with
    Google's image for the job's region. To choose their machine, give a pool with `replica_count="auto"`.

    Positions are chief, workers, parameter or reduction servers, evaluator; an unused one becomes the empty
    pool `{}` (Vertex AI documentation, "Distributed training"). Raises `pulumi.RunError` if both parameter
    and reduction servers are given: they share one position.
    """
    if parameter_servers is not None and reduction_servers is not None:
        raise pulumi.RunError(
            "parameter_servers and reduction_servers are both given; they share the third worker pool. "
            "Leave one of them out."
        )
    if reduction_servers == "auto":
        reduction_servers = {"replica_count": "auto"}
    servers = parameter_servers if parameter_servers is not None else reduction_servers
    pools = [chief, workers, servers, evaluator]
    while pools[-1] is None:
        pools.pop()
    return [{} if pool is None else _with_default_count(pool) for pool in pools]


def _with_default_count(pool: WorkerPool) -> WorkerPool:
    """Set the default of one replica in a dictionary, as `WorkerPoolSpecArgs` does."""
    if not isinstance(pool, Mapping) or not pool or {"replica_count", "replicaCount"} & set(pool):
        return pool
    return {**pool, "replica_count": 1}


@checked_call
def chief_worker_pool(pool: WorkerPool, *, replica_count: Input[int]) -> list[WorkerPool]:
    """Return worker pools with `replica_count` equal replicas: one chief, and workers for the rest.

    All have the same machine and task. Raises `pulumi.RunError` for a count below 1.
    """
    if isinstance(replica_count, pulumi.Output):
        return [_with_replicas(pool, 1), _with_replicas(pool, replica_count.apply(_workers_of))]
    from vertex_training.topology.pools import chief_worker_counts  # imported only if needed

    try:
        counts = chief_worker_counts(replica_count)  # type: ignore[arg-type]
    except ValueError:
        raise pulumi.RunError(
            f"chief_worker_pool: replica_count is {replica_count!r}; give a whole number of 1 or more, "
            "including the chief"
        ) from None
    return [_with_replicas(pool, count) for count in counts]


def _workers_of(replica_count: int) -> int:
    from vertex_training.topology.pools import chief_worker_counts  # imported only if needed

    return sum(chief_worker_counts(int(replica_count))[1:])


def _with_replicas(pool: WorkerPool, count: Input[int]) -> WorkerPool:
    if isinstance(pool, Mapping):
        return {
            **{key: value for key, value in pool.items() if key != "replicaCount"},
            "replica_count": count,
        }
    other = copy.copy(pool)
    pulumi.set(other, "replica_count", count)
    return other
