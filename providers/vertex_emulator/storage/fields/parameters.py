"""The query parameters of the JSON API, and partial answers (`fields=`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vertex_emulator.http.messages import Request, Response, json_response
from vertex_emulator.storage.errors import StorageError, invalid, required, unsupported

# They change neither what is done nor, beyond white space, what is answered.
_ALWAYS = frozenset({"alt", "fields", "prettyPrint", "quotaUser", "userProject"})

# Clients ask for one of these lists unasked. None of them lets in anybody who is not let in here.
_ACCESS_LISTS = frozenset({"destinationPredefinedAcl", "predefinedAcl", "predefinedDefaultObjectAcl"})
_LISTS = frozenset(
    {
        "authenticatedRead",
        "bucketOwnerFullControl",
        "bucketOwnerRead",
        "private",
        "projectPrivate",
    }
)


def check(request: Request, supported: frozenset[str], *, alternatives: tuple[str, ...] = ("json",)) -> None:
    """Refuse parameters that the call does not support, and values of `alt` other than `alternatives`."""
    for name in request.query:
        if name in supported or name in _ALWAYS:
            continue
        if name in _ACCESS_LISTS:
            _check_list(request, name)
        else:
            raise unsupported(f"the parameter {name!r} of this call", "Leave it out.")
    if (alt := request.parameter("alt", "json")) not in alternatives:
        raise unsupported(f"alt={alt} for this call", f"Ask for alt={' or alt='.join(alternatives)}.")
    # Clients patch with projection=full; as with uniform bucket-level access there is no list to add.
    if request.parameter("projection", "noAcl") not in ("noAcl", "full"):
        raise invalid("projection has to be noAcl or full.", location="projection")
    refuse_headers(request.headers)


def _check_list(request: Request, name: str) -> None:
    if request.parameter(name) not in _LISTS:
        raise unsupported(
            f"{name}={request.parameter(name)}", f"Leave it out, or say one of {', '.join(sorted(_LISTS))}."
        )


def refuse_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that ask for what is not there."""
    for name in headers:
        if name.startswith(("x-goog-encryption-", "x-goog-copy-source-encryption-")):
            raise unsupported(f"customer-supplied encryption keys (header {name})", "Send no key.")


def text(request: Request, name: str) -> str:
    """A parameter that has to be there."""
    value = request.parameter(name)
    if not value:
        raise required(name)
    return value


def integer(request: Request, name: str) -> int | None:
    """A signed 64-bit number."""
    value = request.parameter(name)
    if value is None:
        return None
    digits = value[1:] if value.startswith("-") else value
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19 and abs(int(value)) < 1 << 63):
        raise invalid(f"Invalid long value: '{value}'.", location=name)
    return int(value)


def flag(request: Request, name: str) -> bool:
    """True or false in any case; false when left out."""
    value = (request.parameter(name) or "false").lower()
    if value not in ("true", "false"):
        raise invalid(f"Invalid boolean value: '{value}'.", location=name)
    return value == "true"


def page_size(request: Request, *, most: int = 1000) -> int:
    """maxResults, of which more than `most` means `most`."""
    value = integer(request, "maxResults")
    if value is None:
        return most
    if value <= 0:
        raise invalid(f"maxResults has to be positive, not {value}.", location="maxResults")
    return min(value, most)


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
