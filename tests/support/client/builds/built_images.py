"""Build images in tests and inspect them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from pulumi_vertex_training.images import BaseImage, BuiltImage, ImageSource, build_image, plan_image
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem

Files = Mapping[str, "str | bytes"]

BASE_NAME = "gcr.io/deeplearning-platform-release/tf2-gpu.2-8"
"""The name of the base images."""


def write_files(folder: Path, files: Files) -> Path:
    """Write files; those that end with .sh are executable, `path -> target` is a link, `path/` a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        name, arrow, target = path.partition(" -> ")
        file = folder / name
        if path.endswith("/"):
            file.mkdir(parents=True, exist_ok=True)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        if arrow:
            file.symlink_to(target)
            continue
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        file.chmod(0o755 if path.endswith(".sh") else 0o644)
    return folder


def built(
    folder: Path,
    dockerfile: str | None = None,
    files: Files | None = None,
    *,
    bases: Mapping[str, BaseImage] | None = None,
    **options: Any,
) -> BuiltImage:
    """Write the files and the Dockerfile, and build the image."""
    write_files(folder, files or {})
    if dockerfile is not None:
        (folder / "Dockerfile").write_text(dockerfile, encoding="utf-8")
        options["dockerfile"] = "Dockerfile"
    plan = plan_image(ImageSource(source=folder, **options))
    return build_image(plan, bases or {}, None, Path(tempfile.mkdtemp(dir=folder.parent)))


def refused(folder: Path, dockerfile: str, files: Files | None = None, **options: Any) -> tuple[Problem, ...]:
    """Return the problems of an image whose build must fail."""
    with pytest.raises(PackagingError) as caught:
        built(folder, dockerfile, files, **options)
    return caught.value.problems


def config_of(image: BuiltImage) -> dict[str, Any]:
    """Return the `config` section of an image's configuration."""
    settings: dict[str, Any] = json.loads(image.config)["config"]
    return settings


def members(image: BuiltImage) -> list[list[tarfile.TarInfo]]:
    """Return the entries of each new layer, in the order of the archive."""
    result = []
    for blob in image.blobs:
        if blob.path:
            with tarfile.open(blob.path) as archive:
                result.append(archive.getmembers())
    return result


def contents(image: BuiltImage) -> dict[str, str]:
    """Return the merged files of the new layers: the text of a file, `-> target` for a link."""
    result: dict[str, str] = {}
    for blob in image.blobs:
        if blob.path:
            with tarfile.open(blob.path) as archive:
                for member in archive:
                    if member.isfile():
                        stream = archive.extractfile(member)
                        assert stream is not None
                        result[member.name] = stream.read().decode("utf-8", "replace")
                    elif member.issym():
                        result[member.name] = f"-> {member.linkname}"
    return result


def entries(image: BuiltImage) -> dict[str, tarfile.TarInfo]:
    """Return the last entry of each path."""
    return {member.name: member for layer in members(image) for member in layer}


def tar_bytes(files: Mapping[str, bytes | tarfile.TarInfo], mode: str = "w:gz") -> bytes:
    """Return the bytes of an archive; a TarInfo is added as it is, without content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                archive.addfile(content)
            else:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def entry(kind: bytes, *, link: str = "", mode: int = 0o755, uid: int = 0) -> tarfile.TarInfo:
    """Return an entry without content for `tar_bytes`."""
    member = tarfile.TarInfo()
    member.type, member.linkname, member.mode, member.uid = kind, link, mode, uid
    return member


def base_image(
    *layers: bytes,
    settings: Mapping[str, Any] | None = None,
    document: Mapping[str, Any] | None = None,
    docker: bool = False,
    media_type: str | None = None,
    readable: bool = True,
    name: str = BASE_NAME,
) -> BaseImage:
    """Return a base image of these gzip layers, in the OCI or the Docker format."""
    family = "vnd.docker" if docker else "vnd.oci"
    layer_type = "application/vnd.docker.image.rootfs.diff.tar.gzip"
    layer_type = media_type or (layer_type if docker else "application/vnd.oci.image.layer.v1.tar+gzip")
    by_digest = {f"sha256:{hashlib.sha256(layer).hexdigest()}": layer for layer in layers}
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": dict(settings or {}),
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{'0' * 63}{i}" for i in range(len(layers))]},
            "history": [{"created_by": f"layer {i}"} for i in range(len(layers))],
            **(document or {}),
        }
    ).encode()
    manifest_type = (
        f"application/{family}.{'distribution.manifest.v2' if docker else 'image.manifest.v1'}+json"
    )
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": manifest_type,
            "config": {"digest": f"sha256:{hashlib.sha256(config).hexdigest()}", "size": len(config)},
            "layers": [
                {"mediaType": layer_type, "digest": digest, "size": len(layer)}
                for digest, layer in by_digest.items()
            ],
        }
    ).encode()

    def open_layer(digest: str) -> BinaryIO:
        return io.BytesIO(by_digest[digest])

    return BaseImage(
        name=name,
        digest=f"sha256:{hashlib.sha256(manifest).hexdigest()}",
        manifest=manifest,
        config=config,
        media_type=manifest_type,
        open_layer=open_layer if readable else None,
    )
