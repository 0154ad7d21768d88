"""Artifact Registry: a repository, and an image of a few hundred bytes."""

from __future__ import annotations

import hashlib
import json

from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.client import Manifest
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.cloud.container_registry.push import BlobUpload
from pulumi_vertex_training.cloud.errors import CloudError
from scripts.verify_google.cases.case import Case
from scripts.verify_google.comparison import Allowed
from scripts.verify_google.recorder import CaseError, Recorder

_ALLOWED = (
    Allowed(step="*", path="error.details*", reason="the details of errors have more parts on Google Cloud"),
    Allowed(step="*", path="*satisfiesPz?", reason="reserved for internal use of the service"),
    Allowed(step="*", path="*vulnerabilityScanningConfig*", reason="the emulator scans nothing"),
)


def _repository(at: Recorder) -> None:
    identifier = at.names.bucket
    name = f"{at.endpoint.parent}/repositories/{identifier}"
    body = {"format": "DOCKER", "labels": at.names.labels, "description": "verify-google"}
    created = at.create(
        "repositories",
        at.artifacts("repositories"),
        body,
        step="create",
        name=name,
        query={"repositoryId": identifier},
    )
    at.operation(created)
    at.call("GET", at.artifacts(name), step="get")
    at.call(
        "PATCH", at.artifacts(name), {"description": "x"}, query={"updateMask": "description"}, step="patch"
    )
    wrong = at.call(
        "POST", at.artifacts("repositories"), body, query={"repositoryId": "UPPER"}, step="create, bad id"
    )
    if wrong.is_success:
        raise CaseError("a repository with a bad id was created")
    _push(at, identifier)
    package = f"{name}/packages/image"
    at.call("GET", at.artifacts(f"{name}/dockerImages"), step="images")
    at.call("GET", at.artifacts(package), step="package")
    at.call("GET", at.artifacts(f"{package}/versions"), step="versions")
    at.call("GET", at.artifacts(f"{package}/tags"), step="tags")
    at.call("GET", at.artifacts(f"{package}/tags/missing"), step="missing tag")
    deleted = at.call("DELETE", at.artifacts(name), step="delete")
    at.operation(deleted)
    at.call("GET", at.artifacts(name), step="get after delete")


def _push(at: Recorder, repository: str) -> None:
    """Push an image of one empty layer, tagged v1."""
    layer = b"\0" * 1024  # an empty tar archive
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]}}
    ).encode()
    parts = [BlobUpload(digest=_digest(each), size=len(each), content=each) for each in (layer, config)]
    media = ("application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.config.v1+json")
    described = [
        {"mediaType": kind, "digest": part.digest, "size": part.size}
        for kind, part in zip(media, parts, strict=True)
    ]
    kind = "application/vnd.oci.image.manifest.v1+json"
    content = json.dumps(
        {"schemaVersion": 2, "mediaType": kind, "config": described[1], "layers": described[:1]}
    ).encode()
    image = parse(f"{at.names.location}-docker.pkg.dev/{at.endpoint.project}/{repository}/image:v1")
    manifest = Manifest(digest=_digest(content), media_type=kind, content=content)
    try:
        registry_push.push(at.endpoint, image, manifest, parts)
        registry_push.tag(at.endpoint, image, manifest)
    except CloudError as error:
        raise CaseError(at.sanitiser.text(f"the image was not pushed: {error}")) from error


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


CASES = (
    Case(
        name="repository",
        about="a repository, an image in it, its versions and tags",
        rows=(
            "Artifact Registry: repositories, packages, versions, tags",
            "Artifact Registry: the registry of images",
        ),
        steps=_repository,
        stores=True,
        allowed=_ALLOWED,
    ),
)
