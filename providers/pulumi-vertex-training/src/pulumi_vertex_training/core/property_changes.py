"""The properties that a diff reports: paths and kinds of changes, never a value.

A kind decides which of its fields change and which of these replace the resource. These functions find the
values inside the fields, as the engine compares them: maps key by key, lists by position.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from itertools import zip_longest
from typing import Any

from pulumi_vertex_training.core.call import PropertyChange
from pulumi_vertex_training.core.provider import is_unknown
from vertex_training.fields.decode import UNKNOWN
from vertex_training.fields.effects import Effect, FieldTable, effect_of

Path = tuple[str | int, ...]

CREATED_AGAIN = PropertyChange(path=("id",), kind="add", replaces=True)
"""The change of a resource that is created again although all its properties stay: it does not exist."""

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_INTERNAL = "__"
"""Names that begin with this are hidden by the engine."""
_NOT_SHOWN = frozenset({"marks"})
"""Inputs that only identify the declaration."""


def property_changes(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    names: Collection[str],
    *,
    replacing: Collection[str] = (),
    effects: FieldTable | None = None,
) -> tuple[PropertyChange, ...]:
    """Return the changed values in the fields `names`, which differ between the outputs and the inputs.

    The fields in `replacing` replace the resource. `effects` tells which of their values do: all of them for
    those that it does not have, or if none would. Each field has at least one change, unless it is internal.
    """
    found = [
        change
        for name in dict.fromkeys(names)
        if not name.startswith(_INTERNAL) and name not in _NOT_SHOWN
        for change in _differences(old.get(name), new.get(name), (name,)) or [_update((name,))]
    ]
    inside = [change for change in found if change.path[0] in replacing]
    reasons = {change.path for change in inside if effects is None or _replaces(change.path, effects)}
    reasons = reasons or {change.path for change in inside}
    return tuple(dataclasses.replace(each, replaces=True) if each.path in reasons else each for each in found)


def text_of(path: Path) -> str:
    """Return a path in Pulumi's syntax: `labels["a.b"]`, `worker_pool_specs[1].replica_count`.

    Pulumi cannot name a key with a backslash at its end or before a quotation mark; the path then ends at the
    map that has the key.
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN.fullmatch(part):
            text += f".{part}" if text else part
        elif part.endswith("\\") or '\\"' in part:
            break
        else:
            quoted = part.replace('"', '\\"')
            text += f'["{quoted}"]'
    return text


def _replaces(path: Path, effects: FieldTable) -> bool:
    try:
        return effect_of(text_of(path), effects).effect is Effect.REPLACE
    except KeyError:
        return True


def _update(path: Path) -> PropertyChange:
    return PropertyChange(path=path, kind="update")


def _differences(old: Any, new: Any, path: Path) -> list[PropertyChange]:
    if new is UNKNOWN:
        return [PropertyChange(path=path, kind="add") if old is None else _update(path)]
    if old == new and not is_unknown(new):
        return []
    if old is None or new is None:
        return [PropertyChange(path=path, kind="add" if old is None else "delete")]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        names = [str(key) for key in dict.fromkeys([*old, *new]) if not str(key).startswith(_INTERNAL)]
        return [each for key in names for each in _differences(old.get(key), new.get(key), (*path, key))]
    if _is_list(old) and _is_list(new):
        pairs = enumerate(zip_longest(old, new))
        return [each for at, (was, will) in pairs for each in _differences(was, will, (*path, at))]
    return [_update(path)]


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))
