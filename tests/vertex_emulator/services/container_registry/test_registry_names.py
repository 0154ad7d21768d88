"""Repository names in requests, write access, and stand-ins for images that were never pushed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.emulated.registries.registry import OCI_CONFIG, OCI_MANIFEST, descriptor, manifest, sha256
from support.tables import every_row
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database, connect
from vertex_emulator.services.container_registry import names
from vertex_emulator.services.container_registry.authority import Authority
from vertex_emulator.services.container_registry.errors import RegistryError
from vertex_emulator.services.container_registry.names import ImageName, parse_image_name
from vertex_emulator.services.container_registry.registry import Registry, StandIn

DIGEST = sha256(b"x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("gcr.io/a/b", ImageName(repository="gcr.io/a/b"), id="neither"),
        pytest.param("gcr.io/a/b:v1", ImageName(repository="gcr.io/a/b", tag="v1"), id="tag"),
        pytest.param(f"gcr.io/a@{DIGEST}", ImageName(repository="gcr.io/a", digest=DIGEST), id="digest"),
        pytest.param(
            f"gcr.io/a:v1@{DIGEST}",
            ImageName(repository="gcr.io/a", tag="v1", digest=DIGEST),
            id="both",
        ),
        pytest.param("localhost/a", ImageName(repository="localhost/a"), id="this machine"),
    ],
)
def test_a_canonical_name(text: str, expected: ImageName) -> None:
    assert parse_image_name(text) == expected


@every_row(
    "text",
    [
        "",
        "python",
        "python:3.11",
        "a/b",
        "gcr.io",
        "gcr.io/",
        "gcr.io/A",
        "gcr.io/a:",
        "gcr.io/a@",
        "gcr.io/a@b:c",
        "localhost:5000/a",
        "gcr.io/a:b:c",
        "gcr.io/../a",
        "gcr.io/a b",
        "/gcr.io/a",
        "gcr.io/" + "a" * 250,
    ],
)
def test_an_invalid_canonical_name(text: str) -> None:
    with pytest.raises(RegistryError) as caught:
        parse_image_name(text)
    assert caught.value.status == 400


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        parsed = parse_image_name(text)
    except RegistryError as error:
        assert error.status == 400
    else:
        assert text.startswith(parsed.repository)


def places(*locations: str) -> Callable[[str, str], tuple[str, ...]]:
    return lambda project, repository: locations if (project, repository) == ("p", "r") else ()


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        pytest.param("gcr.io/p/r/a", "gcr.io/p/r/a", id="with its host"),
        pytest.param("p/r/a", "europe-west4-docker.pkg.dev/p/r/a", id="in short"),
        pytest.param("p/r/a/b", "europe-west4-docker.pkg.dev/p/r/a/b", id="in short, nested"),
    ],
)
def test_a_name_in_a_request(name: str, canonical: str) -> None:
    assert Authority(locations_of=places("europe-west4")).canonical(name) == canonical


@pytest.mark.parametrize(
    ("name", "locations", "status", "code"),
    [
        pytest.param("p/other/a", ["us"], 404, "NAME_UNKNOWN", id="no such repository"),
        pytest.param("p/r", ["us"], 404, "NAME_UNKNOWN", id="no image"),
        pytest.param("p/r/a", ["us", "europe"], 400, "NAME_INVALID", id="in several locations"),
        pytest.param("P/r/a", ["us"], 400, "NAME_INVALID", id="no name"),
    ],
)
def test_an_unknown_or_ambiguous_name(name: str, locations: list[str], status: int, code: str) -> None:
    with pytest.raises(RegistryError) as caught:
        Authority(locations_of=places(*locations)).canonical(name)
    assert (caught.value.status, caught.value.reason) == (status, code)


def test_several_locations_are_named() -> None:
    with pytest.raises(RegistryError, match=r"europe, us.*europe-docker\.pkg\.dev/p/r/a"):
        Authority(locations_of=places("us", "europe")).canonical("p/r/a")


# Stand-ins and the catalog itself


PYTHON = "docker.io/library/python"
CONTENT = manifest([descriptor(b"layer")], config=descriptor(b"{}", OCI_CONFIG))


def stand_in(repository: str, tag: str) -> StandIn | None:
    if (repository, tag) != (PYTHON, "3.11"):
        return None
    return StandIn(media_type=OCI_MANIFEST, manifest=CONTENT, blobs=(b"{}", b"layer"))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = connect(tmp_path / "state.sqlite3")
    yield database
    database.close()


@pytest.fixture
def registry(tmp_path: Path, database: Database) -> Registry:
    return Registry(tmp_path / "registry", database, Clock(), stand_in=stand_in)


def test_a_stand_in_replaces_an_image_that_was_not_pushed(registry: Registry) -> None:
    found = registry.resolve(f"{PYTHON}:3.11")
    assert found is not None
    assert (found.stand_in, found.tag, found.content) == (True, "3.11", CONTENT)


@pytest.mark.parametrize("content", [b"{}", b"layer"])
def test_the_blobs_of_a_stand_in_are_there(registry: Registry, content: bytes) -> None:
    registry.resolve(f"{PYTHON}:3.11")
    path = registry.blob_path(sha256(content))
    assert path is not None
    assert path.read_bytes() == content


def test_a_stand_in_by_its_digest(registry: Registry) -> None:
    registry.resolve(f"{PYTHON}:3.11")
    assert registry.resolve(f"{PYTHON}@{sha256(CONTENT)}") is not None


def test_a_stand_in_is_not_listed(registry: Registry) -> None:
    registry.resolve(f"{PYTHON}:3.11")
    assert registry.store.repositories() == []
    assert registry.store.tags(PYTHON) == []


def test_a_pushed_image_precedes_a_stand_in(registry: Registry) -> None:
    registry.resolve(f"{PYTHON}:3.11")
    registry.put_blob(PYTHON, b"{}")
    own = manifest()
    registry.put_manifest(PYTHON, "3.11", OCI_MANIFEST, own)
    found = registry.resolve(f"{PYTHON}:3.11")
    assert found is not None
    assert (found.stand_in, found.content) == (False, own)


def test_a_pushed_stand_in_becomes_an_image(registry: Registry) -> None:
    registry.resolve(f"{PYTHON}:3.11")
    registry.put_manifest(PYTHON, "mine", OCI_MANIFEST, CONTENT)
    assert registry.store.repositories() == [PYTHON]


def test_other_tags_have_no_stand_in(registry: Registry) -> None:
    assert registry.resolve(f"{PYTHON}:2.7") is None


def test_the_tag_defaults_to_latest(registry: Registry) -> None:
    registry.put_blob(PYTHON, b"{}")
    registry.put_manifest(PYTHON, "latest", OCI_MANIFEST, manifest())
    assert registry.resolve(PYTHON) is not None


def test_a_digest_precedes_a_tag(registry: Registry) -> None:
    registry.put_blob(PYTHON, b"{}")
    registry.put_manifest(PYTHON, "v1", OCI_MANIFEST, manifest())
    registry.put_manifest(PYTHON, "v1", OCI_MANIFEST, manifest(annotations={"a": "b"}))
    found = registry.resolve(f"{PYTHON}:v1@{sha256(manifest())}")
    assert found is not None
    assert found.content == manifest()


def test_moving_a_tag_can_be_rejected(registry: Registry) -> None:
    registry.put_blob(PYTHON, b"{}")
    registry.put_manifest(PYTHON, "v1", OCI_MANIFEST, manifest())

    def refuse(tag: str, digest: str) -> None:
        raise RegistryError(400, "TAG_INVALID", f"{tag} stays at {digest}")

    with pytest.raises(RegistryError, match=f"v1 stays at {sha256(manifest())}"):
        registry.put_manifest(PYTHON, "v1", OCI_MANIFEST, manifest(annotations={"a": "b"}), moving=refuse)
    assert registry.store.tagged(PYTHON, "v1") == sha256(manifest())


def test_the_same_image_may_be_pushed_to_an_immutable_tag(registry: Registry) -> None:
    registry.put_blob(PYTHON, b"{}")
    registry.put_manifest(PYTHON, "v1", OCI_MANIFEST, manifest())

    def refuse(tag: str, digest: str) -> None:
        raise AssertionError((tag, digest))

    registry.put_manifest(PYTHON, "v1", OCI_MANIFEST, manifest(), moving=refuse)


def test_a_repository_is_deleted_with_its_contents(registry: Registry) -> None:
    registry.put_blob(PYTHON, b"{}")
    registry.put_manifest(PYTHON, "v1", OCI_MANIFEST, manifest())
    registry.delete_repository(PYTHON)
    assert registry.store.repositories() == []
    assert registry.blob_size(PYTHON, sha256(b"{}")) is None


def test_digests_and_tags_are_distinguished() -> None:
    assert names.is_digest(DIGEST)
    assert not names.is_digest("v1")


def test_after_a_restart_unrecorded_files_are_gone(
    tmp_path: Path, database: Database, registry: Registry
) -> None:
    registry.files.write(sha256(b"unrecorded"), b"unrecorded")
    registry.files.new_upload()
    again = Registry(tmp_path / "registry", database, Clock())
    assert list(again.files.digests()) == []
    assert list(again.files.uploads()) == []


def test_after_a_restart_a_blob_without_its_file_is_not_there(
    tmp_path: Path, database: Database, registry: Registry
) -> None:
    digest = registry.put_blob(PYTHON, b"lost")
    registry.files.remove(digest)
    again = Registry(tmp_path / "registry", database, Clock())
    assert again.blob_size(PYTHON, digest) is None
