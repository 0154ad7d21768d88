"""Lists of worker pools by role, with tasks filled in for pools that name no image or package.

A container spec without `image_uri` gets the training's image, a Python package spec without `package_uris`
its package. A pool with neither spec gets the image if there is one, else the package.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import pulumi
from pulumi import Input, _types

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


def with_names_and_counts(pools: object) -> Any:
    """Do for pools that are plain dictionaries what `WorkerPoolSpecArgs` does.

    Image resources become their names, and a pool without `replica_count` has one replica.
    """
    if isinstance(pools, (list, tuple)):
        return [_with_name_and_count(pool) for pool in pools]
    return pools.apply(with_names_and_counts) if isinstance(pools, pulumi.Output) else pools


def _with_name_and_count(pool: object) -> Any:
    if isinstance(pool, pulumi.Output):
        return pool.apply(_with_name_and_count)
    return _with_default_count(_with_image_names(pool))


def _with_image_names(pool: object) -> Any:
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


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """Image and package of a training. The package is installed in `executor_image_uri`.

    `prebuilt` is true if the preset of the framework chooses an image where none is given.
    """

    image_uri: pulumi.Input[str] | None = None
    package_uris: pulumi.Input[Sequence[pulumi.Input[str]]] = ()
    python_module: pulumi.Input[str] | None = None
    executor_image_uri: pulumi.Input[str] | None = None
    prebuilt: bool = False


def missing(role: str, pool: WorkerPool | None, tasks: Tasks) -> list[str]:
    """Return a finding for each task field that neither the pool nor the training gives."""
    if pool is None or not _is_used(pool):
        return []
    container, package = field_of(pool, "container_spec"), field_of(pool, "python_package_spec")
    if container is None and package is None:
        if tasks.image_uri is None and not tasks.package_uris:
            return [
                f"{role}: the pool has no container_spec and no python_package_spec, and no image or package "
                "is given; give one of them"
            ]
        if tasks.image_uri is None:
            package = {}
    found = []
    has_container_image = tasks.image_uri is not None or tasks.prebuilt
    if container is not None and not has_container_image and _lacks(container, "image_uri"):
        found.append(f"{role}.container_spec.image_uri is missing, and no image is given; give one of them")
    if package is not None and not tasks.package_uris and _lacks(package, "package_uris"):
        found.append(
            f"{role}.python_package_spec.package_uris is missing, and no package is given; give one of them"
        )
    has_image = tasks.executor_image_uri is not None or tasks.prebuilt
    if package is not None and not has_image and _lacks(package, "executor_image_uri"):
        found.append(
            f"{role}.python_package_spec.executor_image_uri is missing, and executor_image_uri is not given "
            "either; give one of them, such as one of Google's prebuilt training images"
        )
    return found


def filled(pool: WorkerPool | None, tasks: Tasks) -> WorkerPool | None:
    """Return the pool with its missing task fields filled in."""
    if pool is None or not _is_used(pool):
        return pool
    container, package = field_of(pool, "container_spec"), field_of(pool, "python_package_spec")
    if container is None and package is None:
        container, package = ({}, None) if tasks.image_uri is not None else (None, {})
    changed: dict[str, Any] = {}
    if container is not None:
        changed["container_spec"] = _with(container, {"image_uri": tasks.image_uri})
    if package is not None:
        defaults = {
            "package_uris": _listed(tasks.package_uris),
            "python_module": tasks.python_module,
            "executor_image_uri": tasks.executor_image_uri,
        }
        changed["python_package_spec"] = _with(package, defaults)
    return with_fields(pool, changed)


def _listed(uris: Any) -> Any:
    """Return URIs as a property, None if there are no URIs."""
    return uris if isinstance(uris, pulumi.Output) else list(uris) or None


def _is_used(pool: WorkerPool) -> bool:
    """Return whether the pool is used: `{}` is an unused one."""
    return not isinstance(pool, Mapping) or bool(pool)


def has_fields(value: object) -> bool:
    """Return whether the value is a dictionary or typed arguments, as `with_fields` requires."""
    return isinstance(value, Mapping) or _types.is_input_type(type(value))


def field_of(value: object, name: str) -> Any:
    """Return a field of typed arguments, or of a dictionary in snake or camel case.

    None if it is not given, or if the value is neither of them, which the check rejects.
    """
    if isinstance(value, Mapping):
        return value.get(name, value.get(camel_case(name)))
    return pulumi.get(value, name) if has_fields(value) else None


def _lacks(value: object, name: str) -> bool:
    return not isinstance(value, pulumi.Output) and field_of(value, name) is None


def _with(value: object, defaults: Mapping[str, Any]) -> Any:
    fill: Callable[[Any], Any] = lambda known: with_fields(  # noqa: E731
        known,
        {name: each for name, each in defaults.items() if each is not None and field_of(known, name) is None},
    )
    return value.apply(fill) if isinstance(value, pulumi.Output) else fill(value)


def with_fields(value: T, changes: Mapping[str, Any]) -> T:
    """Return a copy of typed arguments, or of a dictionary, with these fields."""
    if isinstance(value, Mapping):
        replaced = {*changes, *map(camel_case, changes)}
        return cast(T, {**{name: each for name, each in value.items() if name not in replaced}, **changes})
    other = copy.copy(value)
    for name, each in changes.items():
        pulumi.set(other, name, each)
    return other
