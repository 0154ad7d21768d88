"""The methods for packages. A package is an image of a repository, with all its versions and tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.artifact_registry import names
from vertex_emulator.services.artifact_registry.backend import (
    Backend,
    has_images,
    has_immutable_tags,
    immutable,
)
from vertex_emulator.services.artifact_registry.contents import Version
from vertex_emulator.services.artifact_registry.listing import (
    PageRequest,
    annotation_values,
    filter_of,
    order_of,
    page_of,
)
from vertex_emulator.services.artifact_registry.repository_fields import PACKAGE
from vertex_emulator.services.artifact_registry.store import Record


@dataclass(frozen=True, kw_only=True)
class _Package:
    name: str
    id: str
    created: int
    updated: int
    annotations: Mapping[str, str]

    def message(self) -> DynamicMessage:
        found = descriptors.message(f"{PACKAGE}.Package")
        found.name = self.name
        found.create_time.FromMicroseconds(self.created)
        found.update_time.FromMicroseconds(self.updated)
        found.annotations.update(self.annotations)
        return found


_ORDERS = {
    "name": lambda package: package.name,
    "create_time": lambda package: package.created,
    "update_time": lambda package: package.updated,
}


class Packages:
    """The methods GetPackage, ListPackages, UpdatePackage and DeletePackage."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return a package."""
        record, (package,) = self._backend.item(names.parse_item(request.name, "packages"))
        return self._shown(record, package)

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """List the packages of a repository."""
        record = self._backend.record(names.parse_repository(request.parent))
        matches = filter_of(request.filter, ("name", "annotations"), _values)
        order, descending = order_of(request.order_by or "name", _ORDERS)
        page = PageRequest.of(request, query=f"packages {record.name} {request.filter}\n{request.order_by}")
        names_of = self._backend.contents.packages(record.name) if has_images(record) else []
        pairs = ((each, self._backend.contents.versions(record.name, each)) for each in names_of)
        kept = [self._package(record, each, versions) for each, versions in pairs if versions]
        answer = descriptors.message(f"{PACKAGE}.ListPackagesResponse")
        packages, answer.next_page_token = page_of(
            [each for each in kept if matches(each)],
            page,
            key=lambda each: each.name,
            order=order,
            descending=descending,
        )
        answer.packages.extend(each.message() for each in packages)
        return answer

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Replace the annotations of a package."""
        record, (package,) = self._backend.item(names.parse_item(request.package.name, "packages"))
        annotations = given_annotations(request.package, request.update_mask.paths)
        with self._backend.contents.transaction():
            self._backend.versions(record, package)
            if annotations is not None:
                self._backend.store.set_annotations(record.name, _item(package), annotations)
        return self._shown(record, package)

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a package with its versions and tags."""
        name = names.parse_item(request.name, "packages")
        with self._backend.contents.transaction():
            record, (package,) = self._backend.item(name)
            versions = self._backend.versions(record, package)
            if has_immutable_tags(record) and any(version.tags for version in versions):
                raise immutable(record, f"the package {package!r} with its tags cannot be deleted")
            self._backend.contents.remove_package(record.name, package)
            self._backend.store.drop_annotations(record.name, _item(package))
        return self._backend.done(name.repository.place, descriptors.empty())

    def _shown(self, record: Record, package: str) -> DynamicMessage:
        return self._package(record, package, self._backend.versions(record, package)).message()

    def _package(self, record: Record, package: str, versions: Sequence[Version]) -> _Package:
        annotations = self._backend.store.annotations(record.name).get(_item(package), {})
        return _Package(
            name=f"{record.name}/{_item(package)}",
            id=package,
            created=min(version.created for version in versions),
            updated=max(version.updated for version in versions),
            annotations=annotations,
        )


def _item(package: str) -> str:
    return f"packages/{names.escaped(package)}"


def _values(package: _Package, field: str) -> Sequence[str]:
    return [package.name] if field == "name" else annotation_values(package.annotations, field)


_MAX_BYTES = 256 * 1024
"""Limit for all keys and values of an item's annotations together (AIP-128)."""


def given_annotations(message: DynamicMessage, mask: Sequence[str]) -> Mapping[str, str] | None:
    """Return the annotations of an update, or None if its mask has only output-only fields.

    Raises `RpcError` INVALID_ARGUMENT.
    """
    fields = message.DESCRIPTOR.fields_by_name
    if unknown := [path for path in mask if path != "*" and path.partition(".")[0] not in fields]:
        raise RpcError("INVALID_ARGUMENT", f"update_mask: there is no field {unknown[0]!r}.")
    if mask and not {"annotations", "*"} & {path.partition(".")[0] for path in mask}:
        return None
    if below := [path for path in mask if path.startswith("annotations.")]:
        raise RpcError(
            "INVALID_ARGUMENT", f"update_mask has {below[0]!r}. Use 'annotations' to replace all of them."
        )
    given = dict(message.annotations)
    if sum(len(key.encode()) + len(value.encode()) for key, value in given.items()) > _MAX_BYTES:
        raise RpcError("INVALID_ARGUMENT", f"The annotations have more than {_MAX_BYTES} bytes in total.")
    return given
