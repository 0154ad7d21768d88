"""Partial answers: the `fields` parameter, such as `items(name,size),nextPageToken` or `items/name`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vertex_emulator.http.messages import Request, Response, json_response
from vertex_emulator.storage.errors import StorageError, invalid

_STOP = "(),/"
_MAX_DEPTH = 20


@dataclass
class _Mask:
    """Fields to keep; one without children is kept whole."""

    children: dict[str, _Mask] = field(default_factory=dict)

    def apply(self, value: Any) -> Any:
        if not self.children:
            return value
        if isinstance(value, list):
            return [self.apply(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: mask.apply(item)
            for key, item in value.items()
            if (mask := self.children.get(key) or self.children.get("*"))
        }


def answer(request: Request, resource: dict[str, Any], status: int = 200) -> Response:
    """`resource`, or what the request's `fields` leave of it, as the answer."""
    selection = request.parameter("fields")
    return json_response(select(resource, selection) if selection else resource, status)


def select(resource: dict[str, Any], selection: str) -> Any:
    """What `selection` leaves of `resource`. Raises `StorageError` 400 when it cannot be read."""
    mask = _Mask()
    if _parse(selection, 0, mask, depth=0) != len(selection):
        raise _unreadable(selection)
    return mask.apply(resource)


def _parse(text: str, at: int, mask: _Mask, *, depth: int) -> int:
    """Read `a/b(c,d),e` into `mask`; gives the position of the closing parenthesis or the end."""
    if depth > _MAX_DEPTH:
        raise _unreadable(text)
    while True:
        node, at = _path(text, at, mask)
        if at < len(text) and text[at] == "(":
            at = _parse(text, at + 1, node, depth=depth + 1)
            if at >= len(text):
                raise _unreadable(text)
            at += 1
        if at < len(text) and text[at] == ",":
            at += 1
            continue
        return at


def _path(text: str, at: int, mask: _Mask) -> tuple[_Mask, int]:
    while True:
        end = at
        while end < len(text) and text[end] not in _STOP:
            end += 1
        name = text[at:end].strip()
        if not name:
            raise _unreadable(text)
        mask = mask.children.setdefault(name, _Mask())
        if end < len(text) and text[end] == "/":
            at = end + 1
            continue
        return mask, end


def _unreadable(selection: str) -> StorageError:
    return invalid(f"Invalid field selection {selection}", location="fields")
