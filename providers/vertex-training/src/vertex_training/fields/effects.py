"""The effect of a changed field on the existing resource: one entry for every field of every kind.

A table maps path patterns to effects. A pattern is a path without positions
(`worker_pool_specs[].machine_spec.machine_type`); a map such as `labels` is one field. Diffs, documentation
and the completeness test all read this table.

A field declares its effect in its metadata, under `CHANGES`; `field_table` builds the table from that:

network: str = field(default="", metadata={CHANGES: replaces("the network of {noun}")})
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args, get_origin

from vertex_training.fields.schema import child, field_types, without_none
from vertex_training.findings.problems import is_within


class Effect(str, enum.Enum):
    """The effect of a change, from least to most: nothing, update, replacement.

    `SERVER` marks output fields, which no declaration can set.
    """

    NONE = "none"
    UPDATE = "update"
    REPLACE = "replace"
    SERVER = "server"

    def __str__(self) -> str:
        return self.value


@dataclasses.dataclass(frozen=True, kw_only=True)
class FieldEffect:
    """The effect of a change of one field, and the reason, as the end of "..., because"."""

    effect: Effect
    reason: str


FieldTable = Mapping[str, FieldEffect]

CHANGES = "changes"
"""Metadata key of a field's `FieldEffect`. Its reason may contain `{noun}`: "a tuning job"."""

WHOLE = "whole"
"""Metadata key of a field whose effect also holds for every field of the message in it."""

SERVICE = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")
"""The effect of an output field, which no declaration can set."""


def replaces(what: str = "{noun}", when: str = "once it exists") -> FieldEffect:
    """Return the effect of a field that cannot change, such as "the labels of a job"."""
    return FieldEffect(effect=Effect.REPLACE, reason=f"{what} cannot change {when}")


def next_run(what: str) -> FieldEffect:
    """Return the effect of a field that cannot change and is not worth a run: only the next run gets it."""
    return FieldEffect(effect=Effect.NONE, reason=f"{what} can only change with its next run")


def field_table(cls: type, prefix: str = "", *, noun: str) -> dict[str, FieldEffect]:
    """Return the entries of a spec that is called `noun` in the reasons, each pattern after `prefix`.

    A field within a message has the effect of the field that holds the message, unless it declares its own
    and the holder is not `WHOLE`. The fields in the `SERVER_OWNED` of a class and of its messages come last.
    Raises TypeError if a field declares no effect.
    """
    table = {
        f"{prefix}{pattern}": dataclasses.replace(entry, reason=entry.reason.format(noun=noun))
        for pattern, entry in _entries(cls)
    }
    return {**table, **dict.fromkeys((f"{prefix}{pattern}" for pattern in _server_owned(cls)), SERVICE)}


def _entries(
    cls: type,
    prefix: str = "",
    holder: FieldEffect | None = None,
    around: tuple[type, ...] = (),
    *,
    whole: bool = False,
) -> Iterator[tuple[str, FieldEffect]]:
    for item in dataclasses.fields(cls):
        entry = holder if whole else item.metadata.get(CHANGES, holder)
        pattern, message = _pattern_and_message(cls, item.name, prefix, around)
        if message is not None:
            below = whole or bool(item.metadata.get(WHOLE))
            yield from _entries(message, pattern, entry, (*around, cls), whole=below)
        elif entry is None:
            raise TypeError(
                f"{cls.__name__}.{item.name} declares no effect of a change; add {CHANGES!r} to its metadata"
            )
        else:
            yield pattern, entry


def _server_owned(cls: type, prefix: str = "", around: tuple[type, ...] = ()) -> Iterator[str]:
    yield from (child(prefix, name) for name in sorted(getattr(cls, "SERVER_OWNED", ())))
    for item in dataclasses.fields(cls):
        pattern, message = _pattern_and_message(cls, item.name, prefix, around)
        if message is not None:
            yield from _server_owned(message, pattern, (*around, cls))


def field_patterns(cls: type, prefix: str = "", *, around: tuple[type, ...] = ()) -> Iterator[str]:
    """Yield the pattern of every field of a spec that holds a value, not a message, in order.

    A message within a message of its own class, such as a conditional parameter, counts as one field.
    """
    for name in field_types(cls):
        pattern, message = _pattern_and_message(cls, name, prefix, around)
        if message is not None:
            yield from field_patterns(message, pattern, around=(*around, cls))
        else:
            yield pattern


def _pattern_and_message(
    cls: type, name: str, prefix: str, around: tuple[type, ...]
) -> tuple[str, type | None]:
    """Return the pattern of a field, and the class of the message that it holds or lists, if any."""
    path, hint = child(prefix, name), without_none(field_types(cls)[name])
    if get_origin(hint) is tuple and dataclasses.is_dataclass(get_args(hint)[0]):
        path, hint = f"{path}[]", get_args(hint)[0]
    is_message = isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint not in (cls, *around)
    return path, hint if is_message else None


def pattern_of(path: str) -> str:
    """Return the pattern of a path: `env[API_KEY].value` and `env[2].value` are both `env[].value`."""
    return re.sub(r"\[.*?\](?=[.\[]|$)", "[]", path)


def effect_of(path: str, table: FieldTable) -> FieldEffect:
    """Return the entry for a changed path: its own, its holder's, or the strongest one below it.

    Raises KeyError if the table does not have the path.
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
    """Return the entry that decides when several fields change, or one without effect for no entries."""
    order = (Effect.SERVER, Effect.NONE, Effect.UPDATE, Effect.REPLACE)
    nothing = FieldEffect(effect=Effect.NONE, reason="nothing changed")
    return max(entries, key=lambda entry: order.index(entry.effect), default=nothing)
