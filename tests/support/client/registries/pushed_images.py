"""Small valid images to push, for tests that need an existing one."""

from __future__ import annotations

import io
import json
import tarfile

from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.client import Manifest, digest_of
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.container_registry.push import BlobUpload
from pulumi_vertex_training.cloud.endpoint import Endpoint

OCI = "application/vnd.oci.image.manifest.v1+json"


def layer_of(text: bytes) -> bytes:
    """Return a layer with one file."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("content")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return stream.getvalue()


def small_image(text: bytes) -> tuple[Manifest, list[BlobUpload]]:
    """Return an image of one layer with one file of this text."""
    layer = layer_of(text)
    rootfs = {"type": "layers", "diff_ids": [digest_of(layer)]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).encode()
    parts = [BlobUpload(digest=digest_of(one), size=len(one), content=one) for one in (layer, config)]
    described = [{"digest": part.digest, "size": part.size} for part in parts]
    content = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": OCI,
            "layers": [{**described[0], "mediaType": "application/vnd.oci.image.layer.v1.tar"}],
            "config": {**described[1], "mediaType": "application/vnd.oci.image.config.v1+json"},
        }
    ).encode()
    return Manifest(digest=digest_of(content), media_type=OCI, content=content), parts


def push_small_image(endpoint: Endpoint, name: str, text: bytes) -> ImageName:
    """Push a small image under a name with a tag. Return its name with the digest."""
    image = parse(name)
    manifest, parts = small_image(text)
    registry_push.push(endpoint, image, manifest, parts)
    registry_push.tag(endpoint, image, manifest)
    return image.at(manifest.digest)
