"""The methods for repositories and their IAM policies."""

from __future__ import annotations

import re
from dataclasses import replace

from vertex_emulator.server.permissions import iam_policy
from vertex_emulator.server.permissions.denials import Grants
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.artifact_registry import names, repository_fields
from vertex_emulator.services.artifact_registry.backend import Backend, has_images
from vertex_emulator.services.artifact_registry.housekeeping import Housekeeping
from vertex_emulator.services.artifact_registry.listing import PageRequest, filter_of, order_of, page_of
from vertex_emulator.services.artifact_registry.methods.settings import LOCATIONS
from vertex_emulator.services.artifact_registry.repository_fields import PACKAGE
from vertex_emulator.services.artifact_registry.store import Record

_ORDERS = {
    "name": lambda record: str(record.name),
    "create_time": lambda record: record.created,
    "update_time": lambda record: record.updated,
}


class Repositories:
    """The methods that create, get, list, update and delete repositories."""

    def __init__(self, backend: Backend, housekeeping: Housekeeping) -> None:
        self._backend = backend
        self._housekeeping = housekeeping

    def create(self, request: DynamicMessage) -> DynamicMessage:
        """Create a repository."""
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
        repository = repository_fields.new_repository(request.repository, name)
        now = self._backend.clock.microseconds()
        record = Record(
            name=name,
            repository=repository,
            created=now,
            updated=now,
            cleanup_at=self._housekeeping.first_cleanup(repository, now=now),
        )
        with self._backend.contents.transaction():
            if not self._backend.store.add(record):
                raise RpcError("ALREADY_EXISTS", f"The repository {name} already exists.")
            # A push to a deleted repository of this name may have ended after the deletion.
            self._backend.contents.remove_all_of(name)
        self._housekeeping.wake()
        return self._backend.done(place, self._shown(record))

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return a repository."""
        return self._shown(self._backend.record(names.parse_repository(request.name)))

    def list(self, request: DynamicMessage) -> DynamicMessage:
        """List the repositories of a location."""
        place = names.parse_place(request.parent)
        matches = filter_of(request.filter, ("name",), _values)
        order, descending = order_of(request.order_by or "name", _ORDERS)
        query = f"repositories {place.as_asked} {request.filter}\n{request.order_by}"
        page = PageRequest.of(request, query=query)
        repositories = [each for each in self._backend.store.at(place) if matches(each)]
        answer = descriptors.message(f"{PACKAGE}.ListRepositoriesResponse")
        records, answer.next_page_token = page_of(
            repositories, page, key=lambda each: str(each.name), order=order, descending=descending
        )
        answer.repositories.extend(self._shown(each) for each in records)
        return answer

    def update(self, request: DynamicMessage) -> DynamicMessage:
        """Update a repository."""
        name = names.parse_repository(request.repository.name)
        with self._backend.contents.transaction():
            record = self._backend.record(name)
            changed = repository_fields.updated_repository(
                record.repository, request.repository, request.update_mask.paths
            )
            now = self._backend.clock.microseconds()
            same = changed.cleanup_policies == record.repository.cleanup_policies
            cleanup_at = record.cleanup_at if same else self._housekeeping.first_cleanup(changed, now=now)
            record = replace(record, repository=changed, updated=now, cleanup_at=cleanup_at)
            self._backend.store.replace(record)
        self._housekeeping.wake()
        return self._shown(record)

    def delete(self, request: DynamicMessage) -> DynamicMessage:
        """Delete a repository with its images."""
        name = names.parse_repository(request.name)
        with self._backend.contents.transaction():
            record = self._backend.record(name)
            self._backend.contents.remove_all_of(record.name)
            self._backend.store.delete(record.name)
        return self._backend.done(name.place, descriptors.empty())

    def _shown(self, record: Record) -> DynamicMessage:
        shown = descriptors.message(f"{PACKAGE}.Repository")
        shown.CopyFrom(record.repository)
        shown.create_time.FromMicroseconds(record.created)
        shown.update_time.FromMicroseconds(record.updated)
        size = self._backend.contents.size(record.name) if has_images(record) else 0
        repository_fields.fill_output(shown, record.name, size=size)
        return shown


def _values(record: Record, _field: str) -> list[str]:
    return [str(record.name)]


POLICY_RULES = iam_policy.Rules(
    role="roles/artifactregistry.reader",
    members="user:EMAIL, serviceAccount:EMAIL or allUsers",
    no_audits="The policy of a repository cannot have audit_configs.",
    members_by_role=True,
)
_PERMISSION = re.compile(r"[a-z]+(?:\.[A-Za-z]+)+")


class IamPolicies:
    """The methods GetIamPolicy, SetIamPolicy and TestIamPermissions."""

    def __init__(self, backend: Backend, grants: Grants) -> None:
        self._backend = backend
        self._grants = grants

    def get(self, request: DynamicMessage) -> DynamicMessage:
        """Return the IAM policy of a repository."""
        record = self._backend.record(names.parse_repository(request.resource))
        return self._current(record)

    def set(self, request: DynamicMessage) -> DynamicMessage:
        """Replace the IAM policy of a repository.

        Raises `RpcError` ABORTED if the etag shows that the policy has changed since it was read.
        """
        name = names.parse_repository(request.resource)
        iam_policy.check_replacement(request, POLICY_RULES)
        with self._backend.contents.transaction():
            record = self._backend.record(name)
            policy = iam_policy.replaced(request, self._current(record))
            self._backend.store.set_iam_policy(record.name, policy)
        return iam_policy.with_etag(policy)

    def test(self, request: DynamicMessage) -> DynamicMessage:
        """Return the requested permissions of Artifact Registry that are not denied."""
        record = self._backend.record(names.parse_repository(request.resource))
        if wrong := [each for each in request.permissions if not _PERMISSION.fullmatch(each)]:
            raise RpcError("INVALID_ARGUMENT", f"{wrong[0]!r} is not a permission.")
        asked = [each for each in request.permissions if each.startswith("artifactregistry.")]
        return iam_policy.granted(self._grants.granted(asked, str(record.name)))

    def _current(self, record: Record) -> DynamicMessage:
        return iam_policy.with_etag(self._backend.store.iam_policy(record.name))
