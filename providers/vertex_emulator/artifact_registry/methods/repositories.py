"""The methods on repositories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from vertex_emulator.artifact_registry import names, repository_fields
from vertex_emulator.artifact_registry.housekeeping import Housekeeping
from vertex_emulator.artifact_registry.listing import PageRequest, filter_of, order_of, page_of
from vertex_emulator.artifact_registry.methods.locations import LOCATIONS
from vertex_emulator.artifact_registry.parts import Parts, empty, has_images
from vertex_emulator.artifact_registry.repository_fields import PACKAGE
from vertex_emulator.artifact_registry.store import Record
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc.methods import RpcError

_ORDERS = {
    "name": lambda record: str(record.name),
    "create_time": lambda record: record.created,
    "update_time": lambda record: record.updated,
}


class Repositories:
    """Create, get, list, update, delete."""

    def __init__(self, parts: Parts, housekeeping: Housekeeping) -> None:
        self._parts = parts
        self._housekeeping = housekeeping

    def create(self, request: Any) -> Message:
        """CreateRepository."""
        place = names.parse_place(request.parent)
        if place.location not in LOCATIONS:
            raise RpcError(
                "INVALID_ARGUMENT",
                f"There are no repositories in {place.location!r}. Choose one of {', '.join(LOCATIONS)}.",
            )
        if not request.repository_id:
            raise RpcError("INVALID_ARGUMENT", "repository_id is missing.")
        names.check_repository_id(request.repository_id, place.location)
        name = names.RepositoryName(place=place, id=request.repository_id)
        repository = repository_fields.prepared(request.repository, name)
        now = self._parts.clock.microseconds()
        record = Record(
            name=name,
            repository=repository,
            created=now,
            updated=now,
            cleanup_at=self._housekeeping.first_cleanup(repository, now=now),
        )
        with self._parts.contents.transaction():
            if not self._parts.store.add(record):
                raise RpcError("ALREADY_EXISTS", f"The repository {name} already exists.")
            # A push may have come to its end just after an earlier one of this name was deleted.
            self._parts.contents.remove_all_of(name)
        self._housekeeping.wake()
        return self._parts.done(place, self._shown(record))

    def get(self, request: Any) -> Message:
        """GetRepository."""
        return self._shown(self._parts.record(names.parse_repository(request.name)))

    def list(self, request: Any) -> Message:
        """ListRepositories."""
        place = names.parse_place(request.parent)
        lets_through = filter_of(request.filter, ("name",), _values)
        order, descending = order_of(request.order_by or "name", _ORDERS)
        query = f"repositories {place.as_asked} {request.filter}\n{request.order_by}"
        page = PageRequest.of(request, query=query)
        found = [each for each in self._parts.store.at(place) if lets_through(each)]
        answer = descriptors.message(f"{PACKAGE}.ListRepositoriesResponse")
        records, answer.next_page_token = page_of(
            found, page, key=lambda each: str(each.name), order=order, descending=descending
        )
        answer.repositories.extend(self._shown(each) for each in records)
        listed: Message = answer
        return listed

    def update(self, request: Any) -> Message:
        """UpdateRepository."""
        name = names.parse_repository(request.repository.name)
        with self._parts.contents.transaction():
            record = self._parts.record(name)
            changed = repository_fields.changed(
                record.repository, request.repository, request.update_mask.paths
            )
            now = self._parts.clock.microseconds()
            same = changed.cleanup_policies == record.repository.cleanup_policies
            cleanup_at = record.cleanup_at if same else self._housekeeping.first_cleanup(changed, now=now)
            record = replace(record, repository=changed, updated=now, cleanup_at=cleanup_at)
            self._parts.store.replace(record)
        self._housekeeping.wake()
        return self._shown(record)

    def delete(self, request: Any) -> Message:
        """DeleteRepository: with all that it holds."""
        name = names.parse_repository(request.name)
        with self._parts.contents.transaction():
            record = self._parts.record(name)
            self._parts.contents.remove_all_of(record.name)
            self._parts.store.delete(record.name)
        return self._parts.done(name.place, empty())

    def _shown(self, record: Record) -> Message:
        shown = descriptors.message(f"{PACKAGE}.Repository")
        shown.CopyFrom(record.repository)
        shown.create_time.FromMicroseconds(record.created)
        shown.update_time.FromMicroseconds(record.updated)
        size = self._parts.contents.size(record.name) if has_images(record) else 0
        repository_fields.fill_output(shown, record.name, size=size)
        found: Message = shown
        return found


def _values(record: Record, _field: str) -> list[str]:
    return [str(record.name)]
