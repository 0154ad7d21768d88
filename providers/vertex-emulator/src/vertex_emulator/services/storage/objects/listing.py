"""Lists of objects in pages, folded at a delimiter, as JSON text ("Objects: list").

The first page of a listing reconciles all its files under /gcs, because a file overwritten in place does not
change its folder's modification time. Later pages show the result. The text of a page is kept until the next
change of a record, which the comparison with the files makes if it finds one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any
from urllib.parse import quote

from vertex_emulator.kernel.database import ReadCache
from vertex_emulator.server.http.messages import JSON, Request, Response
from vertex_emulator.services.storage import names
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import Columns, ObjectRow, object_etag, object_of
from vertex_emulator.services.storage.disk.store import Store
from vertex_emulator.services.storage.errors import invalid
from vertex_emulator.services.storage.fields import parameters
from vertex_emulator.services.storage.fields.parameters import answer
from vertex_emulator.services.storage.names import after_prefix, decode
from vertex_emulator.services.storage.objects import glob
from vertex_emulator.services.storage.resources import SELF, object_resource

_NEEDS_NO_CODE = re.compile(r"[A-Za-z0-9_.~/-]*", re.ASCII).fullmatch
_NONE = (None, None, None, None)
_KEY_BYTES = 2 << 10
_MOST_CACHED = 8 << 20
"""The bytes of pages that are kept, for clients that ask for a list again and again."""


def objects_text(rows: Sequence[Columns], base_url: str) -> str:
    """Return the `object_resource` of each row's object as JSON text, with commas between them.

    A listing spends its time here. Therefore rows are unpacked by position, and nothing is called that need
    not be.
    """
    texts = []
    common: dict[str, str | None] = {}
    for row in rows:
        bucket, name, generation, metageneration, _, size, crc32c, md5, created, updated, *rest = row
        deleted, settings, _, _, _, _, soft_deleted, _, components, class_updated, _, retained_until, _ = rest
        if settings not in common:
            common[settings] = _common_text(settings)
        fields = common[settings]
        if fields is None or (deleted, components, soft_deleted, retained_until) != _NONE:
            resource = object_resource(object_of(row), base_url)
            texts.append(json.dumps(resource, ensure_ascii=False, separators=(",", ":")))
            continue
        if _NEEDS_NO_CODE(name):
            encoded = name.replace("/", "%2F")
        else:
            encoded, name = quote(name, safe=""), encode_basestring(name)[1:-1]
        number = str(generation)
        path = f"b/{bucket}/o/{encoded}"
        md5_field = f'"md5Hash":"{md5}",' if md5 else ""
        texts.append(
            f'{{"kind":"storage#object","id":"{bucket}/{name}/{number}","selfLink":"{SELF}/{path}",'
            f'"mediaLink":"{base_url}/download/storage/v1/{path}?generation={number}&alt=media",'
            f'"name":"{name}","bucket":"{bucket}","generation":"{number}",'
            f'"metageneration":"{metageneration}",{fields}"size":"{size}",{md5_field}'
            f'"crc32c":"{crc32c}","etag":"{object_etag(generation, metageneration)}",'
            f'"timeCreated":"{created}","updated":"{updated}",'
            f'"timeStorageClassUpdated":"{class_updated or created}","timeFinalized":"{created}"}}'
        )
    return ",".join(texts)


def _common_text(settings: str) -> str | None:
    """Return the settings of objects as fields followed by a comma, or None if they have rare fields."""
    if '"acl":' in settings or '"retention"' in settings:
        return None
    return f"{settings[1:-1]}," if len(settings) > 2 else ""


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
    pattern: Callable[[str], bool] | None = None
    trailing: bool = False


@dataclass(frozen=True)
class Folded:
    """Objects that a delimiter folds into one prefix. `own` are those with that name, if requested."""

    prefix: str
    own: tuple[ObjectRow, ...] = ()


@dataclass
class Page:
    """One page of a listing. `next` is its end, or None for the last page."""

    objects: Sequence[Columns]
    prefixes: Sequence[str]
    next: Token | None = None


class Listing:
    """The handler. Group 1 of the match is the bucket's percent-encoded name."""

    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store
        self._cache: ReadCache[tuple[Query, int, str], bytes] = object_store.store.cache(
            size=lambda text: len(text) + _KEY_BYTES, most=_MOST_CACHED
        )

    def list(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, _SUPPORTED)
        query, limit = _query(decode(match[1]), request), parameters.page_size(request)
        full = parameters.full(request, lambda: self._object_store.store.bucket(query.bucket))
        self._adopt_files(query)
        if not request.parameter("fields") and (full is None or full.is_uniform):
            return Response(200, self._text(query, limit, request.base_url), JSON)
        page = self._page(query, limit)
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
        self._adopt_files(query)
        return self._page(query, limit)

    def _adopt_files(self, query: Query) -> None:
        self._object_store.store.bucket(query.bucket)
        if query.after is None:
            self._object_store.adopt_files(query.bucket, query.prefix)

    def _text(self, query: Query, limit: int, base_url: str) -> bytes:
        """Return the text of a page. It is kept until a record changes, unless it changes with the time."""

        def read() -> bytes:
            return _text(self._page(query, limit), base_url).encode("utf-8")

        return read() if query.soft_deleted else self._cache.get((query, limit, base_url), read)

    def _page(self, query: Query, limit: int) -> Page:
        store = self._object_store.store
        if not query.delimiter and query.pattern is None:
            return _unfolded_page(store, query, limit)
        objects: list[ObjectRow] = []
        prefixes: list[str] = []
        place: Token | None = None
        for entry, token in entries(store, query):
            if len(objects) + len(prefixes) >= limit:
                return Page(objects, prefixes, place)
            if isinstance(entry, Folded):
                prefixes.append(entry.prefix)
                objects.extend(entry.own)
            else:
                objects.append(entry)
            place = token
        return Page(objects, prefixes)


def _unfolded_page(store: Store, query: Query, limit: int) -> Page:
    """Return a page of a query without delimiter and pattern, read with one query of the database."""
    start, end, after = _bounds(query)
    if start is None:
        return Page([], [])
    objects = store.page(
        query.bucket,
        limit + 1,  # one more shows whether there is a further page
        versions=query.versions,
        soft_deleted=query.soft_deleted,
        after=after,
        start=start,
        end=end,
    )
    if len(objects) <= limit:
        return Page(objects, [])
    del objects[limit:]
    last = ObjectRow._make(objects[-1])
    return Page(objects, [], (last.name, last.generation))


def _bounds(query: Query) -> tuple[str | None, str | None, tuple[str, int]]:
    """Return the first name, None if no name is left, the name that ends the list, and the place to resume.

    The place is the name and generation of an object.
    """
    end = _least(after_prefix(query.prefix), query.end)
    start: str | None = max(query.prefix, query.start)
    after = ("", 0)
    if query.after is not None:
        name, generation = query.after
        if generation is None:
            start = after_prefix(name)
        else:
            after = (name, generation)
    return start, end, after


def entries(store: Store, query: Query) -> Iterator[tuple[ObjectRow | Folded, Token]]:
    """Yield objects and folded prefixes in order, each with its token.

    A query skips the objects of a folded prefix, whatever their number.
    """
    start, end, after = _bounds(query)
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
        ):
            if into is not None and stored.name != into:
                break
            if query.pattern is not None and not query.pattern(stored.name):
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
    prefixes = f',"prefixes":{json.dumps(list(page.prefixes))}' if page.prefixes else ""
    items = objects_text(page.objects, base_url)
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
