"""The packages and versions of repositories, read from the container registry, the only record of images.

A package is a repository of the container registry, LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE. A
version is one of its manifests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.services.artifact_registry.names import RepositoryName
from vertex_emulator.services.container_registry import manifests
from vertex_emulator.services.container_registry.manifests import Descriptor, Manifest, read_manifest
from vertex_emulator.services.container_registry.registry import Registry
from vertex_emulator.services.container_registry.store import StoredManifest, StoredTag

_LARGEST_CONFIG = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Version:
    """One manifest of a package.

    Times are in microseconds since 1970. `parents` are the digests of the indexes that refer to it.
    """

    package: str
    stored: StoredManifest
    manifest: Manifest
    tags: tuple[StoredTag, ...] = ()
    parents: tuple[str, ...] = field(default=())

    @property
    def digest(self) -> str:
        return self.stored.digest

    @property
    def created(self) -> int:
        return self.stored.pushed

    @property
    def updated(self) -> int:
        return max((self.stored.pushed, *(tag.updated for tag in self.tags)))

    @property
    def is_index(self) -> bool:
        return self.stored.media_type in manifests.INDEXES


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A blob or manifest of a repository. `owner` is the oldest version that has it."""

    digest: str
    size: int
    created: int
    owner: Version


class Contents:
    """The images of all repositories."""

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock

    def transaction(self) -> AbstractContextManager[Any]:
        """Return a context in which no other thread pushes or deletes an image."""
        return self._registry.store.transaction()

    # Reading

    def packages(self, repository: RepositoryName) -> list[str]:
        """Return the names of the images of a repository, sorted."""
        below = _below(repository)
        return [each.removeprefix(below) for each in self._registry.store.repositories(below=below)]

    def versions(self, repository: RepositoryName, package: str) -> list[Version]:
        """Return the versions of a package, newest first; an empty list if there is no such package."""
        path = _below(repository) + package
        stored = [each for each in self._registry.store.manifests(path) if not each.stand_in]
        tags: dict[str, list[StoredTag]] = {}
        for tag in self._registry.store.tags(path):
            tags.setdefault(tag.digest, []).append(tag)
        read = {each.digest: read_manifest(each.content, each.media_type) for each in stored}
        parents: dict[str, list[str]] = {}
        for digest, manifest in read.items():
            for child in manifest.manifests:
                parents.setdefault(child.digest, []).append(digest)
        return [
            Version(
                package=package,
                stored=each,
                manifest=read[each.digest],
                tags=tuple(tags.get(each.digest, ())),
                parents=tuple(sorted(parents.get(each.digest, ()))),
            )
            for each in stored
        ]

    def all_versions(self, repository: RepositoryName) -> list[Version]:
        """Return the versions of all packages of a repository."""
        return [each for name in self.packages(repository) for each in self.versions(repository, name)]

    def tags(self, repository: RepositoryName, package: str) -> Sequence[StoredTag]:
        return self._registry.store.tags(_below(repository) + package)

    def tagged(self, repository: RepositoryName, package: str, tag: str) -> str | None:
        """Return the digest that a tag points to."""
        return self._registry.store.tagged(_below(repository) + package, tag)

    def has_package(self, repository: RepositoryName, package: str) -> bool:
        path = _below(repository) + package
        return any(not each.stand_in for each in self._registry.store.manifests(path))

    def files(self, repository: RepositoryName) -> list[StoredFile]:
        """Return every blob and manifest of a repository, sorted by digest."""
        by_name: dict[str, StoredFile] = {}
        versions = sorted(self.all_versions(repository), key=lambda each: (each.created, each.digest))
        for version in versions:
            own = Descriptor(
                digest=version.digest,
                size=len(version.stored.content),
                media_type=version.stored.media_type,
            )
            for each in (own, *(blob for blob in version.manifest.blobs if blob.required)):
                file = StoredFile(digest=each.digest, size=each.size, created=version.created, owner=version)
                by_name.setdefault(each.digest, file)
        return [by_name[digest] for digest in sorted(by_name)]

    def size(self, repository: RepositoryName) -> int:
        """Return the size of all files of a repository in bytes."""
        return sum(each.size for each in self.files(repository))

    def image_size(self, version: Version, others: Mapping[str, Version]) -> int:
        """Return the compressed size of an image in bytes; for an index, the sum of its images.

        `others` are the versions of the package by digest.
        """
        if not version.is_index:
            return sum(blob.size for blob in version.manifest.blobs)
        children = (others.get(child.digest) for child in version.manifest.manifests)
        return sum(self.image_size(child, {}) for child in children if child is not None)

    def config(self, version: Version) -> Mapping[str, Any]:
        """Return the configuration of an image, or {} if it is missing or cannot be read."""
        if version.is_index or not version.manifest.blobs:
            return {}
        config = version.manifest.blobs[0]
        path = self._registry.blob_path(config.digest) if config.size <= _LARGEST_CONFIG else None
        if path is None:
            return {}
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    # Changing

    def put_tag(self, repository: RepositoryName, package: str, tag: str, digest: str) -> None:
        path = _below(repository) + package
        self._registry.store.put_tag(path, tag, digest, at=self._clock.microseconds())

    def remove_tag(self, repository: RepositoryName, package: str, tag: str) -> bool:
        return self._registry.delete_tag(_below(repository) + package, tag)

    def remove_version(self, repository: RepositoryName, package: str, digest: str) -> bool:
        """Delete a version and its tags. Return whether it existed."""
        return self._registry.delete_manifest(_below(repository) + package, digest)

    def remove_package(self, repository: RepositoryName, package: str) -> None:
        self._registry.delete_repository(_below(repository) + package)

    def remove_all_of(self, repository: RepositoryName) -> None:
        """Delete all packages of a repository."""
        for package in self.packages(repository):
            self.remove_package(repository, package)


def uri_of(repository: RepositoryName, package: str) -> str:
    """Return the canonical name of an image, without tag and digest."""
    return _below(repository) + package


def _below(repository: RepositoryName) -> str:
    place = repository.place
    return f"{place.location}-docker.pkg.dev/{place.project.replace(':', '/')}/{repository.id}/"
