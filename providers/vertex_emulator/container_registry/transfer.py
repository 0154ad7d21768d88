"""Images on their way out of one emulator and into another (`/_local/export`, `/_local/import`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from vertex_emulator.container_registry import names
from vertex_emulator.container_registry.errors import digest_invalid
from vertex_emulator.container_registry.manifests import Manifest, read_manifest
from vertex_emulator.container_registry.registry import Registry
from vertex_emulator.container_registry.store import StoredManifest


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """A manifest that somebody pushed, and since when which of its tags stand for it (microseconds)."""

    stored: StoredManifest
    read: Manifest
    tags: Mapping[str, int] = field(default_factory=dict)


def all_pushed(registry: Registry) -> list[Pushed]:
    """Everything but stand-ins, which each emulator makes itself."""
    found = []
    for repository in registry.store.repositories():
        tags = registry.store.tags(repository)
        for stored in registry.store.manifests(repository):
            if not stored.stand_in:
                found.append(
                    Pushed(
                        stored=stored,
                        read=read_manifest(stored.content, stored.media_type),
                        tags={each.tag: each.updated for each in tags if each.digest == stored.digest},
                    )
                )
    return found


def blobs_of(registry: Registry, images: Collection[Pushed]) -> Iterator[str]:
    """The digests of all blobs that the manifests name and that are there, each once."""
    wanted = {each.digest for image in images for each in image.read.blobs}
    for digest in sorted(wanted):
        if registry.store.blob_size(digest) is not None:
            yield digest


def missing(registry: Registry, images: Collection[Pushed], blobs: Collection[str]) -> Iterator[str]:
    """What the manifests name and neither `blobs`, `images` nor the registry has."""
    there = {(image.stored.repository, image.stored.digest) for image in images}
    for image in images:
        for blob in image.read.blobs:
            if blob.wanted and blob.digest not in blobs and registry.store.blob_size(blob.digest) is None:
                yield blob.digest
        for each in image.read.manifests:
            if (image.stored.repository, each.digest) not in there:
                yield each.digest


def taken(registry: Registry, images: Collection[Pushed]) -> Iterator[str]:
    """Tags that stand for other manifests here, as REPOSITORY:TAG."""
    for image in images:
        for tag in image.tags:
            if registry.store.tagged(image.stored.repository, tag) not in (None, image.stored.digest):
                yield f"{image.stored.repository}:{tag}"


def add(registry: Registry, images: Collection[Pushed], blobs: Mapping[str, tuple[str, int]]) -> None:
    """Record images with the blobs that came with them: the upload that holds each, and its size.

    Within `Registry.filing` and a transaction. What a kill leaves, the next start removes.
    """
    for digest, (identifier, size) in blobs.items():
        if registry.store.blob_size(digest) is None:
            registry.files.adopt(registry.files.upload_path(identifier), digest)
        registry.store.add_blob(digest, size)
    for image in images:
        registry.store.put_manifest(image.stored, image.read)
        for each in image.read.blobs:
            if each.digest in blobs or registry.store.blob_size(each.digest) is not None:
                registry.store.link(image.stored.repository, each.digest, at=image.stored.pushed)
        for tag, updated in image.tags.items():
            registry.store.put_tag(image.stored.repository, tag, image.stored.digest, at=updated)


def check_identity(stored: StoredManifest) -> None:
    """Raises `RegistryError` 400 for a manifest whose names or digest are not right."""
    names.check_repository(stored.repository)
    names.check_digest(stored.digest)
    found = names.digest_of(stored.content, algorithm=names.algorithm_of(stored.digest))
    if found != stored.digest or not names.is_canonical(stored.repository):
        raise digest_invalid(f"{stored.name} is not what its name says.")
