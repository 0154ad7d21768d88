"""Deletion ("Content Management"), and garbage collection by the emulator's clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.emulated.emulator import ask, running
from support.emulated.registries.registry import (
    OCI_INDEX,
    OCI_MANIFEST,
    RegistryClient,
    codes,
    descriptor,
    index,
    manifest,
    new_name,
    sha256,
)
from vertex_emulator.daemon.daemon import Daemon

LAYER = b"a layer"


def test_a_tag_is_deleted_alone(registry: RegistryClient) -> None:
    digest = registry.push_image("v1")
    assert registry.ask("DELETE", "manifests/v1").status == 202
    assert registry.ask("GET", "manifests/v1").status == 404
    assert registry.ask("GET", f"manifests/{digest}").status == 200


@pytest.mark.parity("Artifact Registry: the registry of images")
def test_a_manifest_is_deleted_with_its_tags(registry: RegistryClient) -> None:
    digest = registry.push_image("v1")
    registry.push_image("v2")
    assert registry.ask("DELETE", f"manifests/{digest}").status == 202
    for reference in ("v1", "v2", digest):
        assert registry.ask("GET", f"manifests/{reference}").status == 404


def test_another_repository_keeps_its_own(registry: RegistryClient) -> None:
    other = registry.at(new_name())
    for each in (registry, other):
        digest = each.push_image("v1")
    registry.ask("DELETE", f"manifests/{digest}")
    assert other.ask("GET", "manifests/v1").status == 200


def test_a_blob_is_deleted(registry: RegistryClient) -> None:
    digest = registry.push_blob(LAYER)
    assert registry.ask("DELETE", f"blobs/{digest}").status == 202
    assert registry.ask("GET", f"blobs/{digest}").status == 404


def test_a_deleted_blob_can_be_pushed_again(registry: RegistryClient) -> None:
    digest = registry.push_blob(LAYER)
    registry.ask("DELETE", f"blobs/{digest}")
    registry.push_blob(LAYER)
    assert registry.ask("GET", f"blobs/{digest}").body == LAYER


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("manifests/nothing", "MANIFEST_UNKNOWN", id="tag"),
        pytest.param(f"manifests/{sha256(b'nothing')}", "MANIFEST_UNKNOWN", id="manifest"),
        pytest.param(f"blobs/{sha256(b'nothing')}", "BLOB_UNKNOWN", id="blob"),
    ],
)
def test_missing_content_cannot_be_deleted(registry: RegistryClient, path: str, code: str) -> None:
    answer = registry.ask("DELETE", path)
    assert (answer.status, codes(answer)) == (404, [code])


# Garbage


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Daemon]:
    """Yield an emulator with a frozen clock."""
    with running(tmp_path / "data") as daemon:
        control(daemon, "clock/freeze")
        yield daemon


def control(daemon: Daemon, path: str, **body: object) -> object:
    return ask(daemon, "POST", f"/_local/{path}", body).ok().json()


def repository(daemon: Daemon) -> RegistryClient:
    return RegistryClient(daemon.url, daemon.token, new_name())


def after(daemon: Daemon, seconds: float) -> object:
    """Advance the clock by that many seconds, collect garbage and return the numbers."""
    control(daemon, "clock/advance", seconds=seconds)
    return control(daemon, "registry/collect")


def files(daemon: Daemon) -> set[str]:
    return set(daemon.registry.registry.files.digests())


def test_an_unreferenced_blob_is_kept_for_an_hour(own: Daemon) -> None:
    digest = repository(own).push_blob(LAYER)
    assert after(own, 3599) == {"uploads": 0, "blobs": 0}
    assert files(own) == {digest}


def test_an_unreferenced_blob_is_deleted_after_an_hour(own: Daemon) -> None:
    registry = repository(own)
    digest = registry.push_blob(LAYER)
    assert after(own, 3601) == {"uploads": 0, "blobs": 1}
    assert files(own) == set()
    assert registry.ask("HEAD", f"blobs/{digest}").status == 404


def test_a_lookup_keeps_a_blob_for_another_hour(own: Daemon) -> None:
    registry = repository(own)
    digest = registry.push_blob(LAYER)
    control(own, "clock/advance", seconds=3000)
    registry.ask("HEAD", f"blobs/{digest}")
    assert after(own, 3000) == {"uploads": 0, "blobs": 0}


def test_a_mounted_blob_is_kept_for_an_hour(own: Daemon) -> None:
    registry = repository(own)
    digest = registry.push_blob(LAYER)
    control(own, "clock/advance", seconds=3000)
    other = registry.at(new_name())
    other.ask("POST", f"blobs/uploads/?mount={digest}&from={registry.name}")
    after(own, 3000)
    assert other.ask("GET", f"blobs/{digest}").body == LAYER


def test_a_referenced_blob_is_kept(own: Daemon) -> None:
    registry = repository(own)
    registry.push_image("v1", LAYER)
    after(own, 10**7)
    assert files(own) == {sha256(b"{}"), sha256(LAYER)}


def test_an_untagged_manifest_is_kept(own: Daemon) -> None:
    registry = repository(own)
    digest = registry.push_image("v1", LAYER)
    registry.ask("DELETE", "manifests/v1")
    after(own, 10**7)
    assert registry.ask("GET", f"manifests/{digest}").status == 200


def test_the_blobs_of_a_deleted_manifest_are_deleted(own: Daemon) -> None:
    registry = repository(own)
    digest = registry.push_image("v1", LAYER)
    registry.ask("DELETE", f"manifests/{digest}")
    assert after(own, 3601) == {"uploads": 0, "blobs": 2}


def test_a_blob_of_another_manifest_is_kept(own: Daemon) -> None:
    registry = repository(own)
    digest = registry.push_image("v1", LAYER)
    registry.push_image("v2", b"another layer")
    registry.ask("DELETE", f"manifests/{digest}")
    after(own, 3601)
    assert files(own) == {sha256(b"{}"), sha256(b"another layer")}


def test_a_blob_of_another_repository_is_kept(own: Daemon) -> None:
    registry, other = repository(own), repository(own)
    digest = registry.push_image("v1", LAYER)
    other.push_image("v1", LAYER)
    registry.ask("DELETE", f"manifests/{digest}")
    assert after(own, 3601) == {"uploads": 0, "blobs": 0}
    assert other.ask("GET", f"blobs/{sha256(LAYER)}").body == LAYER
    assert registry.ask("GET", f"blobs/{sha256(LAYER)}").status == 404


def test_images_of_an_index_are_kept(own: Daemon) -> None:
    registry = repository(own)
    image = registry.push_image("v1", LAYER)
    content = manifest([descriptor(LAYER)])
    registry.put_manifest("all", index([descriptor(content, OCI_MANIFEST)]), OCI_INDEX)
    registry.ask("DELETE", "manifests/v1")
    after(own, 10**7)
    assert registry.ask("GET", f"manifests/{image}").body == content


def test_nothing_is_deleted_from_a_repository_with_an_active_upload(own: Daemon) -> None:
    registry = repository(own)
    digest = registry.push_blob(LAYER)
    control(own, "clock/advance", seconds=3601)
    registry.begin()
    control(own, "registry/collect")
    assert registry.ask("HEAD", f"blobs/{digest}").status == 200


@pytest.mark.parametrize(("days", "left"), [(6.9, 1), (7.1, 0)])
def test_an_abandoned_upload_is_deleted_after_a_week(own: Daemon, days: float, left: int) -> None:
    registry = repository(own)
    location = registry.begin()
    registry.ask("PATCH", location, body=LAYER)
    assert after(own, days * 24 * 3600) == {"uploads": 1 - left, "blobs": 0}
    assert len(list(own.registry.registry.files.uploads())) == left
    assert registry.ask("GET", location).status == (204 if left else 404)


def test_a_reset_leaves_nothing(own: Daemon) -> None:
    registry = repository(own)
    registry.push_image("v1", LAYER)
    location = registry.begin()
    control(own, "reset")
    assert files(own) == set()
    assert list(own.registry.registry.files.uploads()) == []
    assert registry.ask("GET", "manifests/v1").status == 404
    assert registry.ask("PATCH", location, body=LAYER).status == 404
