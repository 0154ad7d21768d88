"""Objects by name, in pages, folded at a delimiter ("Objects: list")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vertex_training.emulator.http import Request, Response
from vertex_training.emulator.storage import parameters, tokens
from vertex_training.emulator.storage.catalog import Catalog
from vertex_training.emulator.storage.errors import invalid
from vertex_training.emulator.storage.names import after_prefix, decode
from vertex_training.emulator.storage.partial import answer
from vertex_training.emulator.storage.records import StoredObject
from vertex_training.emulator.storage.resources import object_resource
from vertex_training.emulator.storage.store import Store

_SUPPORTED = frozenset(
    {
        "delimiter",
        "endOffset",
        "maxResults",
        "pageToken",
        "prefix",
        "projection",
        "softDeleted",
        "startOffset",
        "versions",
    }
)

Token = tuple[str, int | None]
"""Where a page ended: at an object's name and generation, or at a folded prefix, which has no generation."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """What to list: start <= name < end, beyond `after`."""

    bucket: str
    prefix: str = ""
    delimiter: str = ""
    versions: bool = False
    soft_deleted: bool = False
    start: str = ""
    end: str | None = None
    after: Token | None = None


class Listing:
    """The handler; group 1 of the match is the bucket's name, percent-encoded."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def list(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, _SUPPORTED)
        query, limit = _query(decode(match[1]), request), parameters.page_size(request)
        store = self._catalog.store
        store.bucket(query.bucket)
        # Further pages show what the first one found, so that a long listing looks at the files once.
        if query.after is None:
            self._catalog.take_in(query.bucket, query.prefix)
        items: list[dict[str, Any]] = []
        prefixes: list[str] = []
        token: Token | None = None
        resource: dict[str, Any] = {"kind": "storage#objects"}
        for entry, place in entries(store, query):
            if len(items) + len(prefixes) == limit:
                resource["nextPageToken"] = tokens.encode(token)
                break
            if isinstance(entry, str):
                prefixes.append(entry)
            else:
                items.append(object_resource(entry, request.base_url))
            token = place
        if prefixes:
            resource["prefixes"] = prefixes
        if items:
            resource["items"] = items
        return answer(request, resource)


def entries(store: Store, query: Query) -> Iterator[tuple[StoredObject | str, Token]]:
    """Objects and folded prefixes in order, each with the token of its place.

    A folded prefix is skipped as a whole, however many objects it has.
    """
    upper = after_prefix(query.prefix)
    end = min((bound for bound in (upper, query.end) if bound is not None), default=None)
    start: str | None = max(query.prefix, query.start)
    after = ("", 0)
    if query.after is not None:
        name, generation = query.after
        if generation is None:
            start = after_prefix(name)
        else:
            after = (name, generation)
    while start is not None:
        folded = None
        for stored in store.objects(
            query.bucket,
            versions=query.versions,
            soft_deleted=query.soft_deleted,
            after=after,
            start=start,
            end=end,
        ):
            folded = _folded(stored.name, query)
            if folded is not None:
                break
            yield stored, (stored.name, stored.generation)
        if folded is None:
            return
        yield folded, (folded, None)
        start, after = after_prefix(folded), ("", 0)


def _folded(name: str, query: Query) -> str | None:
    if not query.delimiter:
        return None
    at = name.find(query.delimiter, len(query.prefix))
    return None if at < 0 else name[: at + len(query.delimiter)]


def _query(bucket: str, request: Request) -> Query:
    return Query(
        bucket=bucket,
        prefix=request.parameter("prefix") or "",
        delimiter=request.parameter("delimiter") or "",
        versions=parameters.flag(request, "versions"),
        soft_deleted=parameters.flag(request, "softDeleted"),
        start=request.parameter("startOffset") or "",
        end=request.parameter("endOffset") or None,
        after=_token(request),
    )


def _token(request: Request) -> Token | None:
    match tokens.decode(request):
        case None:
            return None
        case [str(name), int(generation)] if 0 <= generation < 1 << 63:
            return name, generation
        case [str(name), None]:
            return name, None
    raise invalid("Invalid page token.", location="pageToken")
