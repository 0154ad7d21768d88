"""What the list methods of Vertex AI have in common: `filter`, `order_by`, pages, `read_mask`.

Which fields a filter may name, and with which operators, is a table of each kind's own (Vertex AI API, the
comments of `filter` in the List...Request messages).
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from google.protobuf.message import Message

from vertex_training.emulator import descriptors, filters, times
from vertex_training.emulator.projects import Place
from vertex_training.emulator.rpc import RpcError
from vertex_training.emulator.vertex.names import parse_parent
from vertex_training.emulator.vertex.records import Record

_PAGE, _MAX_PAGE = 100, 1000
_ORDER = ("=", "!=", "<", "<=", ">", ">=")
_CAPITAL = re.compile("([A-Z])")


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field that a filter may name: its value in a record as text, and the operators for it.

    `known` are the values that there are, for a field with few of them; `is_time`: values are times, compared
    as such. Of `labels` the value is a mapping, and the filter names a key: `labels.KEY=VALUE`, and both
    `labels.KEY:*` and `labels:KEY` where the key is to be there.
    """

    value: Callable[[Record], Any]
    operators: tuple[str, ...] = ("=", "!=")
    known: tuple[str, ...] = ()
    is_time: bool = False
    is_map: bool = False


Fields = Mapping[str, Field]

DISPLAY_NAME = Field(value=lambda record: record.message.display_name, operators=("=", "!=", ":"))
LABELS = Field(value=lambda record: record.message.labels, operators=("=", "!=", ":"), is_map=True)
CREATE_TIME = Field(
    value=lambda record: times.of_microseconds(record.created), operators=_ORDER, is_time=True
)


def state_field(names: Iterable[str]) -> Field:
    """The field `state` of a kind with these states."""
    return Field(value=lambda record: record.state, known=tuple(names))


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A list method: `answer` is the full name of its response, `items` the field that has the resources.

    `orders` are the fields that `order_by` may name, where the method has it.
    """

    answer: str
    items: str
    fields: Fields
    orders: Mapping[str, Callable[[Record], Any]] | None = None


class NewestFirst(Protocol):
    """What is listed: `Records`, or a view of some."""

    def newest_first(self, place: Place, *, before: tuple[int, int] | None = None) -> Iterator[Record]:
        """Those of a place that come after `before`, a pair of `created` and `number`."""


def list_records(records: NewestFirst, request: Any, listing: Listing) -> Message:
    """The answer to a list method for the records of its parent, the newest first unless it asks otherwise.

    Raises `RpcError` INVALID_ARGUMENT.
    """
    place = parse_parent(request.parent)
    order = getattr(request, "order_by", "")
    if order:
        return _page_in_order(records, place, request, listing)
    return page(
        request,
        lambda before: records.newest_first(place, before=before),
        listing,
        query=f"{place}?{request.filter if _has(request, 'filter') else ''}",
    )


def page(
    request: Any,
    newest_first: Callable[[tuple[int, int] | None], Iterator[Record]],
    listing: Listing,
    *,
    query: str,
) -> Message:
    """One page of records that come by `created` and `number`, the greatest first; `newest_first` gives those
    after a position. `query` is all that a token has to be used with again."""
    lets_through = _filter(request, listing)
    size = _size(request)
    position = read_page_token(request.page_token, query=query)
    before = (int(str(position[0])), int(str(position[1]))) if position else None
    found = list(islice(filter(lets_through, newest_first(before)), size + 1))
    answer = descriptors.message(listing.answer)
    _fill(answer, listing, found[:size], request)
    if len(found) > size:
        last = found[size - 1]
        answer.next_page_token = page_token([last.created, last.number], query=query)
    filled: Message = answer
    return filled


def _page_in_order(records: NewestFirst, place: Place, request: Any, listing: Listing) -> Message:
    keys = _order(request.order_by, listing.orders or {})
    query = f"{place}?{request.filter}?{request.order_by}"
    found = sorted(
        filter(_filter(request, listing), records.newest_first(place)), key=lambda one: -one.number
    )
    for key, descending in reversed(keys):
        found.sort(key=key, reverse=descending)
    size, position = _size(request), read_page_token(request.page_token, query=query)
    start = int(str(position[0])) if position else 0
    answer = descriptors.message(listing.answer)
    _fill(answer, listing, found[start : start + size], request)
    if start + size < len(found):
        answer.next_page_token = page_token([start + size, 0], query=query)
    filled: Message = answer
    return filled


def _fill(answer: Any, listing: Listing, found: Iterable[Record], request: Any) -> None:
    mask = request.read_mask if _has(request, "read_mask") else None
    getattr(answer, listing.items).extend(masked(record.message, mask) for record in found)


def masked(message: Any, mask: Any) -> Any:
    """The fields of a message that a `read_mask` names; all for an empty one, and for "*"."""
    if mask is None or not mask.paths or list(mask.paths) == ["*"]:
        return message
    if not mask.IsValidForDescriptor(message.DESCRIPTOR):
        raise RpcError(
            "INVALID_ARGUMENT",
            f"read_mask {mask.ToJsonString()!r} names fields that a {message.DESCRIPTOR.name} has not.",
        )
    answer = descriptors.message(message.DESCRIPTOR.full_name)
    mask.MergeMessage(message, answer)
    return answer


def _size(request: Any) -> int:
    if request.page_size < 0:
        raise RpcError("INVALID_ARGUMENT", "page_size must not be negative.")
    return min(request.page_size or _PAGE, _MAX_PAGE)


def _has(request: Any, field: str) -> bool:
    return field in request.DESCRIPTOR.fields_by_name


def _order(
    text: str, known: Mapping[str, Callable[[Record], Any]]
) -> list[tuple[Callable[[Record], Any], bool]]:
    """What `order_by` stands for: keys to sort by, and whether the greatest comes first."""
    keys = []
    for part in text.split(","):
        field, _, direction = " ".join(part.split()).partition(" ")
        name = _snake(field)
        if name not in known or direction.lower() not in ("", "asc", "desc"):
            raise RpcError(
                "INVALID_ARGUMENT",
                f"order_by {text!r} is not valid. Write one of {', '.join(known)}, with ' desc' after it for "
                "the greatest first; several are separated by commas.",
            )
        keys.append((known[name], direction.lower() == "desc"))
    return keys


def _filter(request: Any, listing: Listing) -> Callable[[Record], bool]:
    return record_filter(request.filter if _has(request, "filter") else "", listing.fields)


def record_filter(text: str, fields: Fields) -> Callable[[Record], bool]:
    """The test that a list's `filter` stands for. Raises `RpcError` INVALID_ARGUMENT."""
    try:
        expression = filters.mapped(filters.parse(text), lambda each: _checked(each, fields))
    except filters.FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"Invalid filter {text!r}: {error}.") from error
    return lambda record: filters.matches(expression, lambda comparison: _holds(comparison, record, fields))


def _checked(comparison: filters.Comparison, fields: Fields) -> filters.Comparison:
    head, dot, key = comparison.field.partition(".")
    head = _snake(head)
    field = fields.get(head)
    if field is not None and field.is_map and not dot and comparison.operator == ":":
        return filters.Comparison(f"{head}.{comparison.value}", ":", "*")
    if field is None or field.is_map != bool(dot):
        names = [f"{name}.KEY" if each.is_map else name for name, each in fields.items()]
        raise filters.FilterError(
            f"{comparison.field!r} cannot be filtered by; use {', '.join(names[:-1])} or {names[-1]}"
        )
    if comparison.operator not in field.operators:
        raise filters.FilterError(
            f"{comparison.field} cannot be compared with {comparison.operator}, only with "
            f"{' '.join(field.operators)}"
        )
    value = comparison.value
    if field.is_time:
        try:
            value = times.text(times.parse(value))
        except ValueError:
            raise filters.FilterError(f"{value!r} is not a time, such as 2026-01-31T12:00:00Z") from None
    if field.known and value not in field.known:
        raise filters.FilterError(f"{value!r} is not a {head}; they are {', '.join(field.known)}")
    return filters.Comparison(f"{head}{dot}{key}", comparison.operator, value)


def _holds(comparison: filters.Comparison, record: Record, fields: Fields) -> bool:
    head, _, key = comparison.field.partition(".")
    operator, wanted = comparison.operator, comparison.value
    actual = fields[head].value(record)
    if fields[head].is_map:
        if operator == ":":
            return key in actual and wanted in ("*", actual[key])
        return (key in actual and actual[key] == wanted) == (operator == "=")
    if operator == ":":
        pattern = wanted if "*" in wanted else f"*{wanted}*"
        return fnmatch.fnmatchcase(actual, pattern.replace("[", "[[]").replace("?", "[?]"))
    return bool(
        {
            "=": actual == wanted,
            "!=": actual != wanted,
            "<": actual < wanted,
            "<=": actual <= wanted,
            ">": actual > wanted,
            ">=": actual >= wanted,
        }[operator]
    )


def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda match: f"_{match[1].lower()}", name)


def page_token(position: object, *, query: str) -> str:
    """An opaque token for the page after `position`; it goes with one query only."""
    text = json.dumps([position, _fingerprint(query)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_page_token(token: str, *, query: str) -> list[object] | None:
    """The position in a token, None for an empty one. Raises `RpcError` for another query's token."""
    if not token:
        return None
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        position, fingerprint = json.loads(text)
        if fingerprint != _fingerprint(query) or not isinstance(position, list) or len(position) != 2:
            raise ValueError
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise RpcError(
            "INVALID_ARGUMENT",
            "The page token is not valid here. Use the token of the page before, with the same filter and "
            "order.",
        ) from None
    return position


def _fingerprint(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()[:16]
