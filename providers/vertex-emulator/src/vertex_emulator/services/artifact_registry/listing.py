"""Filters, sort orders and pages of all list methods."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from vertex_emulator.server.rpc import filters
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.server.rpc.paging import page_size

_PAGE, _MAX_PAGE = 100, 1000
_CAPITAL = re.compile("([A-Z])")

Item = TypeVar("Item")
Values: TypeAlias = "Callable[[Item, str], Sequence[str] | None]"
"""Function that returns the values of a field, or None if a map has no such key."""


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """The page that a list request asks for.

    A page token is valid only together with the same `query`.
    """

    size: int
    token: str
    query: str

    @classmethod
    def of(cls, request: DynamicMessage, *, query: str) -> PageRequest:
        """Read the page size and token of a list request. Raises `RpcError` INVALID_ARGUMENT."""
        size = page_size(request.page_size, default=_PAGE, most=_MAX_PAGE)
        return cls(size=size, token=request.page_token, query=query)


def page_of(
    items: Sequence[Item],
    page: PageRequest,
    *,
    key: Callable[[Item], str],
    order: Callable[[Item], Any] | None = None,
    descending: bool = False,
) -> tuple[Sequence[Item], str]:
    """Return one page of `items` and the token of the next page, or "" on the last page.

    Items are sorted by `order`, then by `key`, which is unique. Items that are added or deleted between two
    pages neither hide nor repeat others.
    """
    ordered = sorted(items, key=key)
    if order is not None:
        ordered.sort(key=order, reverse=descending)
    elif descending:
        ordered.reverse()
    positions = [[_plain(order(each)) if order else "", key(each)] for each in ordered]
    start = 0
    if (last := _position(page)) is not None and positions:
        if type(last[0]) is not type(positions[0][0]):
            raise _foreign_token()
        start = sum(_is_up_to(each, last, descending, by_key=order is None) for each in positions)
    chosen = ordered[start : start + page.size]
    if start + page.size >= len(ordered):
        return chosen, ""
    return chosen, _token(positions[start + page.size - 1], page.query)


def order_of(text: str, fields: Mapping[str, Callable[[Item], Any]]) -> tuple[Callable[[Item], Any], bool]:
    """Parse `order_by`. Return the sort key and whether the order is descending.

    The service sorts by one field only. Raises `RpcError` INVALID_ARGUMENT.
    """
    field, _, direction = " ".join(text.split()).partition(" ")
    known = _CAPITAL.sub(lambda match: f"_{match[1].lower()}", field)
    if known not in fields or direction.lower() not in ("", "asc", "desc"):
        raise RpcError(
            "INVALID_ARGUMENT",
            f"order_by {text!r} is not valid. Use one of {', '.join(fields)}, followed by ' desc' for "
            "descending order.",
        )
    return fields[known], direction.lower() == "desc"


def filter_of(text: str, fields: Sequence[str], values: Values[Item]) -> Callable[[Item], bool]:
    """Parse `filter` and return its predicate. The field `annotations` takes a key.

    Text is compared without regard to case, and `*` matches any characters ("Filter rules are case
    insensitive", in the messages of the API). Raises `RpcError` INVALID_ARGUMENT.
    """
    try:
        expression = filters.mapped(filters.parse(text, presence=True), lambda each: _checked(each, fields))
    except filters.FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"Invalid filter {text!r}: {error}.") from error

    def holds(item: Item, comparison: filters.Comparison) -> bool:
        candidates = values(item, comparison.field) or ()
        met = any(_fits(comparison.value, each) for each in candidates)
        return not met if comparison.operator == "!=" else met

    return lambda item: filters.matches(expression, lambda comparison: holds(item, comparison))


def annotation_values(annotations: Mapping[str, str], field: str) -> Sequence[str]:
    """Return the values of the annotations that match `annotations.KEY`; the key may have wildcards."""
    _, _, key = field.partition(".")
    return [value for name, value in annotations.items() if _fits(key, name)]


def _fits(pattern: str, text: str) -> bool:
    """Return whether `text` matches the pattern, in which `*` stands for any characters.

    The time is linear: each part of the pattern is searched once.
    """
    first, *others = pattern.casefold().split("*")
    text = text.casefold()
    if not others:
        return text == first
    if not text.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return len(text) - at >= len(others[-1]) and text.endswith(others[-1])


def _checked(comparison: filters.Comparison, fields: Sequence[str]) -> filters.Comparison:
    head, dot, _ = comparison.field.partition(".")
    if head not in fields or (head == "annotations") != bool(dot):
        known = ", ".join(f"{each}.KEY" if each == "annotations" else each for each in fields)
        raise filters.FilterError(f"{comparison.field!r} cannot be filtered by; use {known}")
    if comparison.operator not in ("=", "!=", ":"):
        raise filters.FilterError(f"{comparison.field} can be compared with =, != and : only")
    if comparison.operator == ":" and head != "annotations":
        raise filters.FilterError(f"{comparison.field} can be compared with = and != only")
    return comparison


def _plain(value: object) -> Any:
    return value if isinstance(value, (int, str)) else str(value)


def _is_up_to(position: list[Any], last: list[Any], descending: bool, *, by_key: bool) -> bool:
    """Return whether a position is on the pages up to and including the page of `last`."""
    if not by_key and position[0] != last[0]:
        return bool(position[0] > last[0] if descending else position[0] < last[0])
    if by_key and descending:
        return bool(position[1] >= last[1])
    return bool(position[1] <= last[1])  # the sort is stable: equal values are in ascending order of the key


def _token(position: list[Any], query: str) -> str:
    text = json.dumps([position, _fingerprint(query)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _position(page: PageRequest) -> list[Any] | None:
    if not page.token:
        return None
    try:
        text = base64.b64decode(page.token + "=" * (-len(page.token) % 4), altchars=b"-_", validate=True)
        position, fingerprint = json.loads(text)
        order, key = position
        if fingerprint != _fingerprint(page.query) or not isinstance(key, str):
            raise ValueError
        if not isinstance(order, (int, str)):
            raise ValueError
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise _foreign_token() from None
    return [order, key]


def _foreign_token() -> RpcError:
    return RpcError(
        "INVALID_ARGUMENT",
        "The page token is not valid. Use the token of the previous page, with the same filter and order.",
    )


def _fingerprint(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()[:16]
