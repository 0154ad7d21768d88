"""Lists of objects in pages, folded at a delimiter, as JSON text ("Objects: list").

The first page of a listing reconciles all its files under /gcs, because a file overwritten in place does not
change its folder's modification time. Later pages show the result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any
from urllib.parse import quote

from vertex_emulator.http.messages import JSON, Request, Response
from vertex_emulator.storage import names
from vertex_emulator.storage.disk.object_store import ObjectStore
from vertex_emulator.storage.disk.records import ObjectRow, etag, object_of
from vertex_emulator.storage.disk.store import Store
from vertex_emulator.storage.errors import invalid
from vertex_emulator.storage.fields import parameters
from vertex_emulator.storage.fields.parameters import answer
from vertex_emulator.storage.names import after_prefix, decode
from vertex_emulator.storage.objects import glob
from vertex_emulator.storage.objects.glob import Glob
from vertex_emulator.storage.resources import SELF, object_resource

_NEEDS_NO_CODE = re.compile(r"[A-Za-z0-9_.~/-]*", re.ASCII)


def object_text(row: ObjectRow, base_url: str) -> str:
    """Return `object_resource` of the row's object as JSON text."""
    if not _is_plain(row):
        return json.dumps(
            object_resource(object_of(row), base_url), ensure_ascii=False, separators=(",", ":")
        )
    name, generation, bucket = encode_basestring(row.name), row.generation, row.bucket
    path = f"b/{bucket}/o/{_encoded(row.name)}"
    settings = f"{row.settings[1:-1]}," if len(row.settings) > 2 else ""
    md5 = f'"md5Hash":"{row.md5}",' if row.md5 else ""
    return (
        f'{{"kind":"storage#object","id":"{bucket}/{name[1:-1]}/{generation}","selfLink":"{SELF}/{path}",'
        f'"mediaLink":"{base_url}/download/storage/v1/{path}?generation={generation}&alt=media",'
        f'"name":{name},"bucket":"{bucket}","generation":"{generation}",'
        f'"metageneration":"{row.metageneration}",{settings}"size":"{row.size}",{md5}'
        f'"crc32c":"{row.crc32c}","etag":"{etag(generation, row.metageneration)}",'
        f'"timeCreated":"{row.created}","updated":"{row.updated}",'
        f'"timeStorageClassUpdated":"{row.class_updated or row.created}","timeFinalized":"{row.created}"}}'
    )


def _is_plain(row: ObjectRow) -> bool:
    """Return whether an object has none of the rare fields."""
    return (
        '"acl":' not in row.settings
        and row.deleted is None
        and row.components is None
        and row.soft_deleted is None
        and row.retained_until is None
        and '"retention"' not in row.settings
    )


def _encoded(name: str) -> str:
    return name.replace("/", "%2F") if _NEEDS_NO_CODE.fullmatch(name) else quote(name, safe="")


_SUPPORTED = frozenset(
    {
        "delimiter",
        "endOffset",
        "includeFoldersAsPrefixes",
        "includeTrailingDelimiter",
        "matchGlob",
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
"""The end of a page: an object's name and generation, or a folded prefix without generation."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """The names to list: start <= name < end, after `after`, and matching `pattern`, if there is one.

    With `trailing`, an object whose name is a folded prefix is listed as well.
    """

    bucket: str
    prefix: str = ""
    delimiter: str = ""
    versions: bool = False
    soft_deleted: bool = False
    start: str = ""
    end: str | None = None
    after: Token | None = None
    pattern: Glob | None = None
    trailing: bool = False


@dataclass(frozen=True)
class Folded:
    """Objects that a delimiter folds into one prefix. `own` are those with that name, if requested."""

    prefix: str
    own: tuple[ObjectRow, ...] = ()


@dataclass
class Page:
    """One page of a listing. `next` is its end, or None for the last page."""

    objects: list[ObjectRow]
    prefixes: list[str]
    next: Token | None = None


class Listing:
    """The handler. Group 1 of the match is the bucket's percent-encoded name."""

    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store

    def list(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, _SUPPORTED)
        page = self.page(_query(decode(match[1]), request), parameters.page_size(request))
        full = parameters.full(request, lambda: self._object_store.store.bucket(decode(match[1])))
        if not request.parameter("fields") and (full is None or full.is_uniform):
            return Response(200, _text(page, request.base_url).encode("utf-8"), JSON)
        resource: dict[str, Any] = {"kind": "storage#objects"}
        if page.next is not None:
            resource["nextPageToken"] = names.encode_token(page.next)
        if page.prefixes:
            resource["prefixes"] = page.prefixes
        if page.objects:
            resource["items"] = [
                object_resource(object_of(row), request.base_url, full=full) for row in page.objects
            ]
        return answer(request, resource)

    def page(self, query: Query, limit: int) -> Page:
        """Return up to `limit` objects and prefixes. Raises `StorageError` 404 without the bucket."""
        store = self._object_store.store
        store.bucket(query.bucket)
        if query.after is None:
            self._object_store.adopt_files(query.bucket, query.prefix)
        page = Page([], [])
        place: Token | None = None
        for entry, token in entries(store, query, most=limit):
            if len(page.objects) + len(page.prefixes) >= limit:
                page.next = place
                break
            if isinstance(entry, Folded):
                page.prefixes.append(entry.prefix)
                page.objects.extend(entry.own)
            else:
                page.objects.append(entry)
            place = token
        return page


def entries(
    store: Store, query: Query, *, most: int | None = None
) -> Iterator[tuple[ObjectRow | Folded, Token]]:
    """Yield objects and folded prefixes in order, each with its token. The caller will use up to `most`.

    A query skips the objects of a folded prefix, whatever their number.
    """
    # One more shows whether there is a further page. With folding or a pattern, the number is unknown.
    plain = most is not None and not query.delimiter and query.pattern is None
    options = {"at_first": most + 1} if plain and most is not None else {}
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
        into = None
        own: list[ObjectRow] = []
        for stored in store.rows(
            query.bucket,
            versions=query.versions,
            soft_deleted=query.soft_deleted,
            after=after,
            start=start,
            end=end,
            **options,
        ):
            if into is not None and stored.name != into:
                break
            if query.pattern is not None and not query.pattern.fullmatch(stored.name):
                continue
            into = folded(stored.name, prefix=query.prefix, delimiter=query.delimiter)
            if into is None:
                yield stored, (stored.name, stored.generation)
            elif query.trailing and stored.name == into:
                own.append(stored)
            else:
                break
        if into is None:
            return
        yield Folded(into, tuple(own)), (into, None)
        start, after = after_prefix(into), ("", 0)


def folded(name: str, *, prefix: str, delimiter: str) -> str | None:
    """Return the prefix that a name is folded into, or None if it is listed itself."""
    if not delimiter:
        return None
    at = name.find(delimiter, len(prefix))
    return None if at < 0 else name[: at + len(delimiter)]


def _text(page: Page, base_url: str) -> str:
    """Return the response's text, which is made directly from the rows."""
    token = "" if page.next is None else f',"nextPageToken":{json.dumps(names.encode_token(page.next))}'
    prefixes = f',"prefixes":{json.dumps(page.prefixes)}' if page.prefixes else ""
    items = ",".join([object_text(row, base_url) for row in page.objects])
    items = f',"items":[{items}]' if items else ""
    return f'{{"kind":"storage#objects"{token}{prefixes}{items}}}'


def _query(bucket: str, request: Request) -> Query:
    delimiter = request.parameter("delimiter") or ""
    pattern = request.parameter("matchGlob")
    if pattern and delimiter not in ("", "/"):
        raise invalid("With matchGlob, the delimiter must be '/' or left out.", location="matchGlob")
    parameters.flag(request, "includeFoldersAsPrefixes")  # checked only, because there are no such folders
    literal = glob.literal_prefix(pattern) if pattern else ""
    return Query(
        bucket=bucket,
        prefix=request.parameter("prefix") or "",
        delimiter=delimiter,
        versions=parameters.flag(request, "versions"),
        soft_deleted=parameters.flag(request, "softDeleted"),
        start=max(request.parameter("startOffset") or "", literal),
        end=_least(request.parameter("endOffset") or None, after_prefix(literal)),
        after=_token(request),
        pattern=glob.compiled(pattern) if pattern else None,
        trailing=parameters.flag(request, "includeTrailingDelimiter"),
    )


def _least(*bounds: str | None) -> str | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def _token(request: Request) -> Token | None:
    match names.decode_token(request):
        case None:
            return None
        case [str(name), int(generation)] if 0 <= generation < 1 << 63:
            return name, generation
        case [str(name), None]:
            return name, None
    raise invalid("Invalid page token.", location="pageToken")
