"""The methods on tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.artifact_registry import names
from vertex_emulator.artifact_registry.listing import PageRequest, filter_of, page_of
from vertex_emulator.artifact_registry.parts import Parts, empty, has_immutable_tags, immutable
from vertex_emulator.artifact_registry.repository_fields import PACKAGE
from vertex_emulator.artifact_registry.store import Record
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import RpcError

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


class Tags:
    """Create, get, list, update, delete."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def create(self, request: Any) -> Message:
        """CreateTag."""
        parent = names.parse_item(request.parent, "packages")
        if not _TAG.fullmatch(request.tag_id):
            raise RpcError(
                "INVALID_ARGUMENT",
                f"tag_id {request.tag_id[:200]!r} is not a tag. It has at most 128 letters, digits, '_', '.' "
                "and '-', and begins with a letter, a digit or '_'.",
            )
        with self._parts.contents.transaction():
            record, (package,) = self._parts.item(parent)
            digest = self._digest_of(record, package, request.tag.version)
            if self._parts.contents.tagged(record.name, package, request.tag_id) is not None:
                raise RpcError(
                    "ALREADY_EXISTS", f"The package {package!r} has a tag {request.tag_id!r} already."
                )
            self._parts.contents.put_tag(record.name, package, request.tag_id, digest)
        found: Message = tag_message(record, package, request.tag_id, digest)
        return found

    def get(self, request: Any) -> Message:
        """GetTag."""
        record, (package, tag) = self._parts.item(names.parse_item(request.name, "packages", "tags"))
        found: Message = tag_message(record, package, tag, self._existing(record, package, tag))
        return found

    def list(self, request: Any) -> Message:
        """ListTags."""
        record, (package,) = self._parts.item(names.parse_item(request.parent, "packages"))
        self._parts.versions(record, package)
        lets_through = filter_of(request.filter, ("name", "version"), _values)
        page = PageRequest.of(request, query=f"tags {record.name} {package} {request.filter}")
        found = [
            tag_message(record, package, each.tag, each.digest)
            for each in self._parts.contents.tags(record.name, package)
        ]
        answer = descriptors.message(f"{PACKAGE}.ListTagsResponse")
        chosen, answer.next_page_token = page_of(
            [each for each in found if lets_through(each)], page, key=lambda each: str(each.name)
        )
        answer.tags.extend(chosen)
        listed: Message = answer
        return listed

    def update(self, request: Any) -> Message:
        """UpdateTag: let it stand for another version."""
        name = names.parse_item(request.tag.name, "packages", "tags")
        paths = list(request.update_mask.paths)
        if unknown := [path for path in paths if path not in ("version", "name", "*")]:
            raise RpcError("INVALID_ARGUMENT", f"update_mask names {unknown[0]!r}, which a tag has not.")
        with self._parts.contents.transaction():
            record, (package, tag) = self._parts.item(name)
            digest = self._existing(record, package, tag)
            if not paths or "version" in paths or "*" in paths:
                wanted = self._digest_of(record, package, request.tag.version)
                if wanted != digest and has_immutable_tags(record):
                    raise immutable(record, f"the tag {tag!r} cannot be moved")
                digest = wanted
                self._parts.contents.put_tag(record.name, package, tag, digest)
        found: Message = tag_message(record, package, tag, digest)
        return found

    def delete(self, request: Any) -> Message:
        """DeleteTag: the version stays."""
        name = names.parse_item(request.name, "packages", "tags")
        with self._parts.contents.transaction():
            record, (package, tag) = self._parts.item(name)
            self._existing(record, package, tag)
            if has_immutable_tags(record):
                raise immutable(record, f"the tag {tag!r} cannot be deleted")
            self._parts.contents.remove_tag(record.name, package, tag)
        return empty()

    def _existing(self, record: Record, package: str, tag: str) -> str:
        digest = self._parts.contents.tagged(record.name, package, tag)
        if digest is None:
            raise RpcError("NOT_FOUND", f"The package {package!r} of {record.name} has no tag {tag!r}.")
        return digest

    def _digest_of(self, record: Record, package: str, version: str) -> str:
        named = names.parse_item(version, "packages", "versions")
        if named.repository.key != record.name.key or named.items[0] != package:
            raise RpcError(
                "INVALID_ARGUMENT", f"The version {version} is not one of the package {package!r}."
            )
        return self._parts.version(record, package, named.items[1]).digest


def tag_message(record: Record, package: str, tag: str, digest: str) -> Any:
    """A tag as the API has it."""
    found = descriptors.message(f"{PACKAGE}.Tag")
    parent = f"{record.name}/packages/{names.escaped(package)}"
    found.name = f"{parent}/tags/{tag}"
    found.version = f"{parent}/versions/{digest}"
    return found


def _values(tag: Any, field: str) -> Sequence[str]:
    return [tag.name if field == "name" else tag.version]
