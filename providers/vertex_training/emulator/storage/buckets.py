"""The calls on buckets."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from vertex_training.emulator.http import Request, Response
from vertex_training.emulator.storage import bucket_fields, fields, parameters, preconditions, tokens
from vertex_training.emulator.storage.catalog import Catalog
from vertex_training.emulator.storage.errors import StorageError, invalid, required
from vertex_training.emulator.storage.names import check_bucket_name, decode
from vertex_training.emulator.storage.partial import answer
from vertex_training.emulator.storage.records import Bucket
from vertex_training.emulator.storage.resources import bucket_resource


class Buckets:
    """Handlers; group 1 of the match is the bucket's name, percent-encoded."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._store = catalog.store
        self._files = catalog.files

    def insert(self, request: Request, _: re.Match[str]) -> Response:
        parameters.check(request, frozenset({"project", "projection"}))
        project = parameters.text(request, "project")
        body = fields.document(request.body.json())
        name = body.get("name")
        if name is None:
            raise required("name")
        check_bucket_name(fields.text("name", name))
        settings = bucket_fields.created(body)
        with self._store.locked(name):
            if (taken := self._store.find_bucket(name)) is not None:
                raise _taken(taken, project)
            self._files.make_bucket(name)
            moment = self._store.clock.now()
            bucket = Bucket(
                name=name,
                project=project,
                generation=self._store.next_generation(),
                metageneration=1,
                created=moment,
                updated=moment,
                settings=settings,
            )
            self._store.put_bucket(bucket)
        return answer(request, bucket_resource(bucket))

    def list(self, request: Request, _: re.Match[str]) -> Response:
        parameters.check(request, frozenset({"project", "projection", "prefix", "maxResults", "pageToken"}))
        limit = parameters.page_size(request)
        found = self._store.buckets(
            parameters.text(request, "project"),
            prefix=request.parameter("prefix") or "",
            after=_after(request),
            limit=limit + 1,
        )
        resource: dict[str, Any] = {"kind": "storage#buckets"}
        if found:
            resource["items"] = [bucket_resource(bucket) for bucket in found[:limit]]
        if len(found) > limit:
            resource["nextPageToken"] = tokens.encode(found[limit - 1].name)
        return answer(request, resource)

    def get(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, preconditions.BUCKET | {"projection"})
        bucket = self._store.bucket(decode(match[1]))
        preconditions.from_request(request).check(bucket, reading=True)
        return answer(request, bucket_resource(bucket))

    def patch(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, preconditions.BUCKET | {"projection"})
        name = decode(match[1])
        body = request.body.json()
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            preconditions.from_request(request).check(bucket)
            changed = replace(
                bucket,
                settings=bucket_fields.patched(bucket.settings, body, current=bucket_resource(bucket)),
                metageneration=bucket.metageneration + 1,
                updated=self._store.clock.now(),
            )
            self._store.put_bucket(changed)
        return answer(request, bucket_resource(changed))

    def delete(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, preconditions.BUCKET)
        name = decode(match[1])
        with self._store.locked(name):
            preconditions.from_request(request).check(self._store.bucket(name))
            self._catalog.reconcile(name)
            if self._store.has_objects(name):
                raise StorageError(409, "conflict", "The bucket you tried to delete is not empty.")
            self._store.remove_bucket(name)
            self._files.remove_bucket(name)
        return Response(204)


def _taken(bucket: Bucket, project: str) -> StorageError:
    """The service tells owners from strangers; here another project's bucket is somebody else's."""
    if bucket.project == project:
        message = "Your previous request to create the named bucket succeeded and you already own it."
    else:
        message = (
            "The requested bucket name is not available. The bucket namespace is shared by all users of the "
            "system. Please select a different name and try again."
        )
    return StorageError(409, "conflict", message)


def _after(request: Request) -> str:
    name = tokens.decode(request)
    if name is not None and not isinstance(name, str):
        raise invalid("Invalid page token.", location="pageToken")
    return name or ""
