"""Query parameters of the JSON API, and partial responses (`fields=`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from vertex_emulator.server.http.messages import Request, Response, json_response
from vertex_emulator.services.storage.errors import StorageError, invalid, required, unsupported

# Parameters that change neither the call nor, except for white space, the response.
_ALWAYS = frozenset({"alt", "fields", "prettyPrint", "quotaUser", "returnPartialSuccess", "userProject"})

# All other parameters of the API's description and of every Google API. The service ignores any other name.
_KNOWN = frozenset(
    {
        *("$.xgafv", "access_token", "allowNonEmpty", "callback", "contentEncoding", "copySourceAcl"),
        *(
            "delimiter",
            "destinationKmsKeyName",
            "destinationPredefinedAcl",
            "enableObjectRetention",
            "endOffset",
            "filter",
        ),
        *("generation", "ifGenerationMatch", "ifGenerationNotMatch", "ifMetagenerationMatch"),
        *("ifMetagenerationNotMatch", "ifSourceGenerationMatch", "ifSourceGenerationNotMatch"),
        *("ifSourceMetagenerationMatch", "ifSourceMetagenerationNotMatch", "includeFoldersAsPrefixes"),
        *("includeTrailingDelimiter", "key", "kmsKeyName", "matchGlob", "maxBytesRewrittenPerCall"),
        *("maxResults", "name", "oauth_token", "optionsRequestedPolicyVersion", "overrideUnlockedRetention"),
        *(
            "pageSize",
            "pageToken",
            "permissions",
            "predefinedAcl",
            "predefinedDefaultObjectAcl",
            "prefix",
            "project",
            "projection",
            "restoreToken",
        ),
        *("rewriteToken", "serviceAccountEmail", "showDeletedKeys", "softDeleted"),
        *("sourceGeneration", "startOffset", "uploadType", "upload_id", "versions"),
    }
)


def check(request: Request, supported: frozenset[str], *, alternatives: tuple[str, ...] = ("json",)) -> None:
    """Reject parameters that the API has and the call does not support, and other values of `alt`."""
    for name in request.query:
        if name not in supported and name not in _ALWAYS and name in _KNOWN:
            raise unsupported(f"the parameter {name!r} of this call", "Leave it out.")
    if (alt := request.parameter("alt", "json")) not in alternatives:
        raise unsupported(f"alt={alt} for this call", f"Send alt={' or alt='.join(alternatives)}.")
    if request.parameter("projection", "noAcl") not in ("noAcl", "full"):
        raise invalid("projection must be noAcl or full.", location="projection")
    reject_headers(request.headers)


def predefined_list(request: Request, name: str, choices: Sequence[str]) -> str | None:
    """Return the predefined access control list in the parameter `name`, if there is one."""
    value = request.parameter(name)
    if value is not None and value not in choices:
        raise invalid(f"{name} must be one of {', '.join(choices)}, not {value!r}.", location=name)
    return value


T = TypeVar("T")


def full(request: Request, read: Callable[[], T]) -> T | None:
    """Return `read()` for a request of the resource with its access control lists, or else None."""
    return read() if request.parameter("projection") == "full" else None


def reject_headers(headers: Mapping[str, str]) -> None:
    """Reject headers of unsupported features."""
    for name in headers:
        if name.startswith(("x-goog-encryption-", "x-goog-copy-source-encryption-")):
            raise unsupported(f"customer-supplied encryption keys (header {name})", "Send no key.")


def text(request: Request, name: str) -> str:
    """Return a required parameter."""
    value = request.parameter(name)
    if not value:
        raise required(name)
    return value


def integer(request: Request, name: str) -> int | None:
    """Return a parameter that is a signed 64-bit number, or None."""
    value = request.parameter(name)
    if value is None:
        return None
    digits = value[1:] if value.startswith("-") else value
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19 and abs(int(value)) < 1 << 63):
        raise invalid(f"Invalid long value: '{value}'.", location=name)
    return int(value)


def flag(request: Request, name: str) -> bool:
    """Return a parameter that is true or false in any case, or False if it is missing."""
    value = (request.parameter(name) or "false").lower()
    if value not in ("true", "false"):
        raise invalid(f"Invalid boolean value: '{value}'.", location=name)
    return value == "true"


def page_size(request: Request, *, most: int = 1000) -> int:
    """Return maxResults, limited to `most`."""
    value = integer(request, "maxResults")
    if value is None:
        return most
    if value <= 0:
        raise invalid(f"maxResults must be positive, not {value}.", location="maxResults")
    return min(value, most)


_STOP = "(),/"
_MAX_DEPTH = 20


@dataclass
class _Mask:
    """The fields to keep. A field without children is kept whole."""

    children: dict[str, _Mask] = field(default_factory=dict)

    def apply(self, value: object) -> Any:
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
    """Return the response with `resource`, reduced to the request's `fields`."""
    selection = request.parameter("fields")
    return json_response(select(resource, selection) if selection else resource, status)


def select(resource: dict[str, Any], selection: str) -> Any:
    """Reduce `resource` to the fields of `selection`. Raises `StorageError` 400 if it cannot be parsed."""
    mask = _Mask()
    if _parse(selection, 0, mask, depth=0) != len(selection):
        raise _unreadable(selection)
    return mask.apply(resource)


def _parse(text: str, at: int, mask: _Mask, *, depth: int) -> int:
    """Parse `a/b(c,d),e` into `mask`. Return the position of the closing parenthesis or the end."""
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
