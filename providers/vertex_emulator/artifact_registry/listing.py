"""What all lists have in common: `filter`, `order_by`, pages."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from vertex_emulator.rpc import filters
from vertex_emulator.rpc.methods import RpcError

_PAGE, _MAX_PAGE = 100, 1000
_CAPITAL = re.compile("([A-Z])")

Item = TypeVar("Item")
Values: TypeAlias = "Callable[[Item, str], Sequence[str] | None]"
"""The values of a field; None for `KEY` of a map where there is none."""


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """`query` is all that the token of a page has to be used with again."""

    size: int
    token: str
    query: str

    @classmethod
    def of(cls, request: Any, *, query: str) -> PageRequest:
        """What a list's request asks for. Raises `RpcError` INVALID_ARGUMENT."""
        if request.page_size < 0:
            raise RpcError("INVALID_ARGUMENT", "page_size must not be negative.")
        return cls(size=min(request.page_size or _PAGE, _MAX_PAGE), token=request.page_token, query=query)


def page_of(
    items: Sequence[Item],
    page: PageRequest,
    *,
    key: Callable[[Item], str],
    order: Callable[[Item], Any] | None = None,
    descending: bool = False,
) -> tuple[Sequence[Item], str]:
    """One page of all items, and the token of the next: "" at the end.

    The order is that of `order`, then of `key`, which is different for all. Items that come or go between two
    pages do not let others be left out or come twice.
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
    """What `order_by` stands for: a value to sort by, and whether the greatest comes first.

    Raises `RpcError` INVALID_ARGUMENT; the service orders by one field only.
    """
    field, _, direction = " ".join(text.split()).partition(" ")
    known = _CAPITAL.sub(lambda match: f"_{match[1].lower()}", field)
    if known not in fields or direction.lower() not in ("", "asc", "desc"):
        raise RpcError(
            "INVALID_ARGUMENT",
            f"order_by {text!r} is not valid. Write one of {', '.join(fields)}, with ' desc' after it for "
            "the greatest first.",
        )
    return fields[known], direction.lower() == "desc"


def filter_of(text: str, fields: Sequence[str], values: Values[Item]) -> Callable[[Item], bool]:
    """The test that `filter` stands for; `annotations` among the fields may have a key.

    Text is compared without regard to case, and `*` stands for any characters ("Filter rules are case
    insensitive", in the messages of the API). Raises `RpcError` INVALID_ARGUMENT.
    """
    try:
        expression = filters.mapped(filters.parse(text, presence=True), lambda each: _checked(each, fields))
    except filters.FilterError as error:
        raise RpcError("INVALID_ARGUMENT", f"Invalid filter {text!r}: {error}.") from error

    def holds(item: Item, comparison: filters.Comparison) -> bool:
        found = values(item, comparison.field) or ()
        met = any(_fits(comparison.value, each) for each in found)
        return not met if comparison.operator == "!=" else met

    return lambda item: filters.matches(expression, lambda comparison: holds(item, comparison))


def annotation_values(annotations: Mapping[str, str], field: str) -> Sequence[str]:
    """The values that `annotations.KEY` has; the key may have wildcards."""
    _, _, key = field.partition(".")
    return [value for name, value in annotations.items() if _fits(key, name)]


def _fits(pattern: str, text: str) -> bool:
    """Whether `text` is the pattern, where `*` is any characters; each part is looked for once only."""
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


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, str)) else str(value)


def _is_up_to(position: list[Any], last: list[Any], descending: bool, *, by_key: bool) -> bool:
    """Whether it is on a page before the next one."""
    if not by_key and position[0] != last[0]:
        return bool(position[0] > last[0] if descending else position[0] < last[0])
    if by_key and descending:
        return bool(position[1] >= last[1])
    return bool(position[1] <= last[1])  # sorting is stable: among equals the key always goes up


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
        "The page token is not valid here. Use the token of the page before, with the same filter and order.",
    )


def _fingerprint(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()[:16]
