"""The pages of a list that is in order of its items, which are texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vertex_emulator.http.messages import Request
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.vertex import listing


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
        if self.size < 0:
            raise RpcError("INVALID_ARGUMENT", f"The page size is {self.size}. Use 0 or more.")
        position = listing.read_page_token(self.token, query=query)
        left = [each for each in items if position is None or each > str(position[0])]
        size = min(self.size or self.sizes.default, self.sizes.most)
        more = len(left) > size
        return Page(
            items=left[:size],
            next_page_token=listing.page_token([left[size - 1], 0], query=query) if more else "",
        )


def of_request(request: Request, sizes: Sizes) -> Wanted:
    """Return the page that the parameters of a request ask for. Raises `RpcError` INVALID_ARGUMENT."""
    size = request.parameter("pageSize") or "0"
    if not re.fullmatch(r"-?[0-9]{1,9}", size):
        raise RpcError("INVALID_ARGUMENT", f"pageSize is {size[:200]!r}. Use a number.")
    return Wanted(size=int(size), token=request.parameter("pageToken") or "", sizes=sizes)
