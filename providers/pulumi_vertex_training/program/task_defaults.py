"""The tasks of pools that leave open which image or package they run: a `DistributedTraining` fills them in.

A container spec without `image_uri` runs the training's image, a Python package spec without `package_uris`
its package; a pool with neither runs the image where there is one, else the package.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import _types

from pulumi_vertex_training.program.job_args import WorkerPool
from vertex_training.fields.schema import camel_case


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """What a training has for its pools to run. `executor_image_uri`: in what its package is installed."""

    image_uri: pulumi.Input[str] | None = None
    package_uris: pulumi.Input[Sequence[pulumi.Input[str]]] = ()
    python_module: pulumi.Input[str] | None = None
    executor_image_uri: pulumi.Input[str] | None = None


def missing(role: str, pool: WorkerPool | None, tasks: Tasks) -> list[str]:
    """What a pool leaves open and nothing is given for; a line each."""
    if pool is None or not _is_filled(pool):
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
    if container is not None and tasks.image_uri is None and _lacks(container, "image_uri"):
        found.append(f"{role}.container_spec.image_uri is missing, and no image is given; give one of them")
    if package is not None and not tasks.package_uris and _lacks(package, "package_uris"):
        found.append(
            f"{role}.python_package_spec.package_uris is missing, and no package is given; give one of them"
        )
    if package is not None and tasks.executor_image_uri is None and _lacks(package, "executor_image_uri"):
        found.append(
            f"{role}.python_package_spec.executor_image_uri is missing, and executor_image_uri is not given "
            "either; give one of them, such as one of Google's prebuilt training images"
        )
    return found


def filled(pool: WorkerPool | None, tasks: Tasks) -> WorkerPool | None:
    """The pool with what it leaves open filled in."""
    if pool is None or not _is_filled(pool):
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
    done: WorkerPool = with_fields(pool, changed)
    return done


def _listed(uris: Any) -> Any:
    """Addresses as a property; None for none of them."""
    return uris if isinstance(uris, pulumi.Output) else list(uris) or None


def _is_filled(pool: WorkerPool) -> bool:
    """Whether the pool is for us to complete: `{}` is an unused one."""
    return not isinstance(pool, Mapping) or bool(pool)


def has_fields(value: Any) -> bool:
    """Whether it is a dictionary or typed arguments: `with_fields` takes nothing else."""
    return isinstance(value, Mapping) or _types.is_input_type(type(value))


def field_of(value: Any, name: str) -> Any:
    """A field of typed arguments, or of a dictionary in either spelling; None where it is not given, and of
    everything else, which the check refuses.
    """
    if isinstance(value, Mapping):
        return value.get(name, value.get(camel_case(name)))
    return pulumi.get(value, name) if has_fields(value) else None


def _lacks(value: Any, name: str) -> bool:
    return not isinstance(value, pulumi.Output) and field_of(value, name) is None


def _with(value: Any, defaults: Mapping[str, Any]) -> Any:
    fill: Callable[[Any], Any] = lambda known: with_fields(  # noqa: E731
        known,
        {name: each for name, each in defaults.items() if each is not None and field_of(known, name) is None},
    )
    return value.apply(fill) if isinstance(value, pulumi.Output) else fill(value)


def with_fields(value: Any, changes: Mapping[str, Any]) -> Any:
    """A copy of typed arguments, or of a dictionary, with these fields."""
    if isinstance(value, Mapping):
        replaced = {*changes, *map(camel_case, changes)}
        return {**{name: each for name, each in value.items() if name not in replaced}, **changes}
    other = copy.copy(value)
    for name, each in changes.items():
        pulumi.set(other, name, each)
    return other
