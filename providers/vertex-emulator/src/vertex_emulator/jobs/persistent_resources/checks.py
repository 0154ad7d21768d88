"""The checks of persistent resources, and of whether a job fits on one.

Written apart from the client's rules, so that the two do not share a misunderstanding. Known words: the rules
of ids and of labels (a public log). The rules come from the comments of the API's messages and from the
documentation, "Create a persistent resource" and "Reboot a persistent resource".

Vertex AI documentation, "Run training jobs on a persistent resource": machine and disk of a worker pool are
exactly those of a resource pool, and its replicas fit into the machines that are free in that pool, or that
it can still add.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from google.protobuf.field_mask_pb2 import FieldMask

from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.services.resource_engine import machine_types, names
from vertex_emulator.services.resource_engine.names import IdRule

IDS = IdRule(
    pattern=re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?"),
    words="persistent_resource_id can only contain numbers, lower case letters and hyphens. The first "
    "character must be a letter, and the last character must be a letter or number.",
    required=True,
)
_ACCELERATOR = "Both `accelerator_type` and `accelerator_count` should be specified or none."
_DISK_TYPES = ("pd-ssd", "pd-standard", "hyperdisk-balanced")
_DISK_SIZES = range(100, 64_001)
_MAX_DISPLAY_NAME = 128
_SETTINGS = ("display_name", "labels")
_SIZES = ("resource_pools", "resource_pools.replica_count")


def update(resource: DynamicMessage, given: DynamicMessage, mask: Sequence[str]) -> None:
    """Apply an update to a resource. Raises `RpcError`."""
    if not mask:
        raise invalid_fields([Violation("update_mask", "Required field is not set.")])
    if other := [path for path in mask if path not in (*_SETTINGS, *_SIZES)]:
        raise RpcError(
            "UNIMPLEMENTED",
            f"The emulator does not update {', '.join(other)} of a persistent resource, only "
            f"{', '.join(_SETTINGS)} and resource_pools.replica_count.",
        )
    settings = FieldMask(paths=[path for path in mask if path in _SETTINGS])
    settings.MergeMessage(given, resource, replace_repeated_field=True)
    if set(_SIZES) & set(mask):
        _resize(resource, given)


def _resize(resource: DynamicMessage, wanted: DynamicMessage) -> None:
    known = {pool.id: pool for pool in resource.resource_pools}
    if len(wanted.resource_pools) != len(known):
        words = f"There are {len(known)} resource pools; pools can neither be added nor removed."
        raise invalid_fields([Violation("persistent_resource.resource_pools", words)])
    for index, given in enumerate(wanted.resource_pools):
        pool = known.get(given.id) if given.id else resource.resource_pools[index]
        path = f"persistent_resource.resource_pools[{index}]"
        if pool is None:
            raise invalid_fields([Violation(f"{path}.id", f"There is no resource pool {given.id!r}.")])
        if given.HasField("machine_spec") and given.machine_spec != pool.machine_spec:
            raise invalid_fields([Violation(f"{path}.machine_spec", "The field is immutable.")])
        if given.replica_count < pool.used_replica_count:
            raise RpcError(
                "FAILED_PRECONDITION",
                f"The resource pool {pool.id!r} cannot have {given.replica_count} replicas: jobs use "
                f"{pool.used_replica_count}.",
            )
        pool.replica_count = given.replica_count


def refuse_ray(resource: DynamicMessage) -> None:
    """Refuse a Ray cluster. Raises `RpcError` UNIMPLEMENTED."""
    if resource.resource_runtime_spec.HasField("ray_spec"):
        raise RpcError(
            "UNIMPLEMENTED",
            "The emulator does not support persistent_resource.resource_runtime_spec.ray_spec, because it "
            "runs no Ray: leave it out and call ray.init() in the program of a CustomJob, or create the "
            "cluster on Google Cloud.",
        )


def violations(resource: DynamicMessage, *, allow_unknown: bool) -> Iterator[Violation]:
    """Check a resource, and yield each violation."""
    top = "persistent_resource"
    if len(resource.display_name) > _MAX_DISPLAY_NAME:
        words = f"The display name can be up to {_MAX_DISPLAY_NAME} characters long."
        yield Violation(f"{top}.display_name", words)
    yield from names.label_problems(resource.labels, f"{top}.labels")
    if not resource.resource_pools:
        yield Violation(f"{top}.resource_pools", "Required field is not set.")
    ids = Counter(pool.id for pool in resource.resource_pools if pool.id)
    for index, pool in enumerate(resource.resource_pools):
        path = f"{top}.resource_pools[{index}]"
        if ids[pool.id] > 1:
            yield Violation(f"{path}.id", f"{pool.id!r} is not unique.")
        yield from _machine_violations(pool, path, allow_unknown=allow_unknown)
        yield from _size_violations(pool, path)


def _machine_violations(pool: DynamicMessage, path: str, *, allow_unknown: bool) -> Iterator[Violation]:
    machine, disk = pool.machine_spec, pool.disk_spec
    named = f"{path}.machine_spec.machine_type"
    if not machine.machine_type:
        yield Violation(named, "Required field is not set.")
    else:
        yield from machine_types.problems(machine.machine_type, named, allow_unknown=allow_unknown)
    if bool(machine.accelerator_type) != bool(machine.accelerator_count):
        yield Violation(f"{path}.machine_spec.accelerator_type", _ACCELERATOR)
    if disk.boot_disk_type and disk.boot_disk_type not in _DISK_TYPES:
        words = f"{disk.boot_disk_type!r} is not one of {', '.join(_DISK_TYPES)}."
        yield Violation(f"{path}.disk_spec.boot_disk_type", words)
    if disk.boot_disk_size_gb and disk.boot_disk_size_gb not in _DISK_SIZES:
        words = f"{disk.boot_disk_size_gb} is not between {_DISK_SIZES[0]} and {_DISK_SIZES[-1]}."
        yield Violation(f"{path}.disk_spec.boot_disk_size_gb", words)


def _size_violations(pool: DynamicMessage, path: str) -> Iterator[Violation]:
    if not pool.HasField("autoscaling_spec"):
        if pool.replica_count < 1:
            yield Violation(f"{path}.replica_count", "The replica count must be greater than 0.")
        return
    least, most = pool.autoscaling_spec.min_replica_count, pool.autoscaling_spec.max_replica_count
    below = f"{path}.autoscaling_spec"
    if least < 1:
        yield Violation(f"{below}.min_replica_count", "min_replica_count must be > 0.")
    if most <= least:
        yield Violation(f"{below}.max_replica_count", "max_replica_count must be > min_replica_count.")
    elif pool.replica_count and not least <= pool.replica_count <= most:
        words = "replica_count must be >= min_replica_count and <= max_replica_count."
        yield Violation(f"{path}.replica_count", words)


Usage = Mapping[int, int]
"""The number of machines in use in each resource pool, by its position."""


def capacity(pool: DynamicMessage) -> int:
    """Return the most machines that a resource pool can have."""
    most = pool.autoscaling_spec.max_replica_count if pool.HasField("autoscaling_spec") else 0
    return int(max(pool.replica_count, most))


def placement(job: DynamicMessage, resource: DynamicMessage, used: Usage) -> dict[int, int] | None:
    """Return the machines that a job takes from each pool in addition to `used`; None if it does not fit.

    A worker pool goes into one resource pool, the first that matches and has enough free machines.
    """
    found: dict[int, int] = {}
    for pool in _needed(job):
        for index in _matching(pool, resource):
            taken = used.get(index, 0) + found.get(index, 0)
            if taken + pool.replica_count <= capacity(resource.resource_pools[index]):
                found[index] = found.get(index, 0) + pool.replica_count
                break
        else:
            return None
    return found


def usage(resource: DynamicMessage, jobs: Iterable[DynamicMessage]) -> dict[int, int]:
    """Return the machines that jobs, oldest first, have taken.

    A job stays counted even if its pool was made too small for it.
    """
    used: dict[int, int] = {}
    for job in jobs:
        for index, count in (placement(job, resource, used) or _first_matches(job, resource)).items():
            used[index] = used.get(index, 0) + count
    return used


def unmatched_pools(job: DynamicMessage, resource: DynamicMessage) -> Sequence[int]:
    """Return the positions of the worker pools that match no resource pool."""
    return [
        index
        for index, pool in enumerate(job.job_spec.worker_pool_specs)
        if pool.replica_count and not _matching(pool, resource)
    ]


def set_usage(resource: DynamicMessage, used: Usage) -> bool:
    """Write the usage into a resource. Return whether the resource has changed.

    Autoscaled pools grow to the usage at once, and shrink again when it falls.
    """
    changed = False
    for index, pool in enumerate(resource.resource_pools):
        now, before = used.get(index, 0), pool.used_replica_count
        if pool.HasField("autoscaling_spec"):
            size = max(pool.replica_count, now)
            if now < before:
                size = max(pool.autoscaling_spec.min_replica_count, now)
            changed = changed or size != pool.replica_count
            pool.replica_count = size
        changed = changed or now != before
        pool.used_replica_count = now
    return changed


def _needed(job: DynamicMessage) -> Iterable[DynamicMessage]:
    return (pool for pool in job.job_spec.worker_pool_specs if pool.replica_count)


def _matching(pool: DynamicMessage, resource: DynamicMessage) -> Sequence[int]:
    return [
        index
        for index, each in enumerate(resource.resource_pools)
        if each.machine_spec == pool.machine_spec and each.disk_spec == pool.disk_spec
    ]


def _first_matches(job: DynamicMessage, resource: DynamicMessage) -> dict[int, int]:
    found: dict[int, int] = {}
    for pool in _needed(job):
        for index in _matching(pool, resource)[:1]:
            found[index] = found.get(index, 0) + pool.replica_count
    return found
