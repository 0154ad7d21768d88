"""Artifact Registry of an emulator: Google's client, and images pushed the way docker pushes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.emulated.emulator import Answer, ask, call
from support.emulated.job_emulator import Token
from vertex_emulator.daemon.daemon import Daemon

PROJECT = "local"
PARENT = f"projects/{PROJECT}/locations/us-central1"
HOST = "us-central1-docker.pkg.dev"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CREATED = "2026-01-02T03:04:05.678901234Z"


@dataclass(frozen=True)
class Pushed:
    """A pushed image: its repository HOST/PATH, its digest, and the sizes of its parts in bytes."""

    repository: str
    digest: str
    manifest: bytes
    config_size: int = 0
    layer_size: int = 0


def client(daemon: Daemon) -> Any:
    """Return Google's client over REST."""
    from google.cloud import artifactregistry_v1
    from google.cloud.artifactregistry_v1.services.artifact_registry.transports.rest import (
        ArtifactRegistryRestTransport,
    )

    transport = ArtifactRegistryRestTransport(
        host=daemon.url.removeprefix("http://"), url_scheme="http", credentials=Token(daemon.token)
    )
    transport._session.trust_env = False
    return artifactregistry_v1.ArtifactRegistryClient(transport=transport)


def refused(daemon: Daemon, method: str, path: str, body: Any = None) -> tuple[int, str, str]:
    """Return the HTTP status, canonical code and message of a call that fails."""
    answer = ask(daemon, method, path, body)
    error = answer.json()["error"]
    assert error["code"] == answer.status >= 400
    return answer.status, error["status"], error["message"]


def create(daemon: Daemon, name: str, *, parent: str = PARENT, **fields: Any) -> dict[str, Any]:
    """Create a repository. Return its JSON."""
    body = {"format": "DOCKER", **fields}
    answer = ask(daemon, "POST", f"/v1/{parent}/repositories?repositoryId={name}", body)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()["response"]
    del found["@type"]
    return found


def push(
    daemon: Daemon, image: str, *tags: str, layer: bytes = b"layer", config: Mapping[str, Any] | None = None
) -> Pushed:
    """Push an image to HOST/PATH under the tags, or without tags under its digest."""
    text = json.dumps({"created": CREATED, "architecture": "amd64", "os": "linux", **(config or {})}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _descriptor(text, "application/vnd.oci.image.config.v1+json"),
        "layers": [_descriptor(layer, "application/vnd.oci.image.layer.v1.tar")],
    }
    for blob in (text, layer):
        answer = push_blob(daemon, image, blob)
        assert answer.status == 201, answer.body
    content = json.dumps(manifest).encode()
    for reference in tags or (digest_of(content),):
        answer = push_manifest(daemon, image, reference, content)
        assert answer.status == 201, answer.body
    return Pushed(image, digest_of(content), content, len(text), len(layer))


def push_index(daemon: Daemon, image: str, *tags: str, images: Sequence[Pushed]) -> Pushed:
    """Push an index of images that were pushed before."""
    entries = [
        {**_descriptor(each.manifest, MANIFEST), "platform": {"architecture": "amd64", "os": "linux"}}
        for each in images
    ]
    content = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()
    for reference in tags or (digest_of(content),):
        answer = push_manifest(daemon, image, reference, content, media_type=INDEX)
        assert answer.status == 201, answer.body
    return Pushed(image, digest_of(content), content)


def push_blob(daemon: Daemon, image: str, content: bytes) -> Answer:
    path = f"/v2/{image}/blobs/uploads/?digest={digest_of(content)}"
    return _send(daemon, "POST", path, content, "application/octet-stream")


def push_manifest(
    daemon: Daemon, image: str, reference: str, content: bytes, *, media_type: str = MANIFEST
) -> Answer:
    return _send(daemon, "PUT", f"/v2/{image}/manifests/{reference}", content, media_type)


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _send(daemon: Daemon, method: str, path: str, content: bytes, media_type: str) -> Answer:
    headers = {"Content-Type": media_type}
    return call(daemon.url, method, path, body=content, token=daemon.token, headers=headers)


def _descriptor(content: bytes, media_type: str) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}
