"""Conversion from the values of a program or file to a frozen spec and back, for every kind.

`decode` reads plain values (mappings, lists, strings, numbers) by the type hints of a frozen dataclass and
collects every problem with its path in the API's spelling. `encode` is its inverse on specs.

A value that is not known yet (in a Pulumi preview) is `UNKNOWN`. The spec then holds a placeholder of the
right type and the path is recorded, so that checks skip the placeholder and `encode` restores `UNKNOWN`.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, cast, get_args, get_origin

from vertex_training.fields.schema import (
    child,
    default_of,
    field_types,
    placeholder,
    snake_case,
    without_none,
    zero,
)
from vertex_training.fields.values import INT64, UNKNOWN, Unknown, describe, is_too_large, kind, whole_number
from vertex_training.findings.problems import Problem, errors, known
from vertex_training.findings.words import close, nearest, one_of

__all__ = ["UNKNOWN", "Decoded", "Unknown", "decode", "encode", "nearest", "one_of"]

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decoded(Generic[T]):
    """The result of decoding a value.

    `spec` is None if there is an error among `problems`. `draft` exists even then, with placeholders at the
    paths in `damaged`, so that further checks can report on the rest; it is None only if nothing could be
    read. `unknown` holds the paths of values that are not known yet.
    """

    spec: T | None
    problems: tuple[Problem, ...] = ()
    unknown: frozenset[str] = frozenset()
    draft: T | None = None
    damaged: frozenset[str] = frozenset()

    def then(self, normalise: Callable[[T], T], validate: Callable[[T], Sequence[Problem]]) -> Decoded[T]:
        """Return the normalised result, with the findings of `validate` about known values added."""
        if self.draft is None:
            return self
        draft = normalise(self.draft)
        problems = self.problems + known(validate(self.draft), self.unknown | self.damaged)
        return dataclasses.replace(
            self, spec=None if errors(problems) else draft, problems=problems, draft=draft
        )


def decode(cls: type[T], value: object, *, path: str = "", tolerant: bool = False) -> Decoded[T]:
    """Read `value`, a mapping with snake_case or camelCase keys, as the frozen dataclass `cls`.

    Whole floats and decimal strings are read as integers, as the API does. `tolerant` is for answers of a
    service: fields that the class does not have are ignored instead of reported.
    """
    reader = _Reader(tolerant=tolerant)
    try:
        draft = reader.read(value, cls, path, {})
    except _TooManyError:
        message = f"has more than {MOST_PROBLEMS} problems; the others are not listed"
        rest = Problem(path=path, message=message)
        return Decoded(spec=None, problems=(*reader.problems, rest), damaged=frozenset({path}))
    problems = tuple(reader.problems)
    broken = bool(errors(problems))
    return Decoded(
        spec=None if broken else cast(T, draft),
        problems=problems,
        unknown=frozenset(reader.unknown),
        draft=None if path in reader.damaged else cast(T, draft),
        damaged=frozenset(reader.damaged),
    )


def encode(spec: object, *, unknown: Collection[str] = (), path: str = "") -> Any:
    """Convert a spec to plain dictionaries and lists in snake_case, without empty and default values.

    The paths in `unknown` become `UNKNOWN` again. `decode` of the result is the spec again.
    """
    if path in unknown:
        return UNKNOWN
    if dataclasses.is_dataclass(spec) and not isinstance(spec, type):
        plain = {}
        for field in dataclasses.fields(spec):
            value, below = getattr(spec, field.name), child(path, field.name)
            needed = any(
                getattr(spec, other) is not None for other in field.metadata.get("required_with", ())
            )
            if below in unknown or needed or value or value != default_of(field):
                plain[field.name] = encode(value, unknown=unknown, path=below)
        return plain
    if isinstance(spec, tuple):
        return [encode(item, unknown=unknown, path=f"{path}[{i}]") for i, item in enumerate(spec)]
    if isinstance(spec, Mapping):
        return {key: encode(item, unknown=unknown, path=child(path, key)) for key, item in spec.items()}
    return spec.value if isinstance(spec, enum.Enum) else spec


MOST_PROBLEMS = 100
"""Number of problems after which decoding stops. A document with more is usually not what it should be."""

_LONGEST_NAME = 200


class _TooManyError(Exception):
    """There are more than `MOST_PROBLEMS` problems."""


class _Reader:
    """One decoding: walks value and type together and collects problems."""

    def __init__(self, *, tolerant: bool) -> None:
        self.tolerant = tolerant
        self.problems: list[Problem] = []
        self.unknown: list[str] = []
        self.damaged: list[str] = []

    def read(self, value: object, hint: Any, path: str, metadata: Mapping[str, Any]) -> Any:
        """Read a value as the type `hint`; record problems, unknown values and damage."""
        hint = without_none(hint)
        if "convert" in metadata:
            value = metadata["convert"](value)
        if isinstance(value, Unknown):
            self.unknown.append(path)
            return placeholder(hint)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            return self._dataclass(value, hint, path)
        origin = get_origin(hint)
        if origin is tuple:
            return self._list(value, get_args(hint)[0], path)
        if origin in (Mapping, dict):
            return self._mapping(value, get_args(hint)[1], path)
        return self._scalar(value, hint, path, metadata)

    def fail(self, path: str, message: str, hint: Any) -> Any:
        """Report a problem, and return a placeholder for the damaged value."""
        self.report(Problem(path=path, message=message))
        self.damaged.append(path)
        return placeholder(hint)

    def report(self, problem: Problem) -> None:
        """Add a problem. Raises `_TooManyError` if there are too many."""
        if len(self.problems) == MOST_PROBLEMS:
            raise _TooManyError
        self.problems.append(problem)

    def _dataclass(self, value: object, cls: type, path: str) -> Any:
        if not isinstance(value, Mapping):
            return self.fail(
                path, f"expected a mapping with the fields of {cls.__name__}, got {kind(value)}", cls
            )
        types_ = field_types(cls)
        given = self._keys(value, cls, path)
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            below = child(path, field.name)
            raw = given.get(field.name)
            if raw == {} and field.metadata.get("absent_if_empty"):
                continue
            if raw is not None:
                values[field.name] = self.read(raw, types_[field.name], below, field.metadata)
                continue
            wanted = field.metadata.get("required_with", ())
            if default_of(field) is dataclasses.MISSING:
                values[field.name] = self._missing(below, types_[field.name], "is missing; it is required")
            elif not self.tolerant and any(given.get(other) is not None for other in wanted):
                remedy = field.metadata["missing"](below)
                values[field.name] = self._missing(below, types_[field.name], f"is missing; {remedy}")
        return cls(**values)

    def _missing(self, path: str, hint: Any, message: str) -> Any:
        """Return a value for an absent field, and report it unless a service sent it or it was misspelt."""
        if self.tolerant:
            return zero(hint)
        if path in self.damaged:
            return placeholder(hint)
        return self.fail(path, message, hint)

    def _keys(self, value: Mapping[Any, object], cls: type, path: str) -> dict[str, object]:
        """Return the given fields under their own names, and report the others."""
        names = field_types(cls)
        later: Collection[str] = getattr(cls, "UNSUPPORTED", ())
        service: Collection[str] = getattr(cls, "SERVER_OWNED", ())
        given: dict[str, object] = {}
        for key, item in value.items():
            name = snake_case(_cut(key)) if isinstance(key, str) else key
            if name in names:
                if given.get(name) is not None and item is not None:
                    self.report(
                        Problem(
                            path=child(path, name),
                            message=f"is given twice, the second time as {key}; keep one",
                        )
                    )
                elif item is not None:
                    given[name] = item
                continue
            if self.tolerant or item is None or (name in later and not item):
                continue
            self.report(_unknown_field(key, name, path, names, later, service))
            if isinstance(name, str) and name not in later and name not in service:
                self.damaged += [child(path, meant) for meant in close(name, names, count=1)]
        return given

    def _list(self, value: object, hint: Any, path: str) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, (list, tuple)):
            like = ', such as ["python", "-m", "trainer.task"]' if path.endswith(".command") else ""
            self.fail(
                path, f"expected a list, got {kind(value)}; write one entry each, in brackets{like}", hint
            )
            return ()
        return tuple(self._item(item, hint, f"{path}[{i}]") for i, item in enumerate(value))

    def _mapping(self, value: object, hint: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            self.fail(path, f"expected a mapping, got {kind(value)}", hint)
            return {}
        read = {}
        for key, item in value.items():
            if not isinstance(key, str):
                self.fail(path, f"expected strings as keys, got {describe(key)}; write it in quotes", hint)
            else:
                read[key] = self._item(item, hint, child(path, key))
        return read

    def _item(self, value: object, hint: Any, path: str) -> Any:
        """Read an entry of a list or a mapping, where None is not the same as absent."""
        if value is None and dataclasses.is_dataclass(hint):
            value = {}
        return self.read(value, hint, path, {})

    def _scalar(self, value: object, hint: Any, path: str, metadata: Mapping[str, Any]) -> Any:
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return hint(self._choice(value, [member.value for member in hint], path, hint))
        if get_origin(hint) is Literal:
            return self._choice(value, list(get_args(hint)), path, hint)
        if hint is int:
            number = whole_number(value)
            if number is not None:
                return number
        elif hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        elif type(value) is hint:
            return value
        wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}[hint]
        if value is None:
            return self.fail(path, f"is None; give {wanted}, or remove the entry", hint)
        shown = kind(value) if metadata.get("secret") else describe(value)
        remedy = "; write it in quotes" if hint is str and isinstance(value, (bool, int, float)) else ""
        if hint is bool and isinstance(value, str):
            remedy = "; write it without quotes"
        if hint is int and is_too_large(value):
            return self.fail(path, f"{describe(value)} is too large; at most {INT64[-1]} is possible", hint)
        return self.fail(path, f"expected {wanted}, got {shown}{remedy}", hint)

    def _choice(self, value: object, choices: list[Any], path: str, hint: Any) -> Any:
        if isinstance(value, str) and value in choices:
            return value
        guess = nearest(value, choices) if isinstance(value, str) else ""
        self.fail(
            path,
            f"{describe(value)} is not one of {', '.join(choices)}" + (f"; {guess}" if guess else ""),
            hint,
        )
        return choices[0]


def _cut(name: str) -> str:
    """Return a name that is short enough for a message."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def _unknown_field(
    key: object,
    name: object,
    path: str,
    names: Collection[str],
    later: Collection[str],
    service: Collection[str],
) -> Problem:
    if not isinstance(name, str):
        return Problem(path=path, message=f"{key!r} is not the name of a field")
    below = child(path, name)
    if name in later:
        return Problem(path=below, message="is not supported yet by this version; leave it out")
    if name in service:
        return Problem(path=below, message="is set by the service; leave it out")
    remedy = nearest(name, names) or f"the fields are {', '.join(names)}"
    return Problem(path=below, message=f"is not a known field; {remedy}")
