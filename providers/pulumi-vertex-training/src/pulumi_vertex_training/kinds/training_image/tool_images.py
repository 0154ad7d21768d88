"""Images built by a container tool or Cloud Build, as a manifest and blobs to push."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud.container_registry.client import Manifest, digest_of, file_digest
from pulumi_vertex_training.cloud.container_registry.push import BlobUpload
from pulumi_vertex_training.images import ImageSource
from pulumi_vertex_training.images.manifests import canonical_json

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_MAGIC = {b"\x1f\x8b": "+gzip", b"\x28\xb5\x2f\xfd": "+zstd"}


def read_archive(archive: Path, source: ImageSource, folder: Path) -> tuple[Manifest, list[BlobUpload]]:
    """Read the image of an archive in docker's format, with the source's options set.

    The layers are extracted to `folder`. Raises ValueError for an archive of another format.
    """
    with tarfile.open(archive) as tar:
        listed = json.loads(_member(tar, "manifest.json"))
        if len(listed) != 1:
            raise ValueError(f"{archive} holds {len(listed)} images; one was expected")
        config = json.loads(_member(tar, listed[0]["Config"]))
        layers = [_layer(tar, name, folder / f"saved-{i}") for i, name in enumerate(listed[0]["Layers"])]
    return assemble(config, layers, source)


def assemble(
    config: Mapping[str, Any], layers: list[tuple[BlobUpload, str]], source: ImageSource
) -> tuple[Manifest, list[BlobUpload]]:
    """Make the manifest of layers, each with its media type, and a configuration with options set.

    Return the manifest, and the blobs of the layers and of the configuration.
    """
    content = canonical_json(with_options(config, source))
    own = BlobUpload(digest=digest_of(content), size=len(content), content=content)
    manifest = canonical_json(
        {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": {"mediaType": OCI_CONFIG, "digest": own.digest, "size": own.size},
            "layers": [
                {"mediaType": kind, "digest": part.digest, "size": part.size} for part, kind in layers
            ],
        }
    )
    parts = {part.digest: part for part, _ in layers}
    found = Manifest(digest=digest_of(manifest), media_type=OCI_MANIFEST, content=manifest)
    return found, [*parts.values(), own]


def has_options(source: ImageSource) -> bool:
    """Return whether the source sets options on top of its Dockerfile."""
    return bool(
        source.env
        or source.labels
        or source.working_dir
        or source.user
        or source.entrypoint is not None
        or source.command is not None
    )


def with_options(config: Mapping[str, Any], source: ImageSource) -> dict[str, Any]:
    """Return the image configuration with the source's options set.

    As in a Dockerfile, an entrypoint removes the command of the base image.
    """
    settings = dict(config.get("config") or {})
    if source.env:
        kept = [one for one in settings.get("Env") or [] if one.partition("=")[0] not in source.env]
        settings["Env"] = [*kept, *(f"{name}={value}" for name, value in source.env.items())]
    if source.labels:
        settings["Labels"] = {**(settings.get("Labels") or {}), **source.labels}
    if source.working_dir:
        settings["WorkingDir"] = source.working_dir
    if source.user:
        settings["User"] = source.user
    if source.entrypoint is not None:
        settings["Entrypoint"] = list(source.entrypoint)
        settings.pop("Cmd", None)
    if source.command is not None:
        settings["Cmd"] = list(source.command)
    return {**config, "config": settings}


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    try:
        file = tar.extractfile(name)
    except KeyError:
        file = None
    if file is None:
        raise ValueError(f"the tool's archive has no {name}")
    return file.read()


def _layer(tar: tarfile.TarFile, name: str, target: Path) -> tuple[BlobUpload, str]:
    file = tar.extractfile(name)
    if file is None:
        raise ValueError(f"the tool's archive has no {name}")
    with target.open("wb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
    with target.open("rb") as written:
        head = written.read(4)
    kind = next((suffix for magic, suffix in _MAGIC.items() if head.startswith(magic)), "")
    return BlobUpload(
        digest=file_digest(target), size=target.stat().st_size, content=target
    ), f"{_LAYER}{kind}"
