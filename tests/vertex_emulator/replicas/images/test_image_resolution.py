"""Resolution of image names: canonical names, indexes, platforms, damaged images."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.registries import images
from support.emulated.registries.images import INDEX, REPOSITORY, digest, push, tar
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import connect
from vertex_emulator.replicas.images import resolution
from vertex_emulator.replicas.images.image import ImageError
from vertex_emulator.replicas.images.resolution import look_up
from vertex_emulator.replicas.images.stand_ins import stand_in
from vertex_emulator.services.container_registry.registry import Registry

DIGEST = "sha256:" + "ab" * 32
OTHER = "s390x"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    (tmp_path / "registry").mkdir()
    database = connect(tmp_path / "state.sqlite3")
    yield Registry(tmp_path / "registry", database, Clock(), stand_in=stand_in)
    database.close()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3.11", "docker.io/library/python:3.11"),
        ("me/trainer:1", "docker.io/me/trainer:1"),
        ("docker.io/library/python:3.11", "docker.io/library/python:3.11"),
        ("gcr.io/p/i", "gcr.io/p/i:latest"),
        ("us-central1-docker.pkg.dev/p/r/i:v1.0", "us-central1-docker.pkg.dev/p/r/i:v1.0"),
        (f"gcr.io/p/i@{DIGEST}", f"gcr.io/p/i@{DIGEST}"),
        (f"gcr.io/p/i:1@{DIGEST}", f"gcr.io/p/i:1@{DIGEST}"),
        ("localhost:5000/i", "localhost:5000/i:latest"),
        ("localhost/i", "localhost/i:latest"),
    ],
)
def test_canonical_names(text: str, canonical: str) -> None:
    assert str(resolution.parse(text)) == canonical


@pytest.mark.parametrize(
    "text", ["", ":1", "a//b", "A/b", "a b", "gcr.io/", "a:", "a@sha256:1", "a/../b", "a\n"]
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"not the name|has the tag|has the digest"):
        resolution.parse(text)


def index(registry: Registry, *architectures: str, **config: Any) -> str:
    """Push an index of images, each with its architecture."""
    listed = []
    for architecture in architectures:
        push(registry, tar({"a": architecture}), architecture=architecture, Cmd=[architecture], **config)
        found = registry.manifest(REPOSITORY, "1")
        assert found is not None
        listed.append(
            {
                "mediaType": found.media_type,
                "digest": found.digest,
                "size": len(found.content),
                "platform": {"os": "linux", "architecture": architecture},
            }
        )
    content = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": listed}).encode()
    registry.put_manifest(REPOSITORY, "all", INDEX, content)
    return f"{REPOSITORY}:all"


def test_of_an_index_the_image_of_this_machine_is_taken(registry: Registry) -> None:
    found = look_up(registry, index(registry, OTHER, images.ARCHITECTURE, stand_in=None))
    assert (found.command, found.architecture, found.root) == ((images.ARCHITECTURE,), "", "own")


def test_an_index_without_this_machine_is_refused(registry: Registry) -> None:
    with pytest.raises(ImageError, match=f"has no image for linux/.*it has linux/mips, linux/{OTHER}"):
        look_up(registry, index(registry, OTHER, "mips", stand_in=None))


def test_one_on_a_stand_in_is_taken_whatever_it_is_for(registry: Registry) -> None:
    found = look_up(registry, index(registry, OTHER))
    assert (found.root, found.architecture) == ("host", OTHER)


def test_the_digest_is_kept(registry: Registry) -> None:
    name = push(registry, tar({"a": "1"}), Cmd=["x"])
    stored = registry.resolve(name)
    assert stored is not None
    assert look_up(registry, name).name == f"{name}@{stored.digest}"


def test_empty_layers_are_left_out(registry: Registry) -> None:
    found = look_up(registry, push(registry, bytes(1024), tar({"a": "1"}), Cmd=["x"]))
    assert [layer.diff_id for layer in found.layers] == [digest(tar({"a": "1"}))]


def test_a_stand_in_has_nothing_of_its_own(registry: Registry) -> None:
    found = look_up(registry, "python:3.11")
    assert (found.root, found.stand_in, found.layers) == ("host", "docker.io/library/python:3.11", ())


def test_a_pushed_image_wins_over_the_stand_in(registry: Registry) -> None:
    push(registry, tar({"a": "1"}), repository="docker.io/library/python", tag="3.11", stand_in=None)
    assert look_up(registry, "python:3.11").root == "own"


def test_a_digest_that_a_pushed_image_has_not_is_not_replaced(registry: Registry) -> None:
    push(registry, tar({"a": "1"}), repository="docker.io/library/python", tag="3.11", stand_in=None)
    with pytest.raises(ImageError, match="the emulator has no image"):
        look_up(registry, f"python:3.11@{DIGEST}")


def manifest(registry: Registry, **fields: Any) -> str:
    """Push an image and replace fields of its manifest."""
    name = push(registry, tar({"a": "1"}), Cmd=["x"])
    stored = registry.resolve(name)
    assert stored is not None
    document = {**json.loads(stored.content), **fields}
    registry.put_manifest(REPOSITORY, "1", images.MANIFEST, json.dumps(document).encode())
    return name


def test_fewer_layers_than_the_configuration_says(registry: Registry) -> None:
    with pytest.raises(ImageError, match="its manifest has 0 layers, its configuration 1"):
        look_up(registry, manifest(registry, layers=[]))


def test_layers_that_are_no_file_system(registry: Registry) -> None:
    stored = registry.resolve(push(registry, tar({"a": "1"})))
    assert stored is not None
    [layer] = json.loads(stored.content)["layers"]
    with pytest.raises(ImageError, match="which is not a file system"):
        look_up(registry, manifest(registry, layers=[{**layer, "mediaType": "text/plain"}]))


def test_an_artifact_that_is_no_image(registry: Registry) -> None:
    stored = registry.resolve(push(registry, tar({"a": "1"})))
    assert stored is not None
    config = json.loads(stored.content)["config"]
    with pytest.raises(ImageError, match="is not a container image"):
        look_up(registry, manifest(registry, config={**config, "mediaType": "application/vnd.helm.v1+json"}))


def test_a_configuration_that_is_no_json(registry: Registry) -> None:
    blob = b"no json"
    registry.put_blob(REPOSITORY, blob)
    config = {
        "mediaType": "application/vnd.oci.image.config.v1+json",
        "digest": digest(blob),
        "size": len(blob),
    }
    with pytest.raises(ImageError, match="is not a JSON document"):
        look_up(registry, manifest(registry, config=config))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("WorkingDir", "/a\0b", id="NUL in the working directory"),
        pytest.param("WorkingDir", ["/a"], id="a list of working directories"),
        pytest.param("User", "root\0", id="NUL in the user"),
        pytest.param("Env", ["A=\ud800"], id="half of a surrogate pair"),
    ],
)
def test_a_configuration_that_no_program_could_be_started_with(
    registry: Registry, field: str, value: Any
) -> None:
    with pytest.raises(ImageError, match=r"is not a string|is not a JSON document"):
        look_up(registry, push(registry, tar({"a": "1"}), **{field: value}))
