"""Image manifests and indexes, of OCI and of Docker (schema 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vertex_emulator.server.http.messages import parse_json
from vertex_emulator.services.container_registry.errors import RegistryError, manifest_invalid
from vertex_emulator.services.container_registry.names import check_digest

MAX_MANIFEST = 4 * 1024 * 1024
"""Limit in bytes; the specification requires at least this much ("Pushing Manifests")."""

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"

MANIFESTS = (OCI_MANIFEST, DOCKER_MANIFEST)
INDEXES = (OCI_INDEX, DOCKER_LIST)

_NON_DISTRIBUTABLE = (
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
    "application/vnd.docker.image.rootfs.foreign.diff.tar",
)
_MAX_SIZE = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """A reference to a blob or manifest.

    If `required`, the content must have been pushed before the manifest. Non-distributable layers are not
    required.
    """

    digest: str
    size: int
    media_type: str
    required: bool = True


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The references of a manifest. `artifact_type` is its type in the list of its subject's referrers."""

    blobs: tuple[Descriptor, ...] = ()
    manifests: tuple[Descriptor, ...] = ()
    subject: str | None = None
    artifact_type: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)


def media_type_of(content_type: str | None, content: bytes) -> str:
    """Return the media type of a pushed manifest, from the Content-Type header or else from the document.

    Raises `RegistryError` 400, 415.
    """
    given = (content_type or "").partition(";")[0].strip().lower()
    if not given or given in ("application/json", "application/octet-stream"):
        named = _document(content).get("mediaType")
        given = named if isinstance(named, str) else OCI_MANIFEST
    if given not in (*MANIFESTS, *INDEXES):
        raise manifest_invalid(
            f"A manifest of the type {given[:200]!r} is not supported. Send one of "
            f"{', '.join((*MANIFESTS, *INDEXES))}.",
            status=415,
        )
    return given


def read_manifest(content: bytes, media_type: str) -> Manifest:
    """Parse a manifest. Raises `RegistryError` 400 with the path of the invalid field."""
    value = _document(content)
    if value.get("schemaVersion") != 2 or isinstance(value.get("schemaVersion"), bool):
        raise manifest_invalid("schemaVersion must be 2.")
    named = value.get("mediaType", media_type)
    if named != media_type:
        raise manifest_invalid(f"mediaType is {named!r}, but the Content-Type is {media_type!r}.")
    subject = value.get("subject")
    of = _descriptor(subject, "subject").digest if subject is not None else None
    annotations = _annotations(value.get("annotations"))
    own = value.get("artifactType")
    if own is not None and not isinstance(own, str):
        raise manifest_invalid("artifactType must be a string.")
    if media_type in INDEXES:
        if "config" in value or "layers" in value:
            raise manifest_invalid("An index must have manifests, and neither config nor layers.")
        listed = tuple(_descriptors(value, "manifests"))
        return Manifest(manifests=listed, artifact_type=own or None, subject=of, annotations=annotations)
    if "manifests" in value:
        raise manifest_invalid("An image manifest must have config and layers, and no manifests.")
    config = _descriptor(value.get("config"), "config")
    layers = tuple(_descriptors(value, "layers"))
    return Manifest(
        blobs=(config, *layers),
        artifact_type=own or config.media_type or None,
        subject=of,
        annotations=annotations,
    )


def _document(content: bytes) -> dict[str, Any]:
    try:
        value = parse_json(content)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise manifest_invalid(f"The manifest is not JSON: {why}.") from error
    if not isinstance(value, dict):
        raise manifest_invalid("The manifest is not a JSON object.")
    return value


def _descriptors(value: Mapping[str, Any], name: str) -> Iterator[Descriptor]:
    listed = value.get(name)
    if not isinstance(listed, list):
        raise manifest_invalid(f"{name} must be a list.")
    for index, each in enumerate(listed):
        yield _descriptor(each, f"{name}[{index}]")


def _descriptor(value: object, path: str) -> Descriptor:
    if not isinstance(value, dict):
        raise manifest_invalid(f"{path} must be a descriptor, an object with mediaType, digest and size.")
    digest, size, media_type = value.get("digest"), value.get("size"), value.get("mediaType", "")
    if not isinstance(digest, str):
        raise manifest_invalid(f"{path}.digest must be a string.")
    try:
        check_digest(digest)
    except RegistryError as error:
        raise manifest_invalid(f"{path}.digest: {error.message}") from error
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < _MAX_SIZE:
        raise manifest_invalid(f"{path}.size must be a number of bytes.")
    if not isinstance(media_type, str):
        raise manifest_invalid(f"{path}.mediaType must be a string.")
    required = not media_type.startswith(_NON_DISTRIBUTABLE)
    return Descriptor(digest=digest, size=size, media_type=media_type, required=required)


def _annotations(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise manifest_invalid("annotations must be an object whose values are strings.")
    return value
