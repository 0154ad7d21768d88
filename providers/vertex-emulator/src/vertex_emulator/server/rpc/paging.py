"""Sizes and tokens of the pages of list methods, and the pages of sorted texts."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_emulator.server.http.messages import Request
from vertex_emulator.server.rpc.methods import RpcError


def page_size(asked: int, *, default: int, most: int) -> int:
    """Return the size of a page. Raises `RpcError` INVALID_ARGUMENT for a negative one."""
    if asked < 0:
        raise RpcError("INVALID_ARGUMENT", f"The page size is {asked}. Use 0 or more.")
    return min(asked or default, most)


def page_token(position: Sequence[object], *, query: str) -> str:
    """Return an opaque token for the page after `position`, a pair. It is valid for one query only."""
    text = json.dumps([position, _fingerprint(position, query)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_page_token(token: str, *, query: str) -> list[Any] | None:
    """Return the position of a token, or None for an empty token. Raises `RpcError` for an invalid token."""
    if not token:
        return None
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        position, fingerprint = json.loads(text)
        if fingerprint != _fingerprint(position, query) or not isinstance(position, list):
            raise ValueError
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise RpcError(
            "INVALID_ARGUMENT",
            "The page token is not valid. Use the token of the previous page, with the same filter and "
            "order.",
        ) from None
    return position


def _fingerprint(position: object, query: str) -> str:
    """Return a hash of position and query, so that a forged position is rejected."""
    return hashlib.sha256(json.dumps([position, query]).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The size of a page without a request for one, and the largest."""

    default: int
    most: int


@dataclass(frozen=True, kw_only=True)
class Page:
    """A part of a list, and the token of the next part or ""."""

    items: Sequence[str]
    next_page_token: str

    def token(self) -> Mapping[str, str]:
        """Return the field `nextPageToken`, if there is a next page."""
        return {"nextPageToken": self.next_page_token} if self.next_page_token else {}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The part that a request asks for. A `size` of 0 is the default."""

    size: int
    token: str
    sizes: Sizes

    def page(self, items: Sequence[str], *, query: str) -> Page:
        """Return the part of a sorted list. A token is valid for one query only.

        Raises `RpcError` INVALID_ARGUMENT for an invalid size or token.
        """
        size = page_size(self.size, default=self.sizes.default, most=self.sizes.most)
        position = read_page_token(self.token, query=query)
        left = [each for each in items if position is None or each > str(position[0])]
        more = len(left) > size
        return Page(
            items=left[:size],
            next_page_token=page_token([left[size - 1], 0], query=query) if more else "",
        )


def of_request(request: Request, sizes: Sizes) -> Wanted:
    """Return the page that the parameters of a request ask for. Raises `RpcError` INVALID_ARGUMENT."""
    size = request.parameter("pageSize") or "0"
    if not re.fullmatch(r"-?[0-9]{1,9}", size):
        raise RpcError("INVALID_ARGUMENT", f"pageSize is {size[:200]!r}. Use a number.")
    return Wanted(size=int(size), token=request.parameter("pageToken") or "", sizes=sizes)
