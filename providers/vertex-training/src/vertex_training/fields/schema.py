"""The fields of a spec: types, defaults, names in the API, and paths there and in the declaring file.

A declaration by role, or one for legacy AI Platform, becomes worker pools before the rules see it. Findings
have to name the written path: `worker.accelerator_count`, not `worker_pool_specs[1].machine_spec...`.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.problems import Problem, is_within


def child(path: str, name: str) -> str:
    """Return the path of a field or a map entry below `path`: `labels.team`, `labels["a b"]`."""
    if not _is_plain(name):
        return f'{path}["{name}"]'
    return f"{path}.{name}" if path else name


@functools.lru_cache(maxsize=1024)
def _is_plain(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None


def snake_case(name: str) -> str:
    """Convert `machineSpec` to `machine_spec`; a name in snake case stays as it is."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match.group(1).lower(), name)


def camel_case(name: str) -> str:
    """Convert `machine_spec` to `machineSpec`, as the API's JSON spells it."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


@functools.cache
def field_types(cls: type) -> Mapping[str, Any]:
    """Return the resolved type of every field of a dataclass, in order."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a field, or `dataclasses.MISSING` without one."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def placeholder(hint: Any) -> Any:
    """Return a value of the right type that keeps the shape of a spec: a pool stays a pool, a task a task."""
    hint = without_none(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        types_ = field_types(hint)
        values = {
            field.name: placeholder(types_[field.name])
            for field in dataclasses.fields(hint)
            if default_of(field) is dataclasses.MISSING or (types_[field.name] is int and not field.default)
        }
        return hint(**values)
    origin = get_origin(hint)
    if origin is tuple:
        return ()
    if origin is Literal:
        return get_args(hint)[0]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return next(iter(hint))
    return {bool: False, int: 1, float: 1.0, str: NOT_KNOWN}.get(hint, {})


def zero(hint: Any) -> Any:
    """Return the value that the API's JSON omits: "", 0, an empty list."""
    hint = without_none(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        required = (f for f in dataclasses.fields(hint) if default_of(f) is dataclasses.MISSING)
        return hint(**{field.name: zero(field_types(hint)[field.name]) for field in required})
    return {bool: False, int: 0, float: 0.0, str: ""}.get(hint, () if get_origin(hint) is tuple else {})


def without_none(hint: Any) -> Any:
    """Return the type of an optional value without None."""
    if get_origin(hint) in (typing.Union, types.UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        if len(members) != 1:
            raise TypeError(f"a spec's field is one type or that type and None, not {hint}")
        return members[0]
    return hint


Origins = Mapping[str, str]
"""API path -> written path. An entry holds for everything below it that has no entry of its own."""

_POOL_PATH = re.compile(r"worker_pool_specs\[\d+\](?:\.[a-z_]+|\[\d+\])*")


def written_path(path: str, origins: Origins) -> str:
    """Return where the value at an API path was written, or the path itself if no origin is known."""
    nearest = max((known for known in origins if is_within(path, known)), key=len, default=None)
    if nearest is None:
        return path
    return (origins[nearest] + path[len(nearest) :]).lstrip(".")


def as_written(problems: Iterable[Problem], origins: Origins) -> tuple[Problem, ...]:
    """Return the findings with the paths of the file in `path`, `rests_on` and the message.

    Several pools may take a value from one place; a finding about that value is then reported once.
    """
    written = (
        replace(
            problem,
            path=written_path(problem.path, origins),
            message=_POOL_PATH.sub(lambda match: written_path(match.group(), origins), problem.message),
            rests_on=tuple(written_path(path, origins) for path in problem.rests_on),
        )
        for problem in problems
    )
    return tuple(dict.fromkeys(written))
