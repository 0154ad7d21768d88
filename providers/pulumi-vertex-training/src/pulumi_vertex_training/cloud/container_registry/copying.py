"""Copy an image to another repository by its digest: with all images of an index, and what is attached to it.

Between repositories of one registry, blobs are mounted: no byte is sent. Otherwise only blobs that the target
lacks go through this machine. Manifests go last, so an interrupted copy is continued by the next one.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.client import Manifest
from pulumi_vertex_training.cloud.container_registry.descriptors import Descriptor, json_object, parts_of
from pulumi_vertex_training.cloud.container_registry.http import LARGEST_MANIFEST, registry_http
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName
from pulumi_vertex_training.cloud.container_registry.push import BlobUpload, ProgressCallback
from pulumi_vertex_training.cloud.endpoint import Endpoint

MOST_MANIFESTS = 300
"""Limit of the manifests of one image, with its index and what is attached."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

_ATTACHED_TAGS = ("", ".sig", ".att", ".sbom")
"""Endings of the tags by which tools attach manifests where a registry lists no referrers: sha256-HEX.sig."""


@dataclass(frozen=True, kw_only=True)
class ImageTree:
    """An image in its repository: `name` with its digest, and its manifests in the order of a push.

    `tags` are those by which manifests are attached, with the manifest that each one names.
    """

    name: ImageName
    manifests: tuple[Manifest, ...]
    blobs_by_manifest: Mapping[str, tuple[Descriptor, ...]]
    tags: tuple[tuple[str, Manifest], ...] = ()

    @property
    def digest(self) -> str:
        return self.name.reference

    @property
    def size(self) -> int:
        """The size of all blobs in bytes."""
        blobs = {blob.digest: blob.size for each in self.blobs_by_manifest.values() for blob in each}
        return sum(blobs.values())


@dataclass(frozen=True, kw_only=True)
class Missing:
    """The parts of an image that a repository lacks: manifests, blobs, and the bytes that a copy has to send.

    `is_sent` is false if the blobs can be mounted, because the repositories are in one registry.
    """

    manifests: int = 0
    blobs: int = 0
    sent_bytes: int = 0
    is_sent: bool = False


@dataclass(frozen=True, kw_only=True)
class Copied:
    """The result of a copy. `was_there` is true if the target had everything."""

    image: ImageName
    size: int
    sent_bytes: int = 0
    mounted: int = 0
    was_there: bool = False


def read(endpoint: Endpoint, name: ImageName) -> ImageTree:
    """Return the image with everything that it refers to, and what is attached. Raises NotFound."""
    root = registry.manifest(endpoint, name)
    tags = {tag for tag in registry.tags(endpoint, name) if tag.startswith("sha256-")}
    found: dict[str, Manifest] = {}
    visited: set[str] = set()
    attached_tags: list[tuple[str, Manifest]] = []

    def visit(one: Manifest) -> None:
        if one.digest in visited:
            return
        visited.add(one.digest)
        if len(visited) > MOST_MANIFESTS:
            raise _unusable(endpoint, name, f"it has more than {MOST_MANIFESTS} manifests")
        for digest in _images_of(endpoint, name, one):
            visit(registry.manifest(endpoint, name.at(digest)))
        found[one.digest] = one
        for digest in _referrers(endpoint, name.at(one.digest)):
            visit(registry.manifest(endpoint, name.at(digest)))
        for ending in _ATTACHED_TAGS:
            tag = f"{one.digest.replace(':', '-')}{ending}"
            if tag in tags:
                attached = registry.manifest(endpoint, name.at(tag))
                visit(attached)
                attached_tags.append((tag, attached))

    visit(root)
    manifests = tuple(found.values())
    blobs = {one.digest: _blobs_of(endpoint, name, one) for one in manifests}
    return ImageTree(
        name=name.at(root.digest), manifests=manifests, blobs_by_manifest=blobs, tags=tuple(attached_tags)
    )


def missing(endpoint: Endpoint, tree: ImageTree, target: ImageName) -> Missing:
    """Return what the repository of `target` lacks of an image."""
    lacking = [
        one for one in tree.manifests if registry.digest_at(endpoint, target.at(one.digest)) != one.digest
    ]
    if not lacking:
        return Missing()
    wanted = {blob.digest: blob for one in lacking for blob in tree.blobs_by_manifest[one.digest]}
    if registry_http(endpoint).same_registry(tree.name, target):
        return Missing(manifests=len(lacking), blobs=len(wanted))
    blobs = [blob for blob in wanted.values() if not registry.has_blob(endpoint, target, blob.digest)]
    sent_bytes = sum(blob.size for blob in blobs)
    return Missing(manifests=len(lacking), blobs=len(blobs), sent_bytes=sent_bytes, is_sent=True)


def copy(
    endpoint: Endpoint, tree: ImageTree, target: ImageName, *, on_progress: ProgressCallback | None = None
) -> Copied:
    """Copy an image to the repository of `target`, as far as it is not there.

    Raises NotFound if the repository does not exist, or the image was deleted meanwhile.
    """
    sent, mounted, pushed = 0, 0, 0
    for one in tree.manifests:
        if registry.digest_at(endpoint, target.at(one.digest)) == one.digest:
            continue
        parts = [
            BlobUpload(digest=blob.digest, size=blob.size, source=tree.name.repository)
            for blob in tree.blobs_by_manifest[one.digest]
        ]
        result = registry_push.push(endpoint, target, one, parts, on_progress=on_progress)
        sent, mounted, pushed = sent + result.sent_bytes, mounted + len(result.mounted), pushed + 1
    for tag, attached in tree.tags:
        pushed += registry_push.tag(endpoint, target.at(tag), attached)
    return Copied(
        image=target.at(tree.digest), size=tree.size, sent_bytes=sent, mounted=mounted, was_there=not pushed
    )


def _images_of(endpoint: Endpoint, name: ImageName, manifest: Manifest) -> tuple[str, ...]:
    """Return the digests of an index's images; none for the manifest of an image."""
    if not manifest.is_index:
        return ()
    try:
        listed = json_object(manifest.content, "the index").get("manifests")
        return _digests(listed)
    except ValueError as error:
        raise _unusable(endpoint, name, str(error)) from error


def _blobs_of(endpoint: Endpoint, name: ImageName, manifest: Manifest) -> tuple[Descriptor, ...]:
    """Return the blobs of a manifest, each once, without layers that have URLs of their own."""
    if manifest.is_index:
        return ()
    try:
        parts = parts_of(manifest.content)
        layers = json_object(manifest.content, "the manifest")["layers"]
    except ValueError as error:
        raise _unusable(endpoint, name, str(error)) from error
    own = [blob for blob, layer in zip(parts.layers, layers, strict=True) if not layer.get("urls")]
    return tuple({blob.digest: blob for blob in (*own, parts.config)}.values())


def _referrers(endpoint: Endpoint, name: ImageName) -> tuple[str, ...]:
    """Return the digests of the manifests that refer to one; none from a registry that does not list them."""
    found: list[str] = []
    tail = f"referrers/{name.digest}"
    while tail and len(found) <= MOST_MANIFESTS:
        try:
            response = registry.ask(
                endpoint,
                name,
                "GET",
                tail,
                action=f"list what is attached to {name}",
                also=(400, 404, 405),
                most=LARGEST_MANIFEST,
            )
        except errors.Unimplemented:
            return ()
        if response.status_code != 200:
            return ()
        try:
            found += _digests(json_object(response.content, "the list").get("manifests"))
        except ValueError as error:
            raise _unusable(endpoint, name, str(error)) from error
        tail = response.links.get("next", {}).get("url", "")
    return tuple(found)


def _digests(listed: object) -> tuple[str, ...]:
    if not isinstance(listed, list):
        raise ValueError("it has no list of manifests")
    digests = [each.get("digest") if isinstance(each, dict) else None for each in listed]
    if not all(isinstance(each, str) and _DIGEST.fullmatch(each) for each in digests):
        raise ValueError("a digest of its list is not sha256: and 64 hex digits")
    return tuple(str(each) for each in digests)


def _unusable(endpoint: Endpoint, name: ImageName, reason: str) -> errors.UnexpectedAnswer:
    return errors.UnexpectedAnswer(
        f"Could not copy {name} ({endpoint}): {reason}. Push the image again, or promote another one.",
        resource=str(name),
        endpoint=endpoint,
    )
