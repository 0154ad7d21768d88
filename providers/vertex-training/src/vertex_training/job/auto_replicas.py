"""Reduction servers with `replica_count: "auto"`, which are filled in before decoding.

Their number follows from the bandwidth of chief and workers (`topology.rules.reduction_servers`). This works
on plain values with keys in either spelling; `fields.decode` reports what cannot be read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_training.fields.decode import decode
from vertex_training.fields.raw_values import get, key_of, with_fields
from vertex_training.fields.values import UNKNOWN, Unknown
from vertex_training.findings.problems import Problem, is_within
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.roles import CHIEF, SERVERS, WORKERS, is_reduction_server_image
from vertex_training.topology.rules.reduction_servers import DEFAULT_MACHINE, Sizing, image_for, size

AUTO = "auto"

AUTO_POSITION = Rule(
    name="auto-position",
    says='only reduction servers, the third worker pool, have replica_count "auto"',
    source="ours: no document says how many replicas another pool needs",
)
AUTO_IMAGE = Rule(
    name="auto-image",
    says='a pool with replica_count "auto" runs the reduction server',
    source="ours: no document says how many replicas another program needs",
)
AUTO_SIZE = Rule(
    name="auto-size",
    says='replica_count "auto" needs chief and workers whose bandwidth is known',
    source='Vertex AI documentation, "Distributed training", section "Reduction Server"',
)

_PATH = "worker_pool_specs"
_COUNTED = (
    "replica_count",
    "machine_spec.machine_type",
    "machine_spec.accelerator_type",
    "machine_spec.accelerator_count",
)
"""The fields of chief and workers that decide the number of reduction servers."""


@dataclass(frozen=True, kw_only=True)
class Filled:
    """A declaration with its reduction servers filled in, or unchanged if no count is "auto".

    `problems` are errors. With an error, or while a value that the number follows from is not known yet or
    cannot be read, the replica count is `UNKNOWN` and `sizing` None.
    """

    value: Mapping[Any, Any]
    problems: tuple[Problem, ...] = ()
    sizing: Sizing | None = None


def fill_in(value: Mapping[Any, Any], *, location: str | Unknown | None = None) -> Filled:
    """Replace `replica_count: "auto"` in a copy of a mapping with `worker_pool_specs`.

    Reduction servers may omit machine and container; given values are kept. The image is for the
    location, unknown while the location is. Never raises.
    """
    key = key_of(value, _PATH)
    pools = value.get(key)
    if not isinstance(pools, (list, tuple)) or not any(map(_is_auto, pools)):
        return Filled(value=value)
    filled = list(pools)
    problems: list[Problem] = []
    sizing = None
    for position, pool in enumerate(pools):
        if not _is_auto(pool):
            continue
        if position == SERVERS:
            filled[position], faults, sizing = _servers(pool, pools, location)
            problems += faults
        else:
            filled[position] = with_fields(pool, replica_count=UNKNOWN)
            problems.append(
                AUTO_POSITION.broken(
                    f"{_PATH}[{position}].replica_count",
                    f'"{AUTO}" counts reduction servers, which are the third worker pool; give a number here',
                )
            )
    return Filled(value={**value, key: filled}, problems=tuple(problems), sizing=sizing)


def _servers(
    pool: Mapping[Any, Any], pools: Sequence[object], location: str | Unknown | None
) -> tuple[Mapping[Any, Any], list[Problem], Sizing | None]:
    machine = _completed(get(pool, "machine_spec"), "machine_type", DEFAULT_MACHINE)
    container = get(pool, "container_spec")
    if container is not None or get(pool, "python_package_spec") is None:
        image = UNKNOWN if isinstance(location, Unknown) else image_for(location)
        container = _completed(container, "image_uri", image)
    sizing, problems = None, _task_problems(pool)
    if not problems:
        sizing, problems = _sized(machine, pools, None if isinstance(location, Unknown) else location)
    count = sizing.replicas if sizing else UNKNOWN
    fields = {"machine_spec": machine, "container_spec": container, "replica_count": count}
    given = {name: field for name, field in fields.items() if field is not None}
    return with_fields(pool, **given), problems, sizing


def _completed(message: object, name: str, default: object) -> object:
    """Fill in one field of a message if it is absent; return any other value unchanged."""
    if message is None:
        return {name: default}
    if isinstance(message, Mapping) and get(message, name) is None:
        return with_fields(message, **{name: default})
    return message


def _task_problems(pool: Mapping[Any, Any]) -> list[Problem]:
    """Check a given task: only the image of the reduction server can be counted."""
    below, container = f"{_PATH}[{SERVERS}]", get(pool, "container_spec")
    remedy = f'"{AUTO}" counts reduction servers only: leave the task out, or give a number'
    image = get(container, "image_uri") if isinstance(container, Mapping) else None
    if isinstance(image, str) and not is_reduction_server_image(image):
        path = f"{below}.container_spec.image_uri"
        return [AUTO_IMAGE.broken(path, f"{shown(image)} is not a reduction server; {remedy}")]
    if get(pool, "python_package_spec") is not None:
        return [AUTO_IMAGE.broken(f"{below}.python_package_spec", f"is not a reduction server; {remedy}")]
    return []


def _sized(
    machine: object, pools: Sequence[object], location: str | None
) -> tuple[Sizing | None, list[Problem]]:
    """Return the number of servers, or None if it is not known yet or the decoder will report why."""
    machine_type = get(machine, "machine_type") if isinstance(machine, Mapping) else None
    chief, workers = (_pool(pools, position) for position in (CHIEF, WORKERS))
    if not isinstance(machine_type, str) or chief is None or workers is None:
        return None, []
    try:
        return size(chief, workers, machine_type=machine_type, location=location), []
    except ValueError as error:
        path = f"{_PATH}[{SERVERS}].replica_count"
        return None, [AUTO_SIZE.broken(path, f'"{AUTO}" cannot be calculated: {error}')]


def _pool(pools: Sequence[object], position: int) -> WorkerPoolSpec | None:
    """Return the pool at a position, empty past the end; None if a counted field cannot be read yet."""
    raw = pools[position] if position < len(pools) else None
    path = f"{_PATH}[{position}]"
    decoded = decode(WorkerPoolSpec, {} if raw is None else raw, path=path)
    gaps = decoded.unknown | decoded.damaged
    if any(is_within(f"{path}.{name}", gap) for name in _COUNTED for gap in gaps):
        return None
    return decoded.draft


def _is_auto(pool: object) -> bool:
    if not isinstance(pool, Mapping):
        return False
    count = get(pool, "replica_count")
    return isinstance(count, str) and count == AUTO
