"""The difference of two specs, field by field.

This works on any frozen dataclass of this project. Messages are compared down to their values, lists of
strings as a whole, maps key by key, environment variables by name. A changed secret is reported without its
value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.problems import is_within
from vertex_training.topology.pools import EnvVar

HIDDEN = "(hidden)"


@dataclasses.dataclass(frozen=True, kw_only=True)
class FieldChange:
    """One value that differs.

    `old` or `new` is None if it is absent; secrets show as "(hidden)". Environment variables have their name
    in the path: `worker_pool_specs[0].container_spec.env[API_KEY]`.
    """

    path: str
    old: object
    new: object


def field_changes(
    old: object, new: object, path: str = "", *, unknown: Collection[str] = ()
) -> Iterator[FieldChange]:
    """Yield the values that differ between two specs of one kind, or between None and a spec.

    A path in `unknown`, whose new value is not known yet, always counts as different.
    """
    if path and path in unknown:
        yield FieldChange(path=path, old=_plain(old), new=NOT_KNOWN)
    elif old == new and not any(is_within(gap, path) for gap in unknown):
        return
    elif _is_message(old) or _is_message(new):
        changes = tuple(_message_changes(old, new, path, unknown))
        # An empty message, whose presence is all that it expresses.
        yield from changes or (FieldChange(path=path, old=_presence(old), new=_presence(new)),)
    elif _holds(EnvVar, old, new):
        yield from _variable_changes(_items(old), _items(new), path, unknown)
    elif _is_list_of_messages(old) or _is_list_of_messages(new):
        for i, (before, after) in enumerate(zip_longest(_items(old), _items(new))):
            yield from field_changes(before, after, f"{path}[{i}]", unknown=unknown)
    elif isinstance(old, Mapping) or isinstance(new, Mapping):
        yield from _map_changes(_entries(old), _entries(new), path, unknown)
    elif old != new or any(is_within(gap, path) for gap in unknown):
        yield FieldChange(path=path, old=_plain(old), new=_plain(new))


def _message_changes(old: Any, new: Any, path: str, unknown: Collection[str]) -> Iterator[FieldChange]:
    for field in dataclasses.fields(new if old is None else old):
        below = f"{path}.{field.name}" if path else field.name
        before, after = _value(old, field), _value(new, field)
        if field.metadata.get("secret"):
            if before != after or below in unknown:
                yield FieldChange(path=below, old=_hidden(before), new=_hidden(after))
        else:
            yield from field_changes(before, after, below, unknown=unknown)


def _variable_changes(old: Any, new: Any, path: str, unknown: Collection[str]) -> Iterator[FieldChange]:
    before = {variable.name: variable.value for variable in old}
    after = {variable.name: variable.value for variable in new}
    gaps = {
        variable.name
        for i, variable in enumerate(new)
        if any(is_within(gap, f"{path}[{i}]") for gap in unknown)
    }
    changed = False
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name) or name in gaps:
            changed = True
            yield FieldChange(
                path=f"{path}[{name}]",
                old=HIDDEN if name in before else None,
                new=HIDDEN if name in after else None,
            )
    if not changed:
        yield FieldChange(path=path, old=tuple(v.name for v in old), new=tuple(v.name for v in new))


def _map_changes(
    old: Mapping[str, object], new: Mapping[str, object], path: str, unknown: Collection[str]
) -> Iterator[FieldChange]:
    for key in dict.fromkeys([*old, *new]):
        yield from field_changes(old.get(key), new.get(key), f"{path}.{key}", unknown=unknown)


def _presence(message: object) -> object:
    return None if message is None else {}


def _value(message: Any, field: dataclasses.Field[Any]) -> Any:
    """Return a field of a message, or the field's default if there is no message."""
    if message is not None:
        return getattr(message, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _is_message(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_list_of_messages(value: object) -> bool:
    return isinstance(value, tuple) and any(map(_is_message, value))


def _holds(cls: type, *values: object) -> bool:
    return any(isinstance(value, tuple) and any(isinstance(item, cls) for item in value) for value in values)


def _entries(value: Any) -> Mapping[str, object]:
    return value or {}


def _items(value: Any) -> tuple[Any, ...]:
    return value or ()


def _hidden(value: object) -> str | None:
    return None if value is None else HIDDEN


def _plain(value: object) -> object:
    """Return a value that can be shown, "(hidden)" for messages and variables."""
    if _is_message(value) or _holds(EnvVar, value):
        return HIDDEN
    return value
