"""The difference of two lists of worker pools, pool by pool, and its description in words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.problems import is_within
from vertex_training.findings.words import all_of, short_image
from vertex_training.topology.changes import FieldChange, field_changes
from vertex_training.topology.normal import default_disk, normal_disk, normal_pools
from vertex_training.topology.pools import EMPTY_POOL, WorkerPoolSpec
from vertex_training.topology.roles import SERVERS, Role, role_of

Change = Literal["added", "removed", "resized", "changed", "unchanged"]


@dataclass(frozen=True, kw_only=True)
class PoolChange:
    """The change of the pool at one position, which is also its role.

    `resized` means that only the number of replicas changes. `fields` has every value that differs, with the
    API's paths.
    """

    index: int
    role: Role
    change: Change
    old: WorkerPoolSpec
    new: WorkerPoolSpec
    fields: tuple[FieldChange, ...] = ()


def compare(
    old: Sequence[WorkerPoolSpec],
    new: Sequence[WorkerPoolSpec],
    *,
    path: str = "worker_pool_specs",
    unknown: Collection[str] = (),
) -> list[PoolChange]:
    """Return an entry for every pool that has replicas before or after; none if nothing differs.

    Normal forms are compared, so spellings and the service's defaults never show. Pools without a difference,
    next to others that change, have `change` "unchanged". A path in `unknown`, whose new value is not known
    yet, counts as a change. Raises ValueError if there are more than four pools.
    """
    changes = []
    old_pools, new_pools = normal_pools(old), normal_pools(new)
    if path in unknown:
        new_pools, unknown = old_pools, {f"{path}[{i}]" for i in range(len(old_pools))}
    for index, (before, after) in enumerate(zip_longest(old_pools, new_pools, fillvalue=EMPTY_POOL)):
        if _is_gap(f"{path}[{index}].machine_spec.machine_type", unknown):
            before, after = _with_one_disk(before, after)
        fields = tuple(
            field_changes(
                _with_disk_like(before, after),
                _with_disk_like(after, before),
                f"{path}[{index}]",
                unknown=unknown,
            )
        )
        if before.is_empty and after.is_empty and not fields:
            continue
        # The role of the third pool follows from its image.
        no_image = index == SERVERS and _is_gap(f"{path}[{index}].container_spec.image_uri", unknown)
        changes.append(
            PoolChange(
                index=index,
                role=role_of(index, before if after.is_empty or no_image else after),
                change=_kind(before, after, fields),
                old=before,
                new=after,
                fields=fields,
            )
        )
    return changes if any(change.change != "unchanged" for change in changes) else []


def _is_gap(path: str, unknown: Collection[str]) -> bool:
    """Return whether the value at a path is not known yet."""
    return any(is_within(path, gap) for gap in unknown)


def _with_one_disk(old: WorkerPoolSpec, new: WorkerPoolSpec) -> tuple[WorkerPoolSpec, WorkerPoolSpec]:
    """Give both pools the same disk if one is a default that follows from an unknown machine."""
    if old.is_empty or new.is_empty:
        return old, new
    disks = (old.disk_spec or new.disk_spec, new.disk_spec or old.disk_spec)
    return replace(old, disk_spec=disks[0]), replace(new, disk_spec=disks[1])


def _with_disk_like(pool: WorkerPoolSpec, other: WorkerPoolSpec) -> WorkerPoolSpec:
    """Give an empty pool the default disk of the other one, so that the disk is not reported."""
    return replace(pool, disk_spec=normal_disk(None, other.machine_type)) if pool.is_empty else pool


def _kind(old: WorkerPoolSpec, new: WorkerPoolSpec, fields: Sequence[FieldChange]) -> Change:
    if not fields:
        return "unchanged"
    if old.is_empty:
        return "added"
    if new.is_empty:
        return "removed"
    return "resized" if [tail(field) for field in fields] == ["replica_count"] else "changed"


def tail(field: FieldChange) -> str:
    """Return the path of a field within its pool: `machine_spec.machine_type`; "" for the pool itself."""
    return field.path.partition("].")[2]


def in_words(changes: Sequence[PoolChange]) -> str:
    """Describe the changes, without a full stop: "workers: 2 -> 4 x n1-standard-4; chief unchanged".

    Pools with equal changes are named together: "all pools: argument --rate changed". The text is "" without
    changes, and never contains values of environment variables and arguments.
    """
    roles: dict[str, list[str]] = {}
    for change in changes:
        count = max(change.old.replica_count, change.new.replica_count)
        roles.setdefault(_pool_in_words(change), []).append(change.role.in_words(count))
    same = roles.pop("", None)
    if len(roles) == 1 and len(changes) > 1 and not same:
        return f"all pools: {next(iter(roles))}"
    sentences = [f"{all_of(named)}: {words}" for words, named in roles.items()]
    return "; ".join([*sentences, *([f"{all_of(same)} unchanged"] if same else [])])


def _pool_in_words(change: PoolChange) -> str:
    """Describe the change of a pool without its role; "" for an unchanged one."""
    changed = {tail(field): field for field in change.fields}
    if change.change == "unchanged":
        return ""
    if "" in changed:
        return NOT_KNOWN
    if change.change == "added":
        return f"added, {_size(change.new, changed['replica_count'].new)}"
    if change.change == "removed":
        verb = "was" if change.old.replica_count == 1 else "were"
        return f"removed, {verb} {_size(change.old, change.old.replica_count)}"
    return ", ".join(_details(change, changed))


def _size(pool: WorkerPoolSpec, count: object) -> str:
    accelerators = _accelerators(pool)
    equipment = f" with {accelerators} each" if accelerators != "none" else ""
    return f"{count} x {pool.machine_type}{equipment}"


def _details(change: PoolChange, changed: Mapping[str, FieldChange]) -> Iterator[str]:
    """Describe the changes of a pool that stays, the most important first, with every changed field."""
    old, new = change.old, change.new
    if "replica_count" in changed:
        count = changed["replica_count"]
        yield f"{count.old} -> {count.new} x {new.machine_type}"
    if role_of(change.index, old) is not change.role:
        yield f"were {role_of(change.index, old).in_words(2)}"
    if field := changed.get("machine_spec.machine_type") or changed.get("machine_spec"):
        yield f"machine type {old.machine_type} -> {_new(field, new.machine_type)}"
    if field := changed.get("machine_spec.accelerator_type") or changed.get("machine_spec.accelerator_count"):
        yield f"accelerators {_accelerators(old)} -> {_new(field, _accelerators(new))}"
    for name, subject in _SIMPLE.items():
        if field := changed.get(name):
            yield f"{subject} {_shown(field.old)} -> {_shown(field.new)}"
    for prefix, subject in _WHOLE.items():
        if any(name.startswith(prefix) for name in changed):
            yield f"{subject} changed"
    if field := next((f for name, f in changed.items() if name.startswith("disk_spec")), None):
        yield f"boot disk {_disk(old)} -> {_new(field, _disk(new))}"
    if type(old.task) is not type(new.task):
        yield f"task {_task(old)} -> {_task(new)}"
    else:
        yield from _task_details(change, changed)


_SIMPLE = {
    "machine_spec.gpu_partition_size": "GPU partition",
    "machine_spec.tpu_topology": "TPU topology",
}
_WHOLE = {
    "machine_spec.reservation_affinity": "reservation",
    "nfs_mounts": "NFS mounts",
    "lustre_mounts": "Lustre mounts",
}


def _task_details(change: PoolChange, changed: Mapping[str, FieldChange]) -> Iterator[str]:
    variables = []
    for path, field in changed.items():
        spec, _, name = path.partition(".")
        if spec not in ("container_spec", "python_package_spec"):
            continue
        if name in ("image_uri", "executor_image_uri"):
            yield f"image {short_image(str(field.old))} -> {short_image(str(field.new))}"
        elif name == "python_module":
            yield f"module {field.old} -> {field.new}"
        elif name.startswith("env["):
            variables.append((name[4:-1], field))
        elif name == "args":
            yield from _argument_details(
                *(pool.task.args if pool.task else () for pool in (change.old, change.new))
            )
        else:
            yield {
                "": "task changed",
                "command": "command changed",
                "package_uris": "packages changed",
                "env": "environment variables changed"
                if field.new == NOT_KNOWN
                else "environment variables reordered",
            }[name]
    yield from _named("environment variable", [(name, field.old, field.new) for name, field in variables])


def _argument_details(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Name the flags whose values differ. The values may be secrets."""
    before, after = by_flag(old), by_flag(new)
    values = [(flag, before.get(flag), after.get(flag)) for flag in {**before, **after} if flag]
    differing = [one for one in values if one[1] != one[2]]
    yield from _named("argument", differing)
    if not differing:
        yield "arguments changed"
    elif before.get("") != after.get(""):
        yield "arguments without a flag changed"


def _named(noun: str, differing: Sequence[tuple[str, object, object]]) -> Iterator[str]:
    """Name what was added, removed and changed, by (name, old, new) with None for an absent value."""
    for verb, names in (
        ("added", [name for name, old, _ in differing if old is None]),
        ("removed", [name for name, _, new in differing if new is None]),
        ("changed", [name for name, old, new in differing if None not in (old, new)]),
    ):
        if names:
            yield f"{noun}{'s' if len(names) > 1 else ''} {all_of(names)} {verb}"


_FLAG = re.compile(r"(--[A-Za-z][\w.-]*|-[A-Za-z])(?:=(.*))?", re.DOTALL)
"""A flag with or without its value. `-pVALUE` is not a flag: nothing shows where the value begins."""


def by_flag(args: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the values that follow each flag; those before the first flag have the name ""."""
    by_flag: dict[str, tuple[str, ...]] = {}
    flag = ""
    for each in args:
        match = _FLAG.fullmatch(each)
        values: tuple[str, ...] = (each,)
        if match is not None:
            flag, values = match[1], () if match[2] is None else (match[2],)
        by_flag[flag] = (*by_flag.get(flag, ()), *values)
    return by_flag


def _new(field: FieldChange, words: str) -> str:
    return NOT_KNOWN if field.new == NOT_KNOWN else words


def _shown(value: object) -> str:
    return "none" if value is None else str(value)


def _accelerators(pool: WorkerPoolSpec) -> str:
    machine = pool.machine_spec
    if machine is None or (machine.accelerator_type is None and not machine.accelerator_count):
        return "none"
    return f"{machine.accelerator_count} x {machine.accelerator_type or 'unspecified'}"


def _disk(pool: WorkerPoolSpec) -> str:
    disk = pool.disk_spec or default_disk(pool.machine_type)
    return f"{disk.boot_disk_type or 'of the default type'} {disk.boot_disk_size_gb} GB"


def _task(pool: WorkerPoolSpec) -> str:
    if pool.container_spec is not None:
        return f"container {short_image(pool.container_spec.image_uri)}"
    if pool.python_package_spec is not None:
        return f"Python package {pool.python_package_spec.python_module}"
    return "none"
