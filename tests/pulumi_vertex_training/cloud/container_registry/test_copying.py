"""Copies of images by digest: between repositories of the emulator, and between two registries."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import copying
from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.client import Manifest, digest_of
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.image_repository import gateway as artifact_registry
from pulumi_vertex_training.kinds.image_repository.spec import RepositorySpec, full_name, to_wire
from support.client.registries.pushed_images import OCI, small_image
from support.emulated.registries.registry import OCI_INDEX, index
from support.registries.oci_registry import SmallRegistry

HOST = "us-central1-docker.pkg.dev/local"


def pushed(endpoint: Endpoint, name: ImageName, text: bytes, **fields: object) -> Manifest:
    """Push a small image under its digest, with further fields of its manifest."""
    made, parts = small_image(text)
    content = json.dumps({**json.loads(made.content), **fields}).encode()
    manifest = Manifest(digest=digest_of(content), media_type=OCI, content=content)
    registry_push.push(endpoint, name, manifest, parts)
    return manifest


def repository(endpoint: Endpoint, name: str) -> ImageName:
    """Create a repository of the emulator. Return the name of an image there."""
    spec = RepositorySpec(repository_id=name, location="us-central1")
    artifact_registry.create(endpoint, full_name("local", "us-central1", name), to_wire(spec))
    return parse(f"{HOST}/{name}/digits")


def descriptor(one: Manifest) -> dict[str, object]:
    return {"mediaType": one.media_type, "digest": one.digest, "size": len(one.content)}


def test_an_index_is_copied_with_its_images_and_everything_attached(emulator: Endpoint) -> None:
    source, target = repository(emulator, "copied-from"), repository(emulator, "copied-to")
    images = [pushed(emulator, source, text) for text in (b"amd64", b"arm64")]
    content = index([descriptor(one) for one in images])
    whole = Manifest(digest=digest_of(content), media_type=OCI_INDEX, content=content)
    registry.put_manifest(emulator, source.at(whole.digest), whole)
    signature = pushed(emulator, source, b"signature", subject=descriptor(whole))
    of_signature = pushed(emulator, source, b"signature of the signature", subject=descriptor(signature))
    by_tag = pushed(emulator, source, b"cosign")
    tag = f"{images[0].digest.replace(':', '-')}.sig"
    registry.put_manifest(emulator, source.at(tag), by_tag)

    tree = copying.read(emulator, source.at(whole.digest))
    lacking = copying.missing(emulator, tree, target)
    copied = copying.copy(emulator, tree, target)

    assert (lacking.manifests, lacking.sent_bytes, lacking.is_sent) == (6, 0, False)
    assert copied.image == target.at(whole.digest)
    assert (copied.sent_bytes, copied.was_there) == (0, False)
    assert copied.mounted == lacking.blobs
    for one in (whole, *images, signature, of_signature, by_tag):
        assert registry.manifest(emulator, target.at(one.digest)) == one
    assert registry.digest_at(emulator, target.at(tag)) == by_tag.digest
    assert copying.read(emulator, target.at(whole.digest)).manifests == tree.manifests
    again = copying.copy(emulator, tree, target)
    assert (again.was_there, again.mounted) == (True, 0)
    assert copying.missing(emulator, tree, target) == copying.Missing()


def test_what_was_attached_after_the_copy_is_copied_by_the_next(emulator: Endpoint) -> None:
    source, target = repository(emulator, "later-from"), repository(emulator, "later-to")
    image = pushed(emulator, source, b"image")
    copying.copy(emulator, copying.read(emulator, source.at(image.digest)), target)
    attached = pushed(emulator, source, b"sbom", subject=descriptor(image))
    copied = copying.copy(emulator, copying.read(emulator, source.at(image.digest)), target)
    assert not copied.was_there
    assert registry.digest_at(emulator, target.at(attached.digest)) == attached.digest


def test_an_image_that_does_not_exist_and_a_repository_that_does_not(emulator: Endpoint) -> None:
    source = repository(emulator, "only-from")
    image = pushed(emulator, source, b"image")
    with pytest.raises(errors.NotFound):
        copying.read(emulator, source.at(f"sha256:{'0' * 64}"))
    tree = copying.read(emulator, source.at(image.digest))
    with pytest.raises(errors.NotFound, match=f"Create the repository {HOST}/nowhere first"):
        copying.copy(emulator, tree, parse(f"{HOST}/nowhere/digits"))


@pytest.fixture
def registries() -> Iterator[tuple[SmallRegistry, SmallRegistry]]:
    made = SmallRegistry(), SmallRegistry()
    yield made
    for one in made:
        one.close()


def test_between_two_registries_only_missing_blobs_are_sent(
    registries: tuple[SmallRegistry, SmallRegistry],
) -> None:
    here, there = registries
    endpoint = Endpoint(kind="google", project="p", location=f"at-{here.host}", token="token")
    source, target = parse(f"{here.host}/p/digits"), parse(f"{there.host}/p/digits")
    image = pushed(endpoint, source, b"image")
    tree = copying.read(endpoint, source.at(image.digest))
    layer, config = tree.blobs_by_manifest[image.digest]
    there.blobs[target.path, layer.digest] = here.blobs[source.path, layer.digest]

    lacking = copying.missing(endpoint, tree, target)
    copied = copying.copy(endpoint, tree, target)

    assert (lacking.blobs, lacking.sent_bytes, lacking.is_sent) == (1, config.size, True)
    assert copied.sent_bytes == config.size == there.received
    assert there.manifests[target.path, image.digest][1] == image.content


def test_an_interrupted_copy_is_continued_without_what_was_sent(
    registries: tuple[SmallRegistry, SmallRegistry],
) -> None:
    here, there = registries
    endpoint = Endpoint(kind="google", project="p", location=f"at-{here.host}", token="token")
    source, target = parse(f"{here.host}/p/digits"), parse(f"{there.host}/p/digits")
    image = pushed(endpoint, source, b"image")
    tree = copying.read(endpoint, source.at(image.digest))
    there.behaviour.status["PUT"] = [403]
    with pytest.raises(errors.PermissionDenied):
        copying.copy(endpoint, tree, target)
    assert (target.path, image.digest) not in there.manifests
    sent = sum(map(len, there.blobs.values()))
    copied = copying.copy(endpoint, tree, target)
    assert copied.sent_bytes == tree.size - sent
    assert there.manifests[target.path, image.digest][1] == image.content


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"manifests": [{"digest": "sha256:short"}]}', "a digest of its list is not sha256"),
        (b'{"manifests": 3}', "no list of manifests"),
        (b"[]", "the index is not a JSON object"),
    ],
)
def test_a_damaged_index_is_refused(
    registries: tuple[SmallRegistry, SmallRegistry], content: bytes, words: str
) -> None:
    here, _ = registries
    endpoint = Endpoint(kind="google", project="p", location=f"at-{here.host}", token="token")
    source = parse(f"{here.host}/p/digits")
    here.manifests[source.path, "latest"] = (OCI_INDEX, content)
    with pytest.raises(errors.UnexpectedAnswer, match=words):
        copying.read(endpoint, source.at("latest"))
