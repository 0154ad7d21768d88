"""The calls that make an object from others: rewrite, copy, move, compose and restore."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from vertex_emulator.server.http.messages import Request, Response
from vertex_emulator.services.storage.disk import checksums, preconditions, soft_deletion
from vertex_emulator.services.storage.disk.checksums import Known
from vertex_emulator.services.storage.disk.copies import duplicate
from vertex_emulator.services.storage.disk.files import state_of
from vertex_emulator.services.storage.disk.object_store import Content, ObjectStore
from vertex_emulator.services.storage.disk.preconditions import Preconditions
from vertex_emulator.services.storage.disk.records import StoredObject
from vertex_emulator.services.storage.errors import StorageError, invalid, no_object, required, unsupported
from vertex_emulator.services.storage.fields import checks, parameters
from vertex_emulator.services.storage.fields import object as object_fields
from vertex_emulator.services.storage.fields.parameters import answer
from vertex_emulator.services.storage.names import check_object_name, decode, encode_token, read_token
from vertex_emulator.services.storage.resources import object_resource

MAX_COMPONENTS = 32

_TRIES = 3
_GRAIN = 1 << 20
_COPY = (
    preconditions.OBJECT
    | preconditions.SOURCE
    | {"sourceGeneration", "projection", "destinationPredefinedAcl", "destinationKmsKeyName"}
)
_REWRITE = _COPY | {"maxBytesRewrittenPerCall", "rewriteToken"}
_COMPOSE = frozenset({"ifGenerationMatch", "ifMetagenerationMatch", "kmsKeyName", "destinationPredefinedAcl"})


@dataclass(frozen=True, kw_only=True)
class ObjectName:
    """The bucket and name of an object."""

    bucket: str
    name: str


class Transfers:
    """The handlers. The match's groups are percent-encoded: bucket and object, then the target's."""

    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store
        self._store = object_store.store

    def copy(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, _COPY)
        source, target = _names(match)
        stored = self.copied(request, source, target)
        return answer(request, object_resource(stored, request.base_url))

    def copied(self, request: Request, source: ObjectName, target: ObjectName) -> StoredObject:
        """Copy an object by the parameters and the body of `request`. Return the copy."""
        return self._copied(request, self._source(request, source), target)

    def rewrite(self, request: Request, match: re.Match[str]) -> Response:
        """Rewrite an object in one call, or with `maxBytesRewrittenPerCall` in several.

        The last call makes the copy; tokens only count the bytes.
        """
        parameters.check(request, _REWRITE)
        source, target = _names(match)
        original = self._source(request, source)
        written = self._written(request, original, target)
        done = written == original.size
        resource: dict[str, Any] = {
            "kind": "storage#rewriteResponse",
            "totalBytesRewritten": str(written),
            "objectSize": str(original.size),
            "done": done,
        }
        if done:
            stored = self._copied(request, original, target)
            resource["resource"] = object_resource(stored, request.base_url)
        else:
            resource["rewriteToken"] = encode_token([*_identity(original, target), written])
        return answer(request, resource)

    def move(self, request: Request, match: re.Match[str]) -> Response:
        """Rename an object within its bucket, atomically."""
        parameters.check(request, preconditions.OBJECT | preconditions.SOURCE | {"projection"})
        bucket, source, name = decode(match[1]), decode(match[2]), decode(match[3])
        check_object_name(name)
        if source == name:
            raise invalid("The source and the destination of a move must have different names.")
        self._object_store.hash_large_file(bucket, source)
        with self._store.locked(bucket):
            stored = self._object_store.get(bucket, source)
            preconditions.of_source(request).check(stored)
            settings = {**stored.settings}
            if self._store.bucket(bucket).settings.get("autoclass", {}).get("enabled"):
                settings["storageClass"] = "STANDARD"
            conditions = preconditions.from_request(request)
            moved = self._object_store.move(stored, name, settings=settings, preconditions=conditions)
        return answer(request, object_resource(moved, request.base_url))

    def compose(self, request: Request, match: re.Match[str]) -> Response:
        """Concatenate 1 to 32 objects."""
        parameters.check(request, _COMPOSE)
        target = ObjectName(bucket=decode(match[1]), name=decode(match[2]))
        check_object_name(target.name)
        body = checks.document(request.body.json(single_quotes=True))
        if body.get("deleteSourceObjects"):
            raise unsupported("deleteSourceObjects of a composition", "Delete the objects after it.")
        resource = checks.document({} if body.get("destination") is None else body["destination"])
        settings = object_fields.created(resource, bucket=target.bucket)
        settings |= soft_deletion.encryption("kmsKeyName", request.parameter("kmsKeyName"))
        settings |= object_fields.access_list_parameter(request, "destinationPredefinedAcl")
        sources = self._components(target.bucket, body.get("sourceObjects"))
        stored = self._made_of(
            sources,
            target,
            settings=settings,
            conditions=preconditions.from_request(request),
            components=sum(source.components or 1 for source in sources),
        )
        return answer(request, object_resource(stored, request.base_url))

    def restore(self, request: Request, match: re.Match[str]) -> Response:
        """Restore a soft-deleted object as a new generation. The deleted one stays soft-deleted."""
        known = preconditions.OBJECT | {"generation", "copySourceAcl", "projection", "restoreToken"}
        parameters.check(request, known)
        parameters.text(request, "generation")
        target = ObjectName(bucket=decode(match[1]), name=decode(match[2]))
        generation = parameters.integer(request, "generation") or 0
        owner = self._store.bucket(target.bucket)
        deleted = self._store.soft_deleted(target.bucket, target.name, generation)
        if deleted is None:
            raise no_object(target.bucket, target.name)
        settings = dict(deleted.settings)
        if owner.settings.get("autoclass", {}).get("enabled"):
            settings["storageClass"] = "STANDARD"
        stored = self._made_of(
            [deleted],
            target,
            settings=settings,
            conditions=preconditions.from_request(request),
            components=deleted.components,
        )
        return answer(request, object_resource(stored, request.base_url))

    def _source(self, request: Request, name: ObjectName) -> StoredObject:
        self._object_store.hash_large_file(name.bucket, name.name)
        with self._store.locked(name.bucket):
            stored = self._object_store.get(
                name.bucket, name.name, parameters.integer(request, "sourceGeneration")
            )
        preconditions.of_source(request).check(stored)
        return stored

    def _copied(self, request: Request, source: StoredObject, target: ObjectName) -> StoredObject:
        check_object_name(target.name)
        body = request.body.json()  # programs of Go send null for no changes
        body = checks.document({} if body is None else body)
        settings = object_fields.copied(source.settings, body, bucket=target.bucket)
        settings |= soft_deletion.encryption(
            "destinationKmsKeyName", request.parameter("destinationKmsKeyName")
        )
        settings |= object_fields.access_list_parameter(request, "destinationPredefinedAcl")
        return self._made_of(
            [source],
            target,
            settings=settings,
            conditions=preconditions.from_request(request),
            components=source.components,
        )

    def _made_of(
        self,
        sources: Sequence[StoredObject],
        target: ObjectName,
        *,
        settings: Mapping[str, Any],
        conditions: Preconditions,
        components: int | None,
    ) -> StoredObject:
        """Copy the content without a lock, then store the object."""
        with self._store.locked(target.bucket):
            self._store.bucket(target.bucket)
            conditions.check(self._object_store.current(target.bucket, target.name))
        path = self._object_store.files.new_incoming()
        state = None
        for _ in range(_TRIES):
            with ExitStack() as stack:
                opened = [stack.enter_context(self._object_store.open(source)) for source in sources]
                state = duplicate(opened, path)
                if all(
                    source.aside is not None or state_of(file) == source.state
                    for file, source in zip(opened, sources, strict=True)
                ):
                    break
            path.unlink()
            with self._store.locked(sources[0].bucket):
                sources = [self._again(source) for source in sources]
        else:
            raise StorageError(
                503, "backendError", f"A program is writing to {sources[0].name!r} or a component. Try again."
            )
        try:
            return self._object_store.put(
                target.bucket,
                target.name,
                Content(path=path, state=state, sums=_sums(sources)),
                settings=settings,
                preconditions=conditions,
                components=components,
            )
        finally:
            path.unlink(missing_ok=True)

    def _again(self, source: StoredObject) -> StoredObject:
        """Return the object again after a file has changed. No program reaches content that is aside."""
        if source.aside is not None:
            return source
        return self._object_store.get(source.bucket, source.name)

    def _written(self, request: Request, source: StoredObject, target: ObjectName) -> int:
        """Return the number of bytes rewritten after this call."""
        most = parameters.integer(request, "maxBytesRewrittenPerCall")
        if most is not None and (most <= 0 or most % _GRAIN):
            raise invalid(
                f"maxBytesRewrittenPerCall must be a multiple of {_GRAIN}, not {most}.",
                location="maxBytesRewrittenPerCall",
            )
        before = 0
        if token := request.parameter("rewriteToken"):
            match read_token(token, parameter="rewriteToken"):
                case [*identity, int(so_far)] if identity == _identity(source, target) and so_far >= 0:
                    before = so_far
                case _:
                    raise invalid("The rewriteToken belongs to another rewrite.", location="rewriteToken")
        return source.size if most is None else min(before + most, source.size)

    def _components(self, bucket: str, listed: object) -> list[StoredObject]:
        if not isinstance(listed, list) or not listed:
            raise required("sourceObjects")
        if len(listed) > MAX_COMPONENTS:
            raise invalid(
                "The number of source components provided "
                f"({len(listed)}) exceeds the maximum ({MAX_COMPONENTS})"
            )
        schema: Mapping[str, checks.Check] = {
            "name": checks.text,
            "generation": checks.whole,
            "objectPreconditions": lambda at, value: checks.record(
                at, value, {"ifGenerationMatch": checks.whole}
            ),
        }
        components = []
        for index, entry in enumerate(listed):
            path = f"sourceObjects[{index}]"
            if isinstance(entry, Mapping):  # TensorFlow sends this name, which the API lacks and ignores
                entry = {key: value for key, value in entry.items() if key != "objectPrecondition"}
            part = checks.record(path, entry, schema)
            if "name" not in part:
                raise required(f"{path}.name")
            self._object_store.hash_large_file(bucket, part["name"])
            with self._store.locked(bucket):
                stored = self._object_store.get(bucket, part["name"], part.get("generation"))
            match = part.get("objectPreconditions", {}).get("ifGenerationMatch")
            Preconditions(generation_match=match).check(stored)
            components.append(stored)
        return components


def _names(match: re.Match[str]) -> tuple[ObjectName, ObjectName]:
    source, target = (ObjectName(bucket=decode(match[at]), name=decode(match[at + 1])) for at in (1, 3))
    return source, target


def _identity(source: StoredObject, target: ObjectName) -> list[object]:
    return [source.bucket, source.name, source.generation, target.bucket, target.name]


def _sums(sources: Sequence[StoredObject]) -> Known:
    """Combine the checksums of all objects. Only a single object has an MD5."""
    first, *others = sources
    sums = Known(size=first.size, crc32c=first.crc32c, md5="" if others else first.md5)
    for part in others:
        whole = checksums.combined(sums.crc32c, part.crc32c, part.size)
        sums = replace(sums, size=sums.size + part.size, crc32c=whole)
    return sums
