"""Fill in the tasks of pools that do not name an image or package, for `DistributedTraining`.

A container spec without `image_uri` gets the training's image, a Python package spec without `package_uris`
its package. A pool with neither spec gets the image if there is one, else the package.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import pulumi
from pulumi import _types

from pulumi_vertex_training.program.arguments.worker_pools import WorkerPool
from vertex_training.fields.schema import camel_case

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


def _with(value: Any, defaults: Mapping[str, Any]) -> Any:
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
