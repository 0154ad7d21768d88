"""The calls for a staged object: upload it, find it unchanged, delete it and its orphans."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Conflict, NotFound, PermissionDenied
from pulumi_vertex_training.cloud.objects import NO_KEY, PROMOTED, SHARED_KEY, STAGED_KEY, ObjectRecord
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.promotion import packages as promoted_packages
from pulumi_vertex_training.core.promotion.entries import PromotedPackage
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.kinds.staged.spec import StagedObjectSpec
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem

_RETAINED = re.compile(r"retention|\bhold\b", re.IGNORECASE)
"""Pattern of errors that mean: the object is retained or on hold, not: the caller lacks a permission."""

_MOST_LISTED = 1000
"""Objects that are looked at to find orphans; a folder of staged objects has one or two."""


def _spec_of(props: Mapping[str, Any]) -> StagedObjectSpec:
    """Return the spec of the object in checked inputs or recorded outputs."""
    return StagedObjectSpec(
        bucket=props["bucket"],
        object_name=props["object_name"],
        sha256=props["sha256"],
        size=int(props["size"]),
        content_type=props["content_type"],
    )


def upload(props: Mapping[str, Any], content: Path, sha256: str, key: str) -> dict[str, Any]:
    """Upload the object unless it exists. Return the outputs to record. `key` is the resource's.

    Raises PackagingError if the content has changed since check.
    """
    spec = _spec_of(props)
    if sha256 != spec.sha256:
        changed = "changed during the deployment. When nothing writes to it, run `pulumi up` again."
        raise PackagingError([Problem(path="source", message=f"{props['source']} {changed}")])
    OPERATION.note_made(str(spec.uri))
    made = objects.ensure(
        endpoint_of(props),
        spec.bucket,
        spec.object_name,
        content,
        content_type=spec.content_type,
        sha256=spec.sha256,
        metadata={STAGED_KEY: key or NO_KEY},
    )
    found = made.record.metadata
    # With the key of this resource, an interrupted deployment of this stack staged it.
    is_ours = bool(key) and found.get(STAGED_KEY) == key
    if not made.sent and not is_ours and SHARED_KEY not in found:
        # Another resource, perhaps of another stack, has the same content: the `gc` of neither may delete it.
        with suppress(PermissionDenied, NotFound):
            objects.add_metadata(endpoint_of(props), spec.bucket, spec.object_name, {SHARED_KEY: "1"})
    _delete_orphans(endpoint_of(props), spec, key)
    deletion_notes.forget(str(spec.uri))
    return {"crc32c": made.record.crc32c}


def exists_unchanged(props: Mapping[str, Any]) -> bool:
    """Return whether the object exists with the recorded content."""
    spec = _spec_of(props)
    found = objects.find(endpoint_of(props), spec.bucket, spec.object_name)
    return found is not None and found.size == spec.size and found.crc32c == props.get("crc32c")


def _delete_orphans(endpoint: Endpoint, spec: StagedObjectSpec, key: str) -> None:
    """Delete what interrupted deployments staged for this resource with other content: no state has it."""
    folder = "/".join(spec.object_name.split("/")[:-2])
    if not folder or not key:
        return
    with suppress(PermissionDenied, NotFound, Conflict):
        among = objects.list_objects(endpoint, spec.bucket, prefix=f"{folder}/")
        for found in itertools.islice(among, _MOST_LISTED):
            uri = f"gs://{found.bucket}/{found.name}"
            ours = found.metadata.get(STAGED_KEY) == key and SHARED_KEY not in found.metadata
            known = found.name == spec.object_name or OPERATION.made(uri) or OPERATION.was_recorded(uri)
            if ours and not known:
                _delete_version(endpoint, found)
                creation_notes.forget(uri, key)


def delete_interrupted(endpoint: Endpoint, uri: str, key: str) -> bool:
    """Delete the object with this key that no state has; return False if another stack may use it.

    Raises NotFound if there is no object with this key.
    """
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    found = objects.find(endpoint, bucket, name)
    if found is None or found.metadata.get(STAGED_KEY) != key or OPERATION.made(uri):
        raise NotFound(f"there is no {uri} with this key", resource=uri, endpoint=endpoint)
    if SHARED_KEY in found.metadata:
        return False
    try:
        _delete_version(endpoint, found)
    except Conflict:
        return False
    return True


def _own_key(record: ObjectRecord) -> str:
    """Return the key of the resource that staged an object, or "" if it had none."""
    key = record.metadata.get(STAGED_KEY, "")
    return "" if key == NO_KEY else key


def _delete_version(endpoint: Endpoint, record: ObjectRecord) -> None:
    """Delete an object as it was read. Raises Conflict if somebody has staged the same content since.

    Whoever stages it sets its metadata first.
    """
    with suppress(NotFound):
        objects.delete(
            endpoint,
            record.bucket,
            record.name,
            generation=record.generation,
            if_metageneration_match=record.metageneration,
        )


def delete_object(props: Mapping[str, Any]) -> None:
    """Delete the object if it exists, unless it was staged more than once.

    Raises Conflict if its metadata keeps changing.
    """
    spec, endpoint = _spec_of(props), endpoint_of(props)
    if OPERATION.made(str(spec.uri)):
        # Names follow from the content, so the replacement of this resource has the same object.
        return
    creation_notes.remove_with(str(spec.uri))
    for last_try in (False, True):
        record = objects.find(endpoint, spec.bucket, spec.object_name)
        if record is None:
            return
        if SHARED_KEY in record.metadata:
            is_promoted = record.metadata[SHARED_KEY] == PROMOTED
            why = "was promoted" if is_promoted else "was staged more than once"
            who = "a rollback may need it" if is_promoted else "another stack may use it"
            print_line(f"{spec.uri} is kept: it {why}, so {who}")
            return
        deletion_notes.note(str(spec.uri))
        try:
            _delete_version(endpoint, record)
            _delete_orphans(endpoint, spec, _own_key(record))
            return
        except Conflict:
            if last_try:
                raise
        except PermissionDenied as error:
            if failure := retained_failure(error):
                raise failure from None
            raise


def retained_failure(error: PermissionDenied) -> Failure | None:
    """Return the error of a deletion with its remedy if the object is retained or on hold, else None."""
    if not _RETAINED.search(str(error)):
        return None
    return Failure(
        f"{error} Try again after that. If the retention policy is not locked, you can also remove "
        "retention_policy, run `pulumi up`, and try again. If the object is on hold, release the hold."
    )


def promoted_problems(
    inputs: object, spec: StagedObjectSpec, entry: PromotedPackage, *, unknown: Collection[str]
) -> list[Problem]:
    """Return the problem of a promoted package that exists nowhere any more.

    Its bucket is looked up as far as it is known. A service that does not answer gives a warning.
    """
    target = None if {"endpoint", "project", "location"} & set(unknown) else target_of(vars(inputs))
    source = entry.source_uri
    places = [source] if {"bucket", "prefix"} & set(unknown) else [spec.uri, source]

    def exists(endpoint: Endpoint) -> bool:
        records = (objects.find(endpoint, place.bucket, place.name) for place in places)
        return any(record is not None and promoted_packages.has_content(record, entry) for record in records)

    unanswered = f"whether the promoted package {source} still exists"
    if QUERIES.ask_endpoint(target, exists, unknown=unanswered) is not False:
        return []
    return [Problem(path="promoted", message=promoted_packages.gone(entry, places))]


def copy_promoted(props: Mapping[str, Any], entry: PromotedPackage) -> dict[str, Any]:
    """Copy a promoted package to its bucket unless it is there. Return the outputs to record.

    Raises NotFound if it exists nowhere.
    """
    spec, endpoint = _spec_of(props), endpoint_of(props)
    OPERATION.note_made(str(spec.uri))
    record = promoted_packages.ensure(endpoint, spec.uri, entry)
    deletion_notes.forget(str(spec.uri))
    return {"crc32c": record.crc32c}
