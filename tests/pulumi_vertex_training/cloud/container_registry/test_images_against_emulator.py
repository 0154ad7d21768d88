"""Repositories and images against a real emulator: the client and the server share no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.descriptors import Descriptor, parts_of
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.container_registry.push import BlobUpload
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.image_repository import gateway as artifact_registry
from pulumi_vertex_training.kinds.image_repository.spec import (
    CleanupCondition,
    CleanupPolicy,
    DockerConfig,
    RepositorySpec,
    VulnerabilityScanningConfig,
    from_wire,
    full_name,
    patch,
    settings,
    to_wire,
)
from support.client.registries.pushed_images import layer_of, small_image


def spec(name: str, **more: Any) -> RepositorySpec:
    return RepositorySpec(repository_id=name, location="us-central1", **more)


def name_of(repository: RepositorySpec) -> str:
    return full_name("local", repository.location, repository.repository_id)


def made(endpoint: Endpoint, repository: RepositorySpec) -> ImageName:
    artifact_registry.create(endpoint, name_of(repository), to_wire(repository))
    return parse(f"us-central1-docker.pkg.dev/local/{repository.repository_id}/digits")


EVERYTHING = spec(
    "everything",
    description="what we train with",
    labels={"team": "a"},
    docker_config=DockerConfig(immutable_tags=True),
    cleanup_policy_dry_run=True,
    vulnerability_scanning_config=VulnerabilityScanningConfig(enablement_config="DISABLED"),
    cleanup_policies=(
        CleanupPolicy(
            id="old", action="DELETE", condition=CleanupCondition(tag_state="UNTAGGED", older_than="2592000s")
        ),
    ),
)


def test_every_setting_of_a_repository_comes_back(emulator: Endpoint) -> None:
    made(emulator, EVERYTHING)
    assert from_wire(artifact_registry.get(emulator, name_of(EVERYTHING)).wire) == EVERYTHING


def test_a_repository_without_settings_has_none(emulator: Endpoint) -> None:
    made(emulator, spec("plain"))
    assert from_wire(artifact_registry.get(emulator, name_of(spec("plain"))).wire) == spec("plain")


def test_every_setting_is_taken_away_in_place(emulator: Endpoint) -> None:
    there = spec(
        "emptied", **{k: v for k, v in vars(EVERYTHING).items() if k not in ("repository_id", "location")}
    )
    made(emulator, there)
    record = artifact_registry.patch(emulator, name_of(there), patch(there, spec("emptied")))
    assert from_wire(record.wire) == spec("emptied")


def test_all_settings_can_be_sent_at_once(emulator: Endpoint) -> None:
    made(emulator, spec("filled"))
    artifact_registry.patch(emulator, name_of(spec("filled")), settings(EVERYTHING))
    filled = from_wire(artifact_registry.get(emulator, name_of(spec("filled"))).wire)
    assert settings(filled) == settings(EVERYTHING)


def test_a_repository_exists_once(emulator: Endpoint) -> None:
    made(emulator, spec("twice"))
    with pytest.raises(errors.AlreadyExists):
        made(emulator, spec("twice"))


def test_a_repository_that_is_gone(emulator: Endpoint) -> None:
    made(emulator, spec("gone"))
    artifact_registry.delete(emulator, name_of(spec("gone")))
    with pytest.raises(errors.NotFound):
        artifact_registry.get(emulator, name_of(spec("gone")))


def test_an_image_goes_up_and_comes_back(emulator: Endpoint, tmp_path: Path) -> None:
    name = made(emulator, spec("pushed"))
    text = b"a layer" * 100_000
    manifest, parts = small_image(text)
    assert registry_push.push(emulator, name, manifest, parts).sent_bytes == sum(p.size for p in parts)
    assert registry.manifest(emulator, name.at(manifest.digest)) == manifest
    layer = Descriptor(digest=parts[0].digest, size=parts[0].size)
    registry.download_blob(emulator, name, layer, tmp_path / "layer")
    assert (tmp_path / "layer").read_bytes() == layer_of(text)
    assert artifact_registry.packages(emulator, name_of(spec("pushed"))) == ("digits",)


def test_an_image_that_is_there_is_not_sent(emulator: Endpoint) -> None:
    name = made(emulator, spec("unchanged"))
    manifest, parts = small_image(b"a layer of it")
    registry_push.push(emulator, name, manifest, parts)
    assert registry_push.push(emulator, name, manifest, parts).sent_bytes == 0


def test_a_layer_is_mounted_from_another_host(emulator: Endpoint) -> None:
    name = made(emulator, spec("mounted"))
    manifest, parts = small_image(b"a layer that another image has")
    base = parse("gcr.io/bases/python")
    registry_push.push(emulator, base, manifest, parts)
    mounted = [BlobUpload(digest=part.digest, size=part.size, source=base.repository) for part in parts]
    pushed = registry_push.push(emulator, name, manifest, mounted)
    assert (pushed.sent_bytes, set(pushed.mounted)) == (0, {part.digest for part in parts})


def test_tags(emulator: Endpoint) -> None:
    name = made(emulator, spec("tagged"))
    manifest, parts = small_image(b"tagged")
    registry_push.push(emulator, name, manifest, parts)
    for tag in ("v1", "latest"):
        assert registry_push.tag(emulator, name.at(tag), manifest)
    assert registry.tags(emulator, name) == ("latest", "v1")
    assert registry.delete(emulator, name.at("v1"))
    assert registry.tags(emulator, name) == ("latest",)


def test_a_tag_that_cannot_move(emulator: Endpoint) -> None:
    name = made(emulator, spec("immutable", docker_config=DockerConfig(immutable_tags=True)))
    for content in (b"1", b"2"):
        registry_push.push(emulator, name, *small_image(content))
    registry_push.tag(emulator, name.at("v1"), small_image(b"1")[0])
    with pytest.raises(errors.CloudError, match="v1"):
        registry_push.tag(emulator, name.at("v1"), small_image(b"2")[0])


def test_a_deleted_image_is_not_found(emulator: Endpoint) -> None:
    name = made(emulator, spec("deleted"))
    manifest, parts = small_image(b"deleted")
    registry_push.push(emulator, name, manifest, parts)
    assert registry.delete(emulator, name.at(manifest.digest))
    assert registry.find_manifest(emulator, name.at(manifest.digest)) is None


def test_a_push_to_no_repository_says_what_to_do(emulator: Endpoint) -> None:
    name = parse("us-central1-docker.pkg.dev/local/nowhere/digits")
    with pytest.raises(errors.NotFound, match="nowhere"):
        registry_push.push(emulator, name, *small_image(b"nowhere"))


def test_a_base_image_of_python_is_there(emulator: Endpoint) -> None:
    name = parse("python:3.11-slim")
    found = registry.manifest(emulator, name)
    config = parts_of(found.content).config
    labels = json.loads(registry.read_blob(emulator, name, config))["config"]["Labels"]
    assert "org.vertex-training.stand-in" in labels


def test_a_layer_of_a_stand_in_is_mounted(emulator: Endpoint) -> None:
    name = made(emulator, spec("on-a-stand-in"))
    base = parse("python:3.11-slim")
    found = registry.manifest(emulator, base)
    blobs = [*json.loads(found.content)["layers"], json.loads(found.content)["config"]]
    parts = [BlobUpload(digest=b["digest"], size=b["size"], source=base.repository) for b in blobs]
    assert registry_push.push(emulator, name, found, parts).sent_bytes == 0
