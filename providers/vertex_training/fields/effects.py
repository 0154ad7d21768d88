"""What a change of a field does to the resource that exists: one entry for every field of every kind.

A table maps path patterns to effects. A pattern is a path without positions
(`worker_pool_specs[].machine_spec.machine_type`); a map such as `labels` is one field. Diffs, documentation
and the completeness test read the table, nothing else decides.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args, get_origin

from vertex_training.fields.hints import child, field_types, without_none
from vertex_training.findings.problems import is_within


class Effect(str, enum.Enum):
    """From the least to the most: nothing, in place, anew; `server` marks what only the service sets."""

    NONE = "none"
    UPDATE = "update"
    REPLACE = "replace"
    SERVER = "server"

    def __str__(self) -> str:
        return self.value


@dataclasses.dataclass(frozen=True, kw_only=True)
class FieldEffect:
    """The effect of a change of one field, and why, as the end of "..., because"."""

    effect: Effect
    reason: str


FieldTable = Mapping[str, FieldEffect]


def field_patterns(cls: type, prefix: str = "", *, around: tuple[type, ...] = ()) -> Iterator[str]:
    """The pattern of every field of a spec that holds a value, not a message, in order.

    A message within a message of its own class, such as a conditional parameter, is one field.
    """
    for name, hint in field_types(cls).items():
        path, hint = child(prefix, name), without_none(hint)
        if get_origin(hint) is tuple and dataclasses.is_dataclass(get_args(hint)[0]):
            path, hint = f"{path}[]", get_args(hint)[0]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint not in (cls, *around):
            yield from field_patterns(hint, path, around=(*around, cls))
        else:
            yield path


def pattern_of(path: str) -> str:
    """The pattern of a path: `env[API_KEY].value` and `env[2].value` are both `env[].value`."""
    return re.sub(r"\[.*?\](?=[.\[]|$)", "[]", path)


def effect_of(path: str, table: FieldTable) -> FieldEffect:
    """The entry for a changed path: its own, that of the field around it, or the strongest one below it.

    Raises KeyError for a path that the table does not know.
    """
    pattern = pattern_of(path)
    for known in table:
        if pattern == known or is_within(pattern, known):
            return table[known]
    below = [entry for known, entry in table.items() if is_within(known, pattern)]
    if not below:
        raise KeyError(path)
    return strongest(below)


def strongest(entries: Iterable[FieldEffect]) -> FieldEffect:
    """The entry that decides when several fields change; no effect at all for none."""
    order = (Effect.SERVER, Effect.NONE, Effect.UPDATE, Effect.REPLACE)
    nothing = FieldEffect(effect=Effect.NONE, reason="nothing changed")
    return max(entries, key=lambda entry: order.index(entry.effect), default=nothing)
