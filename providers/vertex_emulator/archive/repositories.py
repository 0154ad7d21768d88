"""Images and repositories of Artifact Registry in an archive.

repositories/N.json     a repository as the API has it, its location, times, IAM policy and annotations

blobs/N.json, blobs/N               a blob's digest, and its content
manifests/N.json, manifests/N       a manifest's repository, tags and times, and its content
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from google.protobuf import json_format

from vertex_emulator.archive.tar import ArchiveError, Member, Writer
from vertex_emulator.artifact_registry import names, repository_fields
from vertex_emulator.artifact_registry.housekeeping import Housekeeping
from vertex_emulator.artifact_registry.methods import repositories
from vertex_emulator.artifact_registry.names import RepositoryName
from vertex_emulator.artifact_registry.store import Record, Store
from vertex_emulator.container_registry import names as image_names
from vertex_emulator.container_registry import transfer
from vertex_emulator.container_registry.blobs import flush
from vertex_emulator.container_registry.errors import RegistryError
from vertex_emulator.container_registry.manifests import MAX_MANIFEST, read_manifest
from vertex_emulator.container_registry.registry import Registry
from vertex_emulator.container_registry.store import StoredManifest
from vertex_emulator.container_registry.transfer import Pushed
from vertex_emulator.http.messages import HttpError
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.projects import Place
from vertex_emulator.permissions import iam_policy
from vertex_emulator.rpc import descriptors, payload
from vertex_emulator.rpc.methods import RpcError

IMAGE_NAMES = r"(?P<image>(?:blobs|manifests)/[0-9]{1,9})(?P<described>\.json)?"


def export_images(archive: Writer, registry: Registry) -> None:
    """Write all images. Raises `HttpError` 409 if one is removed meanwhile."""
    images = transfer.all_pushed(registry)
    for number, digest in enumerate(transfer.blobs_of(registry, images)):
        path = registry.blob_path(digest)
        if path is None:
            raise HttpError(409, "", "Nothing was exported: an image was removed meanwhile. Export again.")
        with path.open("rb") as file:
            _describe(archive, f"blobs/{number}", {"digest": digest})
            archive.add_file(f"blobs/{number}", file, path.stat().st_size)
    for number, image in enumerate(images):
        stored = image.stored
        fields = {
            "repository": stored.repository,
            "digest": stored.digest,
            "mediaType": stored.media_type,
            "pushed": stored.pushed,
            "tags": dict(image.tags),
        }
        _describe(archive, f"manifests/{number}", fields)
        archive.add(f"manifests/{number}", stored.content)


class ArchivedImages:
    """The checked images of an archive. Their blobs are uploads of the registry until they are added."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._images: list[Pushed] = []
        self._blobs: dict[str, tuple[str, int]] = {}

    @property
    def count(self) -> int:
        return len(self._images)

    def take(self, member: Member, fields: Mapping[str, Any]) -> None:
        """Read the content of a blob or manifest, whose `fields` came before it. Raises `ArchiveError`."""
        try:
            if member.name.startswith("blobs/"):
                self._take_blob(member, image_names.check_digest(_text(fields, "digest")))
            else:
                self._take_manifest(member, fields)
        except ArchiveError:
            raise
        except (RegistryError, ValueError) as error:
            raise ArchiveError(f"{member.name}: {error}.") from error

    def _take_blob(self, member: Member, digest: str) -> None:
        if digest in self._blobs:
            raise ArchiveError(f"{member.name} occurs twice.")
        identifier = self._registry.files.new_upload()
        self._blobs[digest] = (identifier, member.size)
        found = hashlib.new(image_names.algorithm_of(digest))
        with self._registry.files.upload_path(identifier).open("wb") as file:
            while data := member.read():
                found.update(data)
                file.write(data)
            flush(file)
        if found.hexdigest() != digest.partition(":")[2]:
            raise ArchiveError(f"{member.name} is damaged: its digest differs.")

    def _take_manifest(self, member: Member, fields: Mapping[str, Any]) -> None:
        stored = StoredManifest(
            repository=_text(fields, "repository"),
            digest=_text(fields, "digest"),
            media_type=_text(fields, "mediaType"),
            content=member.whole(most=MAX_MANIFEST),
            pushed=_microseconds(fields.get("pushed")),
        )
        transfer.check_identity(stored)
        tags = fields.get("tags")
        if not isinstance(tags, dict):
            raise ValueError("tags are missing")
        read = read_manifest(stored.content, stored.media_type)
        kept = {image_names.check_tag(tag): _microseconds(updated) for tag, updated in tags.items()}
        self._images.append(Pushed(stored=stored, read=read, tags=kept))

    def check(self) -> None:
        """Check that every blob that a manifest names is in the archive or here. Raises `ArchiveError`."""
        for digest in transfer.missing(self._registry, self._images, self._blobs):
            raise ArchiveError(f"a manifest names {digest}, which is missing.")

    def conflicts(self) -> list[str]:
        """Return the images that the emulator has with other content."""
        return [f"image {name}" for name in transfer.tag_conflicts(self._registry, self._images)]

    def enter(self, stack: ExitStack) -> None:
        """Lock the registry, before the transaction that calls `add`."""
        stack.enter_context(self._registry.lock_files())

    def add(self) -> None:
        """Add the images, inside a transaction."""
        transfer.add(self._registry, self._images, self._blobs)

    def discard(self) -> None:
        """Remove the blobs that were not added."""
        for identifier, _ in self._blobs.values():
            self._registry.files.remove_upload(identifier)


def _describe(archive: Writer, name: str, fields: Mapping[str, Any]) -> None:
    archive.add(f"{name}.json", json.dumps(fields, indent=1, sort_keys=True).encode())


def _microseconds(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LAST:
        raise ValueError("a time is not a number of microseconds")
    return value


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


class ArchivedRepositories:
    """The checked repositories of an archive, which is not trusted."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._found: dict[str, tuple[Record, Any, Mapping[str, Mapping[str, str]]]] = {}

    @property
    def count(self) -> int:
        return len(self._found)

    def take(self, fields: Mapping[str, Any], path: str) -> None:
        """Read a repository. Raises `ArchiveError`."""
        try:
            place = Place(project=_text(fields, "project"), location=_text(fields, "location"))
            name = RepositoryName(place=place, id=_text(fields, "id"))
            if names.parse_repository(str(name)) != name or name.key in self._found:
                raise ValueError(f"{name} is not a valid name, or occurs twice")
            names.check_repository_id(name.id, place.location)
            given = descriptors.message(f"{repository_fields.PACKAGE}.Repository")
            payload.read(fields.get("repository"), given)
            repository = repository_fields.new_repository(given, name)
            policy = descriptors.message("google.iam.v1.Policy")
            payload.read(fields.get("iamPolicy"), policy)
            if faults := list(iam_policy.problems(policy, repositories.POLICY_RULES)):
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

    def conflicts(self) -> list[str]:
        """Return the repositories that the emulator has already."""
        records = (record for record, _, _ in self._found.values())
        return [f"repository {each.name}" for each in records if self._store.get(each.name) is not None]

    def add(self) -> None:
        """Add the repositories, inside a transaction."""
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
            raise ValueError("annotations must be strings by key")
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
