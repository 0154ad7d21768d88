"""The methods for versions and tags."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from google.protobuf import json_format

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.artifact_registry import names
from vertex_emulator.services.artifact_registry.backend import Backend, has_immutable_tags, immutable
from vertex_emulator.services.artifact_registry.contents import Version
from vertex_emulator.services.artifact_registry.listing import (
    PageRequest,
    annotation_values,
    filter_of,
    order_of,
    page_of,
)
from vertex_emulator.services.artifact_registry.methods.docker_images import image_message
from vertex_emulator.services.artifact_registry.methods.packages import given_annotations
from vertex_emulator.services.artifact_registry.repository_fields import PACKAGE
from vertex_emulator.services.artifact_registry.store import Record

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


class Tags:
    """The methods that create, get, list, update and delete tags."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def create(self, request: DynamicMessage) -> DynamicMessage:
        """Create a tag."""
        parent = names.parse_item(request.parent, "packages")
        if not _TAG.fullmatch(request.tag_id):
            raise RpcError(
                "INVALID_ARGUMENT",
                f"tag_id {request.tag_id[:200]!r} is not valid. A tag has at most 128 letters, digits, '_', "
                "'.' and '-', and begins with a letter, a digit or '_'.",
            )
        with self._backend.contents.transaction():
            record, (package,) = self._backend.item(parent)
            digest = self._digest_of(record, package, request.tag.version)
            if self._backend.contents.tagged(record.name, package, request.tag_id) is not None:
                raise RpcError(
                    "ALREADY_EXISTS", f"The package {package!r} already has a tag {request.tag_id!r}."
                )
            self._backend.contents.put_tag(record.name, package, request.tag_id, digest)
        return tag_message(record, package, request.tag_id, digest)

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return a tag."""
        record, (package, tag) = self._backend.item(names.parse_item(request.name, "packages", "tags"))
        return tag_message(record, package, tag, self._existing(record, package, tag))

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """List the tags of a package."""
        record, (package,) = self._backend.item(names.parse_item(request.parent, "packages"))
        self._backend.versions(record, package)
        matches = filter_of(request.filter, ("name", "version"), _tag_values)
        page = PageRequest.of(request, query=f"tags {record.name} {package} {request.filter}")
        tags = [
            tag_message(record, package, each.tag, each.digest)
            for each in self._backend.contents.tags(record.name, package)
        ]
        answer = descriptors.message(f"{PACKAGE}.ListTagsResponse")
        chosen, answer.next_page_token = page_of(
            [each for each in tags if matches(each)], page, key=lambda each: str(each.name)
        )
        answer.tags.extend(chosen)
        return answer

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Move a tag to another version."""
        name = names.parse_item(request.tag.name, "packages", "tags")
        paths = list(request.update_mask.paths)
        if unknown := [path for path in paths if path not in ("version", "name", "*")]:
            raise RpcError("INVALID_ARGUMENT", f"update_mask: a tag has no field {unknown[0]!r}.")
        with self._backend.contents.transaction():
            record, (package, tag) = self._backend.item(name)
            digest = self._existing(record, package, tag)
            if not paths or "version" in paths or "*" in paths:
                wanted = self._digest_of(record, package, request.tag.version)
                if wanted != digest and has_immutable_tags(record):
                    raise immutable(record, f"the tag {tag!r} cannot be moved")
                digest = wanted
                self._backend.contents.put_tag(record.name, package, tag, digest)
        return tag_message(record, package, tag, digest)

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a tag; its version is kept."""
        name = names.parse_item(request.name, "packages", "tags")
        with self._backend.contents.transaction():
            record, (package, tag) = self._backend.item(name)
            self._existing(record, package, tag)
            if has_immutable_tags(record):
                raise immutable(record, f"the tag {tag!r} cannot be deleted")
            self._backend.contents.remove_tag(record.name, package, tag)
        return descriptors.empty()

    def _existing(self, record: Record, package: str, tag: str) -> str:
        digest = self._backend.contents.tagged(record.name, package, tag)
        if digest is None:
            raise RpcError("NOT_FOUND", f"The package {package!r} of {record.name} has no tag {tag!r}.")
        return digest

    def _digest_of(self, record: Record, package: str, version: str) -> str:
        named = names.parse_item(version, "packages", "versions")
        if named.repository.key != record.name.key or named.items[0] != package:
            raise RpcError("INVALID_ARGUMENT", f"The version {version} is not in the package {package!r}.")
        return self._backend.version(record, package, named.items[1]).digest


def tag_message(record: Record, package: str, tag: str, digest: str) -> DynamicMessage:
    """Return a tag as the API's Tag."""
    found = descriptors.message(f"{PACKAGE}.Tag")
    parent = f"{record.name}/packages/{names.escaped(package)}"
    found.name = f"{parent}/tags/{tag}"
    found.version = f"{parent}/versions/{digest}"
    return found


def _tag_values(tag: DynamicMessage, field: str) -> Sequence[str]:
    return [tag.name if field == "name" else tag.version]


MAX_BATCH = 10_000
MAX_TAGS = 100
"""Limit for the tags of a version in one response ("Will contain up to 100 tags")."""

_FULL = 2
_METADATA = ("name", "imageSizeBytes", "mediaType", "buildTime", "artifactType")


@dataclass(frozen=True, kw_only=True)
class _Listed:
    name: str
    version: Version
    annotations: Mapping[str, str]


_ORDERS = {
    "name": lambda listed: listed.name,
    "create_time": lambda listed: listed.version.created,
    "update_time": lambda listed: listed.version.updated,
}


class Versions:
    """The methods that get, list, update and delete versions."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return a version."""
        record, (package, digest) = self._backend.item(names.parse_item(request.name, "packages", "versions"))
        return self._shown(record, self._backend.version(record, package, digest), view=request.view)

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """List the versions of a package."""
        record, (package,) = self._backend.item(names.parse_item(request.parent, "packages"))
        versions = self._backend.versions(record, package)
        matches = filter_of(request.filter, ("name", "annotations"), _version_values)
        order, descending = order_of(request.order_by or "name", _ORDERS)
        query = f"versions {record.name} {package} {request.view} {request.filter}\n{request.order_by}"
        annotations = self._backend.store.annotations(record.name)
        tags = [
            _Listed(
                name=f"{record.name}/{_item(each)}",
                version=each,
                annotations=annotations.get(_item(each), {}),
            )
            for each in versions
        ]
        answer = descriptors.message(f"{PACKAGE}.ListVersionsResponse")
        chosen, answer.next_page_token = page_of(
            [each for each in tags if matches(each)],
            PageRequest.of(request, query=query),
            key=lambda each: each.name,
            order=order,
            descending=descending,
        )
        others = {each.digest: each for each in versions}
        answer.versions.extend(
            self._message(record, each.version, others, each.annotations, view=request.view)
            for each in chosen
        )
        return answer

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Replace the annotations of a version."""
        name = names.parse_item(request.version.name, "packages", "versions")
        annotations = given_annotations(request.version, request.update_mask.paths)
        with self._backend.contents.transaction():
            record, (package, digest) = self._backend.item(name)
            version = self._backend.version(record, package, digest)
            if annotations is not None:
                self._backend.store.set_annotations(record.name, _item(version), annotations)
        return self._shown(record, version, view=_FULL)

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a version. A version with tags requires `force`, which deletes the tags too."""
        name = names.parse_item(request.name, "packages", "versions")
        with self._backend.contents.transaction():
            record, (package, digest) = self._backend.item(name)
            version = self._backend.version(record, package, digest)
            _check_deletable(record, version, force=request.force, gone=())
            self._remove(record, version)
        return self._backend.done(name.repository.place, descriptors.empty())

    def batch_delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete versions with their tags. The metadata lists those that cannot be deleted."""
        parent = request.parent.partition("/packages/")[0]
        repository = names.parse_repository(parent)
        if not request.names or len(request.names) > MAX_BATCH:
            raise RpcError("INVALID_ARGUMENT", f"names must have 1 to {MAX_BATCH} names of versions.")
        parsed = [names.parse_item(each, "packages", "versions") for each in request.names]
        for text, each in zip(request.names, parsed, strict=True):
            if each.repository.key != repository.key or not text.startswith(f"{request.parent}/"):
                raise RpcError("INVALID_ARGUMENT", f"{text} is not in {request.parent}.")
        metadata = descriptors.message(f"{PACKAGE}.BatchDeleteVersionsMetadata")
        with self._backend.contents.transaction():
            record = self._backend.record(repository)
            gone = {each.items[1] for each in parsed}
            there = {
                (each.package, each.digest): each
                for package in {each.items[0] for each in parsed}
                for each in self._backend.contents.versions(record.name, package)
            }
            for text, each in zip(request.names, parsed, strict=True):
                version = there.get((each.items[0], each.items[1]))
                if version is None or not _is_deletable(record, version, gone=gone):
                    metadata.failed_versions.append(text)
                    continue
                if not request.validate_only:
                    self._remove(record, version)
        return self._backend.done(repository.place, descriptors.empty(), metadata)

    def _remove(self, record: Record, version: Version) -> None:
        self._backend.contents.remove_version(record.name, version.package, version.digest)
        self._backend.store.drop_annotations(record.name, _item(version))

    def _shown(self, record: Record, version: Version, *, view: int) -> DynamicMessage:
        others = {}
        if version.is_index:
            listed = self._backend.contents.versions(record.name, version.package)
            others = {each.digest: each for each in listed}
        annotations = self._backend.store.annotations(record.name).get(_item(version), {})
        return self._message(record, version, others, annotations, view=view)

    def _message(
        self,
        record: Record,
        version: Version,
        others: Mapping[str, Version],
        annotations: Mapping[str, str],
        *,
        view: int,
    ) -> DynamicMessage:
        """Return a version as the API's Version. `others` are all versions of its package by digest."""
        found = descriptors.message(f"{PACKAGE}.Version")
        found.name = f"{record.name}/{_item(version)}"
        found.create_time.FromMicroseconds(version.created)
        found.update_time.FromMicroseconds(version.updated)
        found.annotations.update(annotations)
        image = json_format.MessageToDict(
            image_message(self._backend, record, version, others), descriptor_pool=descriptors.pool()
        )
        found.metadata.update({name: image[name] for name in _METADATA if name in image})
        if view == _FULL:
            found.related_tags.extend(
                tag_message(record, version.package, tag.tag, tag.digest) for tag in version.tags[:MAX_TAGS]
            )
        return found


def _is_deletable(record: Record, version: Version, *, gone: Collection[str]) -> bool:
    try:
        _check_deletable(record, version, force=True, gone=gone)
    except RpcError:
        return False
    return True


def _check_deletable(record: Record, version: Version, *, force: bool, gone: Collection[str]) -> None:
    """Check that a version can be deleted. `gone` are the digests that are deleted with it.

    Raises `RpcError` FAILED_PRECONDITION.
    """
    if version.tags and not force:
        tags = ", ".join(tag.tag for tag in version.tags[:10])
        raise RpcError(
            "FAILED_PRECONDITION",
            f"The version {version.digest} has tags: {tags}. Delete them first, or use force=true.",
        )
    if version.tags and has_immutable_tags(record):
        raise immutable(record, f"the version {version.digest} has tags and cannot be deleted")
    if parents := [each for each in version.parents if each not in gone]:
        raise RpcError(
            "FAILED_PRECONDITION",
            f"The version {version.digest} is part of the index {parents[0]}. Delete the index first.",
        )


def _item(version: Version) -> str:
    return f"packages/{names.escaped(version.package)}/versions/{version.digest}"


def _version_values(listed: _Listed, field: str) -> Sequence[str]:
    return [listed.name] if field == "name" else annotation_values(listed.annotations, field)
