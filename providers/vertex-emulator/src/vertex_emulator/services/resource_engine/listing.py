"""Filters, sort orders, pages and read masks of the list methods of Vertex AI.

Each kind has its own table of the fields and operators in filters (Vertex AI API, the comments of `filter` in
the List...Request messages).
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any

from google.protobuf.descriptor import Descriptor

from vertex_emulator.kernel import times
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors, filters
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.server.rpc.paging import page_size, page_token, read_page_token
from vertex_emulator.services.resource_engine.records import Record, Records

_ORDER = ("=", "!=", "<", "<=", ">", ">=")
_CAPITAL = re.compile("([A-Z])")


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of filters: its value in a listed item as text, and its operators.

    `known` are the possible values of an enum; `is_time` values are compared as times. With `is_map`, the
    value is a mapping and the filter names a key: `labels.KEY=VALUE`, and `labels.KEY:*` or `labels:KEY` for
    an existing key.
    """

    value: Callable[[Record], Any]
    operators: tuple[str, ...] = ("=", "!=")
    known: tuple[str, ...] = ()
    is_time: bool = False
    is_map: bool = False


Fields = Mapping[str, Field]
_Key = Callable[[Record], "str | int"]

DISPLAY_NAME = Field(value=lambda record: record.message.display_name, operators=("=", "!=", ":"))
LABELS = Field(value=lambda record: record.message.labels, operators=("=", "!=", ":"), is_map=True)
CREATE_TIME = Field(
    value=lambda record: times.from_microseconds(record.created), operators=_ORDER, is_time=True
)


ORDERS: Mapping[str, _Key] = {
    "display_name": lambda record: record.message.display_name,
    "create_time": lambda record: record.created,
    "update_time": lambda record: record.message.update_time.ToMicroseconds(),
}


def state_field(names: Iterable[str]) -> Field:
    """Return the field `state` of a kind with these states."""
    return Field(value=lambda record: record.state, known=tuple(names))


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A list method: `answer` is the full name of its response, `items` the response's field of resources.

    The engine of stored resources sets both. `orders` are the fields of `order_by`, as strings or integers,
    if the method has it. `default_order` are the ascending sort keys of a request without an order; newest
    first if it is empty. `shown` converts a record to its message in the response. `page` is the default size
    of a page, and `most` the largest one. `matcher` is for a filter language of its own: it returns the
    predicate of a filter.
    """

    answer: str = ""
    items: str = ""
    fields: Fields = field(default_factory=dict)
    orders: Mapping[str, _Key] = field(default_factory=dict)
    default_order: Sequence[_Key] = ()
    shown: Callable[[Record], DynamicMessage] = attrgetter("message")
    page: int = 100
    most: int = 1000
    matcher: Callable[[str], Callable[[Record], bool]] | None = None


def list_records(
    records: Records, request: DynamicMessage, listing: Listing, *, place: Place, below: str = ""
) -> DynamicMessage:
    """Return the response of a list method for a location, or for the resources whose IDs begin with `below`.

    The order is newest first, by `created` and `number`, unless the request or the method has another. A page
    begins after the last record of the previous page, even if records were added or deleted since. Raises
    `RpcError` INVALID_ARGUMENT.
    """
    of = request.parent if _has(request, "parent") else request.name
    text = request.filter if _has(request, "filter") else ""
    order_by = request.order_by if _has(request, "order_by") else ""
    matches = listing.matcher(text) if listing.matcher else record_filter(text, listing.fields)
    keys = _order(order_by, listing.orders) if order_by else [(key, False) for key in listing.default_order]
    size = page_size(request.page_size, default=listing.page, most=listing.most)
    query = json.dumps([listing.answer, str(place), of, text, order_by])
    position = read_page_token(request.page_token, query=query)
    if keys:
        ordered = _ordered(filter(matches, records.newest_first(place, below=below)), keys, after=position)
        found = ordered[: size + 1]
    else:
        newest = records.newest_first(place, before=tuple(position) if position else None, below=below)
        found = list(islice(filter(matches, newest), size + 1))
    answer = descriptors.message(listing.answer)
    _fill(answer, listing, found[:size], request)
    if len(found) > size:
        last = found[size - 1]
        behind = [key(last) for key, _ in keys] if keys else last.created
        answer.next_page_token = page_token([behind, last.number], query=query)
    return answer


def _ordered(
    records: Iterable[Record], keys: Sequence[tuple[_Key, bool]], *, after: Sequence[Any] | None
) -> list[Record]:
    """Sort records by keys, then newest first, and drop those up to the position `after`.

    The position consists of the values of the keys and the number of a record, which may have been deleted.
    """
    rows = [([*(key(record) for key, _ in keys), record.number], record) for record in records]
    directions = [*(descending for _, descending in keys), True]
    if after:
        last = [*after[0], after[1]]
        rows = [row for row in rows if _is_behind(row[0], last, directions)]
    for index, descending in reversed([*enumerate(directions)]):
        rows.sort(key=lambda row: row[0][index], reverse=descending)
    return [record for _, record in rows]


def _is_behind(values: Sequence[Any], last: Sequence[Any], directions: Sequence[bool]) -> bool:
    for value, other, descending in zip(values, last, directions, strict=True):
        if value != other:
            return bool((value < other) == descending)
    return False


def _fill(answer: DynamicMessage, listing: Listing, found: Iterable[Record], request: DynamicMessage) -> None:
    items = getattr(answer, listing.items)
    tree = _tree(answer.DESCRIPTOR.fields_by_name[listing.items].message_type, request)
    for record in found:
        items.add().CopyFrom(listing.shown(record))
        _keep(items[-1], tree)


def masked(message: DynamicMessage, request: DynamicMessage) -> DynamicMessage:
    """Return the fields of a message in the `read_mask` of a request; all for an empty mask and for "*"."""
    answer = descriptors.message(message.DESCRIPTOR.full_name)
    answer.CopyFrom(message)
    _keep(answer, _tree(message.DESCRIPTOR, request))
    return answer


_Tree = dict[str, "_Tree"]
"""The fields of a mask by name, each with the fields of its message that count: {} for the whole field."""


def _tree(descriptor: Descriptor, request: DynamicMessage) -> _Tree:
    """Return the fields in the `read_mask` of a request, {} for all. Raises `RpcError` for unknown ones."""
    mask = request.read_mask if _has(request, "read_mask") else None
    if mask is None or list(mask.paths) in ([], ["*"]):
        return {}
    if not mask.IsValidForDescriptor(descriptor):
        raise RpcError(
            "INVALID_ARGUMENT",
            f"read_mask {mask.ToJsonString()!r} has fields that {descriptor.name} does not have.",
        )
    found: _Tree = {}
    for path in sorted(mask.paths, key=len):
        place = found
        *parents, last = path.split(".")
        for name in parents:
            if name in place and not place[name]:
                break  # a shorter path has the whole field
            place = place.setdefault(name, {})
        else:
            place[last] = {}
    return found


def _keep(message: DynamicMessage, tree: _Tree) -> None:
    """Clear the fields of a message that are not in a tree. To clear a copy is quicker than to merge."""
    for part, value in message.ListFields() if tree else ():
        if part.name not in tree:
            message.ClearField(part.name)
        elif below := tree[part.name]:
            _keep(value, below)
            if not value.ListFields():
                message.ClearField(part.name)


def _has(request: DynamicMessage, field: str) -> bool:
    return field in request.DESCRIPTOR.fields_by_name


def _order(text: str, known: Mapping[str, _Key]) -> list[tuple[_Key, bool]]:
    """Parse `order_by`: return the sort keys, each with whether the order is descending."""
    keys = []
    for part in text.split(","):
        field, _, direction = " ".join(part.split()).partition(" ")
        name = _snake(field)
        if name not in known or direction.lower() not in ("", "asc", "desc"):
            raise RpcError(
                "INVALID_ARGUMENT",
                f"order_by {text!r} is not valid. Use {', '.join(known)}, followed by ' desc' for descending "
                "order, and separate several by commas.",
            )
        keys.append((known[name], direction.lower() == "desc"))
    return keys


def record_filter(text: str, fields: Fields) -> Callable[[Record], bool]:
    """Parse `filter` and return its predicate. Raises `RpcError` INVALID_ARGUMENT."""
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
        value = filters.timestamp(value)
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
    return filters.compare(actual, operator, wanted)


def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda match: f"_{match[1].lower()}", name)
