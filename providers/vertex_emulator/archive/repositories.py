"""Repositories of Artifact Registry in an archive of the emulator's state.

repositories/N.json     a repository as the API has it, its place, times, IAM policy and annotations
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

from vertex_emulator.archive.tar import ArchiveError, Writer
from vertex_emulator.artifact_registry import names, repository_fields
from vertex_emulator.artifact_registry.housekeeping import Housekeeping
from vertex_emulator.artifact_registry.methods import repositories
from vertex_emulator.artifact_registry.names import RepositoryName
from vertex_emulator.artifact_registry.store import Record, Store
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.rpc import descriptors, payload
from vertex_emulator.rpc.methods import RpcError

_LAST = 1 << 62


def export_repositories(archive: Writer, store: Store) -> None:
    """Write all repositories."""
    for number, record in enumerate(store.everywhere()):
        fields = {
            "project": record.name.place.project,
            "location": record.name.place.location,
            "id": record.name.id,
            "repository": _document(record.repository),
            "created": record.created,
            "updated": record.updated,
            "iamPolicy": _document(store.iam_policy(record.name)),
            "annotations": store.annotations(record.name),
        }
        text = json.dumps(fields, ensure_ascii=False, indent=1, sort_keys=True)
        archive.add(f"repositories/{number}.json", text.encode())


class RepositoriesFound:
    """The repositories of an archive, checked as what somebody else wrote."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._found: dict[str, tuple[Record, Any, Mapping[str, Mapping[str, str]]]] = {}

    @property
    def count(self) -> int:
        return len(self._found)

    def take(self, fields: Mapping[str, Any], path: str) -> None:
        """Raises `ArchiveError`."""
        try:
            place = Place(project=_text(fields, "project"), location=_text(fields, "location"))
            name = RepositoryName(place=place, id=_text(fields, "id"))
            if names.parse_repository(str(name)) != name or name.key in self._found:
                raise ValueError(f"{name} is no name, or is there twice")
            names.check_repository_id(name.id, place.location)
            given = descriptors.message(f"{repository_fields.PACKAGE}.Repository")
            payload.read(fields.get("repository"), given)
            repository = repository_fields.prepared(given, name)
            policy = descriptors.message("google.iam.v1.Policy")
            payload.read(fields.get("iamPolicy"), policy)
            if faults := list(repositories.problems(policy)):
                raise ValueError(faults[0].description)
            record = Record(
                name=name,
                repository=repository,
                created=_time(fields, "created"),
                updated=_time(fields, "updated"),
                cleanup_at=Housekeeping.first_cleanup(repository, now=self._clock.microseconds()),
            )
            self._found[name.key] = record, policy, _annotations(fields.get("annotations"))
        except (ValueError, RpcError, payload.PayloadError) as error:
            raise ArchiveError(f"{path}: {error}.") from error

    def taken(self) -> list[str]:
        """What is here already."""
        records = (record for record, _, _ in self._found.values())
        return [f"repository {each.name}" for each in records if self._store.get(each.name) is not None]

    def add(self) -> None:
        """Within a transaction."""
        for record, policy, annotated in self._found.values():
            self._store.add(record)
            if policy.bindings:
                self._store.set_iam_policy(record.name, policy)
            for item, values in annotated.items():
                self._store.set_annotations(record.name, item, values)


def _document(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = json_format.MessageToDict(message, descriptor_pool=descriptors.pool())
    return found


def _annotations(value: object) -> Mapping[str, Mapping[str, str]]:
    if not isinstance(value, dict):
        raise ValueError("annotations are missing")
    for values in value.values():
        if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
            raise ValueError("annotations are not texts by key")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is missing")
    return value


def _time(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LAST:
        raise ValueError(f"{name} is not a time")
    return value
