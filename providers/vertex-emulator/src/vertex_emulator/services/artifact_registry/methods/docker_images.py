"""The methods for Docker images and files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from vertex_emulator.server.http.messages import parse_json
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.artifact_registry import names
from vertex_emulator.services.artifact_registry.backend import Backend, has_images
from vertex_emulator.services.artifact_registry.contents import StoredFile, Version, uri_of
from vertex_emulator.services.artifact_registry.listing import PageRequest, filter_of, order_of, page_of
from vertex_emulator.services.artifact_registry.repository_fields import PACKAGE, format_of
from vertex_emulator.services.artifact_registry.store import Record

_ID = re.compile(r"(.+)@(sha(?:256|512):[0-9a-f]+)")
_PLATFORM = ("architecture", "os", "variant", "os.version")
_IMAGE_ORDERS = {
    "name": lambda image: image.name,
    "uri": lambda image: image.uri,
    "image_size_bytes": lambda image: image.image_size_bytes,
    "upload_time": lambda image: image.upload_time.ToMicroseconds(),
    "update_time": lambda image: image.update_time.ToMicroseconds(),
    "build_time": lambda image: image.build_time.ToMicroseconds(),
    "media_type": lambda image: image.media_type,
}


class DockerImages:
    """The methods GetDockerImage and ListDockerImages."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return an image by its digest."""
        record, (identifier,) = self._backend.item(names.parse_item(request.name, "dockerImages"))
        _check_format(record)
        match = _ID.fullmatch(identifier)
        if match is None:
            raise RpcError(
                "INVALID_ARGUMENT", f"{identifier!r} is not an image name of the form IMAGE@sha256:DIGEST."
            )
        version = self._backend.version(record, match[1], match[2])
        others = {each.digest: each for each in self._backend.versions(record, match[1])}
        return image_message(self._backend, record, version, others)

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """List the images of a repository."""
        record = self._backend.record(names.parse_repository(request.parent))
        _check_format(record)
        order, descending = order_of(request.order_by or "name", _IMAGE_ORDERS)
        page = PageRequest.of(request, query=f"dockerImages {record.name}\n{request.order_by}")
        images = []
        for package in self._backend.contents.packages(record.name):
            versions = {each.digest: each for each in self._backend.contents.versions(record.name, package)}
            images += [image_message(self._backend, record, each, versions) for each in versions.values()]
        answer = descriptors.message(f"{PACKAGE}.ListDockerImagesResponse")
        chosen, answer.next_page_token = page_of(
            images, page, key=lambda image: image.name, order=order, descending=descending
        )
        answer.docker_images.extend(chosen)
        return answer


def image_message(
    backend: Backend, record: Record, version: Version, others: Mapping[str, Version]
) -> DynamicMessage:
    """Return a version as a DockerImage. `others` are all versions of its package by digest."""
    found = descriptors.message(f"{PACKAGE}.DockerImage")
    identifier = names.escaped(f"{version.package}@{version.digest}")
    found.name = f"{record.name}/dockerImages/{identifier}"
    found.uri = f"{uri_of(record.name, version.package)}@{version.digest}"
    found.tags.extend(tag.tag for tag in version.tags)
    found.image_size_bytes = backend.contents.image_size(version, others)
    found.upload_time.FromMicroseconds(version.created)
    found.update_time.FromMicroseconds(version.updated)
    found.media_type = version.stored.media_type
    built = _build_time(backend.contents.config(version).get("created"))
    if built is not None:
        found.build_time.FromDatetime(built)
    if version.stored.subject is not None:
        found.artifact_type = version.stored.artifact_type or version.stored.media_type
    if version.is_index:
        found.image_manifests.extend(_images_of(version))
    return found


def _check_format(record: Record) -> None:
    if not has_images(record):
        raise RpcError(
            "INVALID_ARGUMENT",
            f"The repository {record.name} has the format {format_of(record.repository)}, not DOCKER.",
        )


def _build_time(text: object) -> datetime | None:
    """Parse the `created` of an image configuration, or return None if the builder wrote another form."""
    if not isinstance(text, str):
        return None
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", text)
    if match is None:
        return None
    fraction = (match[2] or ".0")[:7].ljust(7, "0")
    try:
        moment = datetime.fromisoformat(f"{match[1]}{fraction}{match[3].replace('Z', '+00:00')}")
        return moment.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def _images_of(version: Version) -> list[Any]:
    """Return the images of an index with their platforms."""
    images = []
    for entry in parse_json(version.stored.content).get("manifests", []):
        image = descriptors.message(f"{PACKAGE}.ImageManifest")
        image.digest = entry["digest"]
        image.media_type = str(entry.get("mediaType", ""))
        platform = entry.get("platform")
        for name in _PLATFORM if isinstance(platform, dict) else ():
            if isinstance(value := platform.get(name), str):
                setattr(image, name.replace(".", "_"), value)
        if isinstance(platform, dict) and isinstance(features := platform.get("os.features"), list):
            image.os_features.extend(each for each in features if isinstance(each, str))
        images.append(image)
    return images


_SHA256 = 1
_FILE_ORDERS = {
    "name": lambda file: file.name,
    "size_bytes": lambda file: file.size_bytes,
    "create_time": lambda file: file.create_time.ToMicroseconds(),
    "update_time": lambda file: file.update_time.ToMicroseconds(),
    "owner": lambda file: file.owner,
}


class Files:
    """The methods GetFile and ListFiles."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return a file by its digest."""
        record, (identifier,) = self._backend.item(names.parse_item(request.name, "files"))
        for file in self._backend.contents.files(record.name) if has_images(record) else ():
            if file.digest == identifier:
                return _message(record, file)
        raise RpcError("NOT_FOUND", f"The repository {record.name} has no file {identifier!r}.")

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """List the files of a repository."""
        record = self._backend.record(names.parse_repository(request.parent))
        matches = filter_of(request.filter, ("name", "owner"), _values)
        order, descending = order_of(request.order_by or "name", _FILE_ORDERS)
        page = PageRequest.of(request, query=f"files {record.name} {request.filter}\n{request.order_by}")
        stored = self._backend.contents.files(record.name) if has_images(record) else []
        messages = [_message(record, each) for each in stored]
        answer = descriptors.message(f"{PACKAGE}.ListFilesResponse")
        chosen, answer.next_page_token = page_of(
            [each for each in messages if matches(each)],
            page,
            key=lambda each: str(each.name),
            order=order,
            descending=descending,
        )
        answer.files.extend(chosen)
        return answer


def _message(record: Record, file: StoredFile) -> DynamicMessage:
    found = descriptors.message(f"{PACKAGE}.File")
    found.name = f"{record.name}/files/{file.digest}"
    found.size_bytes = file.size
    algorithm, _, value = file.digest.partition(":")
    if algorithm == "sha256":
        found.hashes.add(type=_SHA256, value=bytes.fromhex(value))
    found.create_time.FromMicroseconds(file.created)
    found.update_time.FromMicroseconds(file.created)
    package = names.escaped(file.owner.package)
    found.owner = f"{record.name}/packages/{package}/versions/{file.owner.digest}"
    return found


def _values(file: DynamicMessage, field: str) -> Sequence[str]:
    return [file.name if field == "name" else file.owner]
