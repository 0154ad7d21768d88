"""HTTP calls of a registry, for tests that check each answer, and images to push."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from support.emulated.emulator import Answer, call

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"

_numbers = itertools.count(1)


def new_name(host: str = "docker.io") -> str:
    """Return a repository name that no other test uses."""
    return f"{host}/tests/image-{next(_numbers)}"


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def sha512(content: bytes) -> str:
    return f"sha512:{hashlib.sha512(content).hexdigest()}"


def descriptor(content: bytes, media_type: str = OCI_LAYER, *, digest: str | None = None) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest or sha256(content), "size": len(content)}


def manifest(
    layers: Sequence[Mapping[str, Any]] = (),
    *,
    config: Mapping[str, Any] | None = None,
    media_type: str = OCI_MANIFEST,
    **fields: Any,
) -> bytes:
    """Return the bytes of an image manifest; the default config is the blob b"{}"."""
    value = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": config or descriptor(b"{}", OCI_CONFIG),
        "layers": list(layers),
        **fields,
    }
    return json.dumps(value).encode()


def index(manifests: Sequence[Mapping[str, Any]], *, media_type: str = OCI_INDEX, **fields: Any) -> bytes:
    value = {"schemaVersion": 2, "mediaType": media_type, "manifests": list(manifests), **fields}
    return json.dumps(value).encode()


@dataclass(frozen=True)
class RegistryClient:
    """A repository of an emulator."""

    url: str
    token: str
    name: str

    def at(self, name: str) -> RegistryClient:
        return RegistryClient(self.url, self.token, name)

    def ask(self, method: str, path: str, *, body: bytes | None = None, **headers: str) -> Answer:
        """Send a request. `path` is below /v2/NAME, or a location. Header names have "_" for "-"."""
        where = path if path.startswith("/v2/") else f"/v2/{self.name}/{path}"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return call(self.url, method, where, body=body, token=self.token, headers=sent)

    def begin(self) -> str:
        """Begin an upload. Return its location."""
        answer = self.ask("POST", "blobs/uploads/")
        assert answer.status == 202, answer
        return answer.headers["Location"]

    def finish(self, location: str, digest: str, body: bytes | None = None, **headers: str) -> Answer:
        return self.ask("PUT", f"{location}?digest={quote(digest)}", body=body, **headers)

    def push_blob(self, content: bytes, *, digest: str | None = None) -> str:
        """Push a blob in two requests. Return its digest."""
        answer = self.finish(self.begin(), digest or sha256(content), content)
        assert answer.status == 201, answer
        return digest or sha256(content)

    def put_manifest(self, reference: str, content: bytes, media_type: str = OCI_MANIFEST) -> Answer:
        return self.ask("PUT", f"manifests/{reference}", body=content, Content_Type=media_type)

    def push_image(self, tag: str, layer: bytes = b"layer", **fields: Any) -> str:
        """Push an image of one layer. Return the digest of its manifest."""
        self.push_blob(b"{}")
        self.push_blob(layer)
        answer = self.put_manifest(tag, manifest([descriptor(layer)], **fields))
        assert answer.status == 201, answer
        return answer.headers["Docker-Content-Digest"]


def codes(answer: Answer) -> list[str]:
    """Return the codes of an error answer in the specification's form."""
    return [error["code"] for error in answer.json()["errors"]]
