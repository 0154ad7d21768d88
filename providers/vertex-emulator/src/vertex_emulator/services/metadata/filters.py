"""Filters of the list methods of MetadataService.

Besides comparisons of attributes: metadata.KEY.number_value = 10.0, in_context("NAME"), and
parent_contexts:"NAME","NAME" (the comments of `filter` in ListContextsRequest and its siblings).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vertex_emulator.kernel import times
from vertex_emulator.server.rpc import filters
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.filters import And, Comparison, Expression, FilterError
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine.records import Record

_MAX_DEPTH = 5
_TIMES = ("create_time", "update_time")
_TYPES = ("number_value", "string_value", "bool_value")
_RELATIONS = ("in_context", "parent_contexts", "child_contexts")


class Related(Protocol):
    """Returns the names of the resources that have a relation with the context of that name."""

    def __call__(self, relation: str, context: str) -> frozenset[str]: ...


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The attributes, and the relations to contexts, that filters of one kind of resource can name."""

    attributes: tuple[str, ...]
    relations: tuple[str, ...]


class _Parser(filters.Parser):
    def _comparison(self) -> Expression:
        kind, text = self._peek()
        if kind == "word" and text == "in_context":
            return self._in_context()
        field = self._path()
        kind, operator = self._peek()
        if kind != "op":
            raise FilterError(f"{field!r} is not a comparison; write one, such as FIELD = VALUE")
        self._at += 1
        found = [Comparison(field, operator, self._value(field, operator))]
        while field in _RELATIONS and self._peek() == ("word", ","):
            self._at += 1
            found.append(Comparison(field, operator, self._value(field, operator)))
        return found[0] if len(found) == 1 else And(tuple(found))

    def _in_context(self) -> Expression:
        self._at += 1
        if self._peek() != ("paren", "("):
            raise FilterError('write in_context("NAME"), with the name of a context')
        self._at += 1
        context = self._value("in_context", "(")
        if self._peek() != ("paren", ")"):
            raise FilterError("in_context has one argument, in quotes")
        self._at += 1
        return Comparison("in_context", ":", context)


def predicate(
    text: str, kind: Kind, related: Related, canonical: Callable[[str], str]
) -> Callable[[Record], bool]:
    """Return the predicate of a filter. `canonical` returns a context's name in the service's form.

    Raises `RpcError` INVALID_ARGUMENT.
    """
    try:
        if not text.strip():
            return lambda _: True
        parsed = _Parser(text).whole()
        if _depth(parsed) > _MAX_DEPTH:
            raise FilterError(f"the maximum depth of nested expressions is {_MAX_DEPTH}")
        expression = filters.mapped(parsed, lambda each: _checked(each, kind))
    except FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"Invalid filter {text!r}: {error}.") from error
    known: dict[Comparison, frozenset[str]] = {}

    def holds(comparison: Comparison, record: Record) -> bool:
        if comparison.field not in _RELATIONS:
            return _holds(comparison, record)
        if comparison not in known:
            known[comparison] = related(comparison.field, canonical(comparison.value))
        return record.name in known[comparison]

    return lambda record: filters.matches(expression, lambda comparison: holds(comparison, record))


def _depth(expression: Expression) -> int:
    if isinstance(expression, Comparison):
        return 0
    items = (expression.item,) if isinstance(expression, filters.Not) else expression.items
    return 1 + max((_depth(each) for each in items), default=0)


def _checked(comparison: Comparison, kind: Kind) -> Comparison:
    field, operator, value = comparison.field, comparison.operator, comparison.value
    if field in kind.relations:
        if operator not in (":", "="):
            raise FilterError(f'{field} takes the operator ":" and the name of a context')
        return Comparison(field, ":", value)
    head, _, rest = field.partition(".")
    if head == "metadata":
        return _checked_metadata(comparison, rest)
    if field not in kind.attributes:
        names = ", ".join((*kind.attributes, "metadata.KEY.TYPE", *kind.relations))
        raise FilterError(f"{field!r} cannot be filtered by; use {names}")
    if operator == ":":
        raise FilterError(f"{field} cannot be compared with :, only with = != < <= > >=")
    if field in _TIMES:
        value = filters.timestamp(value)
    return Comparison(field, operator, value)


def _checked_metadata(comparison: Comparison, rest: str) -> Comparison:
    key, _, kind = rest.rpartition(".")
    if not key or kind not in _TYPES:
        raise FilterError(
            f"{comparison.field!r} must be metadata.KEY followed by .number_value, .string_value or "
            ".bool_value"
        )
    if kind == "number_value":
        try:
            float(comparison.value)
        except ValueError:
            raise FilterError(f"{comparison.value!r} is not a number") from None
    return replace(comparison, operator=comparison.operator.replace(":", "="))


def _holds(comparison: Comparison, record: Record) -> bool:
    field, operator, value = comparison.field, comparison.operator, comparison.value
    message = record.message
    if field.startswith("metadata."):
        return _metadata_holds(message.metadata, comparison)
    if field == "name":
        actual = record.name
    elif field in _TIMES:
        actual = times.from_microseconds(getattr(message, field).ToMicroseconds())
    elif field == "state":
        actual = message.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_number[message.state].name
    else:
        actual = getattr(message, field)
    return filters.compare(actual, operator, value)


def _metadata_holds(metadata: DynamicMessage, comparison: Comparison) -> bool:
    key, _, kind = comparison.field.removeprefix("metadata.").rpartition(".")
    if key not in metadata.fields or metadata.fields[key].WhichOneof("kind") != kind:
        return False
    actual: Any = getattr(metadata.fields[key], kind)
    wanted: Any = comparison.value
    if kind == "number_value":
        wanted = float(wanted)
    elif kind == "bool_value":
        actual, wanted = str(actual).lower(), wanted.lower()
    return filters.compare(actual, comparison.operator, wanted)
