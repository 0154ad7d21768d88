"""The objects and helpers that all methods of the API share."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import Message

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.server.rpc.operations import Operations
from vertex_emulator.services.artifact_registry.contents import Contents, Version
from vertex_emulator.services.artifact_registry.names import ItemName, RepositoryName
from vertex_emulator.services.artifact_registry.repository_fields import DOCKER, PACKAGE, format_of
from vertex_emulator.services.artifact_registry.store import Record, Store
from vertex_emulator.services.resource_engine.names import new_id


@dataclass(frozen=True, kw_only=True)
class Backend:
    """The stores, operations and clock that every method uses."""

    store: Store
    contents: Contents
    operations: Operations
    clock: Clock

    def record(self, name: RepositoryName) -> Record:
        """Return the record of a repository. Raises `RpcError` NOT_FOUND."""
        record = self.store.get(name)
        if record is None:
            raise RpcError("NOT_FOUND", f"The repository {name} was not found. Create it first.")
        return record

    def versions(self, record: Record, package: str) -> list[Version]:
        """Return the versions of a package. Raises `RpcError` NOT_FOUND if it has none."""
        versions = self.contents.versions(record.name, package) if has_images(record) else []
        if not versions:
            raise RpcError("NOT_FOUND", f"The repository {record.name} has no package {package!r}.")
        return versions

    def version(self, record: Record, package: str, digest: str) -> Version:
        """Return a version by its digest. Raises `RpcError` NOT_FOUND."""
        for version in self.versions(record, package):
            if version.digest == digest:
                return version
        raise RpcError("NOT_FOUND", f"The package {package!r} of {record.name} has no version {digest}.")

    def item(self, name: ItemName) -> tuple[Record, tuple[str, ...]]:
        """Return the record of the repository that an item is in, and the item's identifiers."""
        return self.record(name.repository), name.items

    def done(self, place: Place, response: Message, metadata: Message | None = None) -> DynamicMessage:
        """Record and return an operation that is already done."""
        operation = descriptors.message("google.longrunning.Operation")
        operation.name = f"{place.as_asked}/operations/{new_id()}"
        operation.done = True
        operation.metadata.Pack(metadata or descriptors.message(f"{PACKAGE}.OperationMetadata"))
        operation.response.Pack(response)
        self.operations.add(operation)
        return operation


def has_images(record: Record) -> bool:
    """Return whether a repository has images. Repositories of other formats are stored without contents."""
    return format_of(record.repository) == DOCKER


def has_immutable_tags(record: Record) -> bool:
    """Return whether the tags of a repository are immutable."""
    return bool(record.repository.docker_config.immutable_tags)


def immutable(record: Record, what: str) -> RpcError:
    """Return the error for a tag that may not change."""
    return RpcError(
        "FAILED_PRECONDITION",
        f"The repository {record.name} has immutable tags: {what}. Use another tag, or set "
        "docker_config.immutable_tags to false.",
    )
