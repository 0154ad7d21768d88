"""The calls on access control lists of buckets, of objects, and of the objects that a bucket will have."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vertex_emulator.http.messages import Request, Response, Route
from vertex_emulator.storage.disk import preconditions
from vertex_emulator.storage.disk.object_store import ObjectStore
from vertex_emulator.storage.fields import access_lists, checks, parameters
from vertex_emulator.storage.fields.access_lists import Entries
from vertex_emulator.storage.fields.parameters import answer
from vertex_emulator.storage.names import decode
from vertex_emulator.storage.resources import SELF, bucket_list, default_object_list, object_list, place_of

_PARAMETERS = preconditions.OBJECT | {"generation", "projection"}

Change = Callable[[Entries], Entries]


class AccessLists:
    """The handlers. The match's groups are percent-encoded: bucket, object where there is one, entity."""

    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store
        self._store = object_store.store

    def routes(self, bucket: str) -> tuple[Route, ...]:
        """Return the routes below the pattern of a bucket's path."""
        found = []
        for path, name, handler in (
            (f"{bucket}/acl", "bucketAccessControls", self._of_bucket),
            (f"{bucket}/defaultObjectAcl", "defaultObjectAccessControls", self._of_default),
            (f"{bucket}/o/([^/]+)/acl", "objectAccessControls", self._of_object),
        ):
            found += [
                Route("GET", path, handler, f"storage.{name}.list"),
                Route("POST", path, handler, f"storage.{name}.insert"),
                Route("GET", f"{path}/([^/]+)", handler, f"storage.{name}.get"),
                Route("PATCH", f"{path}/([^/]+)", handler, f"storage.{name}.patch"),
                Route("PUT", f"{path}/([^/]+)", handler, f"storage.{name}.update"),
                Route("DELETE", f"{path}/([^/]+)", handler, f"storage.{name}.delete"),
            ]
        return tuple(found)

    def _of_bucket(self, request: Request, match: re.Match[str]) -> Response:
        return self._of_a_bucket(request, match, "acl", "bucketAccessControl", access_lists.BUCKET_ROLES)

    def _of_default(self, request: Request, match: re.Match[str]) -> Response:
        roles = access_lists.OBJECT_ROLES
        return self._of_a_bucket(request, match, "defaultObjectAcl", "objectAccessControl", roles)

    def _of_a_bucket(
        self, request: Request, match: re.Match[str], field: str, kind: str, roles: tuple[str, ...]
    ) -> Response:
        parameters.check(request, _PARAMETERS)
        name = decode(match[1])
        entity = decode(match[2]) if match.re.groups > 1 else None
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            preconditions.from_request(request).check(bucket)
            access_lists.check_not_uniform(bucket.settings)
            before = bucket_list(bucket) if field == "acl" else default_object_list(bucket)
            after = _after(request, before, entity, roles=roles)
            if after != before:
                access_lists.check_allowed(after, bucket.settings)
                settings = {**bucket.settings, field: after}
                self._store.put_bucket(
                    replace(
                        bucket,
                        settings=settings,
                        metageneration=bucket.metageneration + 1,
                        updated=self._store.clock.now(),
                    )
                )
        place = {"bucket": name} if field == "acl" else {}
        return _answer(request, after, entity, kind, f"{SELF}/b/{name}/{field}", place)

    def _of_object(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, _PARAMETERS)
        name, key = decode(match[1]), decode(match[2])
        entity = decode(match[3]) if match.re.groups > 2 else None
        self._object_store.hash_large_file(name, key)
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            stored = self._object_store.get(name, key, parameters.integer(request, "generation"))
            preconditions.from_request(request).check(stored)
            access_lists.check_not_uniform(bucket.settings)
            before = object_list(stored, bucket)
            after = _after(request, before, entity, roles=access_lists.OBJECT_ROLES)
            if after != before:
                access_lists.check_allowed(after, bucket.settings)
                stored = self._object_store.update(stored, {**stored.settings, "acl": after})
        link = f"{SELF}/b/{name}/o/{match[2]}/acl"
        return _answer(request, after, entity, "objectAccessControl", link, place_of(stored))


def _after(request: Request, before: Entries, entity: str | None, *, roles: tuple[str, ...]) -> Entries:
    """Return the entries after the call."""
    if request.method == "GET":
        return before
    if request.method == "DELETE":
        return access_lists.without(before, entity or "")
    body: dict[str, Any] = checks.document(request.body.json())
    if entity is not None:
        access_lists.of_entity(before, entity)
        body = {**body, "entity": entity}
    return access_lists.changed(before, access_lists.entry("entry", body, roles=roles))


def _answer(
    request: Request, after: Entries, entity: str | None, kind: str, link: str, place: dict[str, str]
) -> Response:
    if request.method == "DELETE":
        return Response(204)
    if entity is None and request.method == "POST":
        return answer(request, access_lists.resource(kind, link, after[-1], **place))
    if entity is not None:
        return answer(
            request, access_lists.resource(kind, link, access_lists.of_entity(after, entity), **place)
        )
    items = [access_lists.resource(kind, link, each, **place) for each in after]
    return answer(request, {"kind": f"storage#{kind}s", "items": items})
