"""Images in an archive of the emulator's state.

blobs/N.json, blobs/N               a blob's digest, and its content
manifests/N.json, manifests/N       a manifest's repository, tags and times, and its content
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from vertex_emulator.archive.tar import ArchiveError, Member, Writer
from vertex_emulator.container_registry import names, transfer
from vertex_emulator.container_registry.blobs import flush
from vertex_emulator.container_registry.catalog import Registry
from vertex_emulator.container_registry.errors import RegistryError
from vertex_emulator.container_registry.manifests import MAX_MANIFEST, read_manifest
from vertex_emulator.container_registry.store import StoredManifest
from vertex_emulator.container_registry.transfer import Pushed
from vertex_emulator.http.messages import HttpError

NAMES = r"(?P<image>(?:blobs|manifests)/[0-9]{1,9})(?P<described>\.json)?"

_LAST = 1 << 62


def export_images(archive: Writer, registry: Registry) -> None:
    """Write all images. Raises `HttpError` 409 where one is removed meanwhile."""
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


class ImagesFound:
    """The images of an archive, checked. Their blobs are among the uploads until they are added."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._images: list[Pushed] = []
        self._blobs: dict[str, tuple[str, int]] = {}

    @property
    def count(self) -> int:
        return len(self._images)

    def take(self, member: Member, fields: Mapping[str, Any]) -> None:
        """The content of a member with the fields that came before it. Raises `ArchiveError`."""
        try:
            if member.name.startswith("blobs/"):
                self._take_blob(member, names.check_digest(_text(fields, "digest")))
            else:
                self._take_manifest(member, fields)
        except ArchiveError:
            raise
        except (RegistryError, ValueError) as error:
            raise ArchiveError(f"{member.name}: {error}.") from error

    def _take_blob(self, member: Member, digest: str) -> None:
        if digest in self._blobs:
            raise ArchiveError(f"{member.name} is there twice.")
        identifier = self._registry.files.new_upload()
        self._blobs[digest] = (identifier, member.size)
        found = hashlib.new(names.algorithm_of(digest))
        with self._registry.files.upload_path(identifier).open("wb") as file:
            while data := member.read():
                found.update(data)
                file.write(data)
            flush(file)
        if found.hexdigest() != digest.partition(":")[2]:
            raise ArchiveError(f"{member.name} is damaged: its digest is another.")

    def _take_manifest(self, member: Member, fields: Mapping[str, Any]) -> None:
        stored = StoredManifest(
            repository=_text(fields, "repository"),
            digest=_text(fields, "digest"),
            media_type=_text(fields, "mediaType"),
            content=member.whole(most=MAX_MANIFEST),
            pushed=_time(fields.get("pushed")),
        )
        transfer.check_identity(stored)
        tags = fields.get("tags")
        if not isinstance(tags, dict):
            raise ValueError("tags are missing")
        read = read_manifest(stored.content, stored.media_type)
        kept = {names.check_tag(tag): _time(updated) for tag, updated in tags.items()}
        self._images.append(Pushed(stored=stored, read=read, tags=kept))

    def check(self) -> None:
        """Raises `ArchiveError` where something that a manifest names is missing."""
        for digest in transfer.missing(self._registry, self._images, self._blobs):
            raise ArchiveError(f"a manifest names {digest}, which is missing.")

    def taken(self) -> list[str]:
        """What is here already and is another there."""
        return [f"image {name}" for name in transfer.taken(self._registry, self._images)]

    def enter(self, stack: ExitStack) -> None:
        """Before the transaction in which they are added."""
        stack.enter_context(self._registry.filing())

    def add(self) -> None:
        """Within a transaction."""
        transfer.add(self._registry, self._images, self._blobs)

    def discard(self) -> None:
        """Remove what was not added."""
        for identifier, _ in self._blobs.values():
            self._registry.files.remove_upload(identifier)


def _describe(archive: Writer, name: str, fields: Mapping[str, Any]) -> None:
    archive.add(f"{name}.json", json.dumps(fields, indent=1, sort_keys=True).encode())


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is missing")
    return value


def _time(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LAST:
        raise ValueError("a time is not one")
    return value
