"""Export of images to, and import from, the archive of an emulator (`/_local/export`, `/_local/import`)."""

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
    """A pushed manifest. `tags` has the time at which each tag was set to it, in microseconds."""

    stored: StoredManifest
    read: Manifest
    tags: Mapping[str, int] = field(default_factory=dict)


def all_pushed(registry: Registry) -> list[Pushed]:
    """Return all pushed manifests; stand-ins are left out, as each emulator creates its own."""
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
    """Yield the digests of all stored blobs of the images, each once."""
    wanted = {each.digest for image in images for each in image.read.blobs}
    for digest in sorted(wanted):
        if registry.store.blob_size(digest) is not None:
            yield digest


def missing(registry: Registry, images: Collection[Pushed], blobs: Collection[str]) -> Iterator[str]:
    """Yield the digests of references that are neither in `blobs` or `images` nor in the registry."""
    there = {(image.stored.repository, image.stored.digest) for image in images}
    for image in images:
        for blob in image.read.blobs:
            if blob.required and blob.digest not in blobs and registry.store.blob_size(blob.digest) is None:
                yield blob.digest
        for each in image.read.manifests:
            if (image.stored.repository, each.digest) not in there:
                yield each.digest


def tag_conflicts(registry: Registry, images: Collection[Pushed]) -> Iterator[str]:
    """Yield the tags that point to other manifests in this registry, as REPOSITORY:TAG."""
    for image in images:
        for tag in image.tags:
            if registry.store.tagged(image.stored.repository, tag) not in (None, image.stored.digest):
                yield f"{image.stored.repository}:{tag}"


def add(registry: Registry, images: Collection[Pushed], blobs: Mapping[str, tuple[str, int]]) -> None:
    """Record images with their blobs. `blobs` has the upload and the size of each blob by digest.

    Call it within `Registry.lock_files` and a transaction. If the emulator is killed, the next start cleans
    up.
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
    """Check the names and the digest of a manifest. Raises `RegistryError` 400."""
    names.check_repository(stored.repository)
    names.check_digest(stored.digest)
    found = names.digest_of(stored.content, algorithm=names.algorithm_of(stored.digest))
    if found != stored.digest or not names.is_canonical(stored.repository):
        raise digest_invalid(f"The manifest {stored.name} does not match its name.")
