"""Images in the archive of an emulator's state."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.archives.members import edited
from support.emulated.emulator import Answer, ask, running
from support.emulated.registries.registry import (
    OCI_INDEX,
    OCI_MANIFEST,
    RegistryClient,
    descriptor,
    index,
    manifest,
    sha512,
)

NAME = "gcr.io/project/image"


@pytest.fixture
def source(tmp_path: Path) -> Iterator[RegistryClient]:
    with running(tmp_path / "source") as daemon:
        yield RegistryClient(daemon.url, daemon.token, NAME)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[RegistryClient]:
    with running(tmp_path / "target") as daemon:
        yield RegistryClient(daemon.url, daemon.token, NAME)


def exported(registry: RegistryClient) -> bytes:
    answer = ask(registry, "GET", "/_local/export")
    assert answer.status == 200
    return answer.body


def imported(registry: RegistryClient, archive: bytes) -> Answer:
    return ask(registry, "POST", "/_local/import", archive, headers={"Content-Type": "application/x-tar"})


def test_an_image_is_restored(source: RegistryClient, target: RegistryClient) -> None:
    digest = source.push_image("v1", b"the layer")
    source.push_image("v2", b"the layer")
    assert imported(target, exported(source)).json()["images"] == 1
    for tag in ("v1", "v2"):
        assert target.ask("GET", f"manifests/{tag}").headers["Docker-Content-Digest"] == digest
    assert target.ask("GET", f"blobs/{descriptor(b'the layer')['digest']}").body == b"the layer"


def test_an_index_is_restored(source: RegistryClient, target: RegistryClient) -> None:
    source.push_image("v1", b"the layer")
    content = index([descriptor(manifest([descriptor(b"the layer")]), OCI_MANIFEST)])
    source.put_manifest("all", content, OCI_INDEX)
    assert imported(target, exported(source)).json()["images"] == 2
    assert target.ask("GET", "manifests/all").body == content


def test_a_referrer_is_restored(source: RegistryClient, target: RegistryClient) -> None:
    subject = descriptor(b"subject", OCI_MANIFEST)
    source.push_image("v1", subject=subject, artifactType="a/b", annotations={"c": "d"})
    imported(target, exported(source))
    (found,) = target.ask("GET", f"referrers/{subject['digest']}").json()["manifests"]
    assert (found["artifactType"], found["annotations"]) == ("a/b", {"c": "d"})


def test_a_sha512_blob_is_restored(source: RegistryClient, target: RegistryClient) -> None:
    digest = source.push_blob(b"long", digest=sha512(b"long"))
    source.push_blob(b"{}")
    source.put_manifest("v1", manifest([descriptor(b"long", digest=digest)]))
    imported(target, exported(source))
    assert target.ask("GET", f"blobs/{digest}").body == b"long"


def changed(archive: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    """Return the archive with changed content of members with that prefix.

    `change` returns None to delete one.
    """
    found = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as old,
        tarfile.open(fileobj=found, mode="w", format=tarfile.GNU_FORMAT) as new,
    ):
        for info in old.getmembers():
            content: Any = old.extractfile(info).read()  # type: ignore[union-attr]
            if info.name.startswith(name):
                content = change(content)
            if content is not None:
                info.size = len(content)
                new.addfile(info, io.BytesIO(content))
    return found.getvalue()


@pytest.mark.parametrize(
    ("member", "change"),
    [
        pytest.param("blobs/", lambda content: content + b"x", id="damaged blobs"),
        pytest.param("blobs/", lambda content: None, id="no blobs"),
        *(
            pytest.param(
                "state.sqlite3", edited(f"UPDATE OR REPLACE {table} SET {column} = '{value}'"), id=value
            )
            for table, column, value in (
                ("registry_blobs", "digest", "sha256:../../x"),
                ("registry_manifests", "digest", "sha256:" + "0" * 64),
                ("registry_manifests", "repository", "../nowhere"),
                ("registry_manifests", "content", "text, no bytes"),
            )
        ),
    ],
)
def test_a_tampered_archive(
    source: RegistryClient,
    target: RegistryClient,
    tmp_path: Path,
    member: str,
    change: Callable[[bytes], bytes | None],
) -> None:
    source.push_image("v1", b"the layer")
    answer = imported(target, changed(exported(source), member, change))
    assert answer.status == 400
    assert list((tmp_path / "target" / "registry" / "uploads").iterdir()) == []
    assert target.ask("GET", "manifests/v1").status == 404


def test_a_reset_emulator_imports_its_own_archive(source: RegistryClient) -> None:
    source.push_image("v1", b"the layer")
    archive = exported(source)
    ask(source, "POST", "/_local/reset", {})
    assert imported(source, archive).status == 200
    assert source.ask("GET", "manifests/v1").status == 200


def test_an_imported_image_is_found_by_the_emulator(source: RegistryClient, tmp_path: Path) -> None:
    """Check that imported images are found by lookups within the emulator, too."""
    source.push_image("v1", b"the layer")
    with running(tmp_path / "target") as emulator:
        imported(RegistryClient(emulator.url, emulator.token, NAME), exported(source))
        found = emulator.registry.registry.resolve(f"{NAME}:v1")
    assert found is not None
    assert found.media_type == OCI_MANIFEST
