"""Repositories and images made by the engine's real provider process on an emulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.image_repository import gateway as artifact_registry
from pulumi_vertex_training.kinds.image_repository.spec import from_wire
from pulumi_vertex_training.providers import ImageRepositoryProvider, TrainingImageProvider
from support.client.plugin import PluginProcess
from support.client.registries.pushed_images import push_small_image

REPOSITORY, IMAGE = ImageRepositoryProvider(), TrainingImageProvider()
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
MARKS = {"project": "p", "stack": "s", "resource": "r"}
KMS_KEY = "projects/local/locations/us-central1/keyRings/r/cryptoKeys/k"
KEY = "0123456789abcdef-01234567"
NAMES = {f"pulumi-{name}": value for name, value in MARKS.items()}
LABELS = {**NAMES, "vertex-training-key": KEY}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("program")
    (made / "trainer").mkdir()
    (made / "trainer" / "task.py").write_text("print(1)\n")
    return made


@pytest.fixture(scope="module")
def plugin(folder: Path, data_dir: Path) -> Iterator[PluginProcess]:
    with PluginProcess(folder, config={"vertex-training:dataDir": str(data_dir)}) as process:
        yield process


@pytest.fixture(scope="module")
def images(plugin: PluginProcess) -> str:
    """Return the URL of a repository for the tests of images."""
    _, made = create(plugin, REPOSITORY, {"repository_id": "images", **PLACE})
    return str(made["url"])


def create(plugin: PluginProcess, provider: Any, declared: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    inputs, failures = plugin.check(provider, declared)
    assert failures == {}
    return plugin.create(provider, inputs)


def full_name(name: str) -> str:
    return f"projects/local/locations/us-central1/repositories/{name}"


def made_before(endpoint: Endpoint, name: str, labels: dict[str, str]) -> None:
    """Create a repository that no state has."""
    artifact_registry.create(endpoint, full_name(name), {"format": "DOCKER", "labels": labels})


def refusal(caught: pytest.ExceptionInfo[grpc.RpcError]) -> str:
    return str(caught.value.details())  # type: ignore[attr-defined]


def test_a_repository_of_an_interrupted_deployment_is_adopted(
    plugin: PluginProcess, endpoint: Endpoint
) -> None:
    made_before(endpoint, "begun", LABELS)
    mine = {"repository_id": "begun", "description": "mine", "marks": MARKS, "__key": KEY, **PLACE}
    id_, _ = create(plugin, REPOSITORY, mine)
    assert id_ == full_name("begun")
    record = artifact_registry.get(endpoint, id_)
    assert (record.labels, from_wire(record.wire).description) == (LABELS, "mine")


def test_one_that_cannot_be_made_the_declared_one_is_created_again(
    plugin: PluginProcess, endpoint: Endpoint
) -> None:
    made = {"format": "DOCKER", "labels": LABELS, "kmsKeyName": KMS_KEY}
    artifact_registry.create(endpoint, full_name("encrypted"), made)
    mine = {"repository_id": "encrypted", "marks": MARKS, "__key": KEY, **PLACE}
    id_, _ = create(plugin, REPOSITORY, mine)
    record = artifact_registry.get(endpoint, id_)
    assert (record.labels, record.wire.get("kmsKeyName")) == (LABELS, None)


@pytest.mark.parametrize(
    ("name", "labels", "pushed"),
    [
        pytest.param("somebody", {}, False, id="somebody else's"),
        pytest.param("namesake", NAMES, False, id="that of a stack with the same names"),
        pytest.param("another", {**LABELS, "vertex-training-key": "f-1"}, False, id="another stack's"),
        pytest.param("filled", LABELS, True, id="one that holds images"),
    ],
)
def test_an_existing_repository_is_refused(
    plugin: PluginProcess, endpoint: Endpoint, name: str, labels: dict[str, str], pushed: bool
) -> None:
    made_before(endpoint, name, labels)
    address = f"us-central1-docker.pkg.dev/local/{name}"
    if pushed:
        push_small_image(endpoint, f"{address}/digits:1", b"1")
    with pytest.raises(grpc.RpcError) as caught:
        create(plugin, REPOSITORY, {"repository_id": name, "marks": MARKS, "__key": KEY, **PLACE})
    said = refusal(caught)
    assert said.startswith(f"Failure: repository {name} already exists in project local, us-central1.")
    assert f'repository="{address}"' in said


def test_a_repository_with_images_is_deleted_only_with_force_destroy(
    plugin: PluginProcess, endpoint: Endpoint, tmp_path: Path, data_dir: Path
) -> None:
    id_, made = create(plugin, REPOSITORY, {"repository_id": "holding", **PLACE})
    for name in "abcde":
        push_small_image(endpoint, f"{made['url']}/{name}:1", b"1")
    with PluginProcess(tmp_path, config={"vertex-training:dataDir": str(data_dir)}) as later:
        with pytest.raises(grpc.RpcError) as caught:
            later.delete(REPOSITORY, id_, made)
        assert f"repository {id_} has images: a, b, c and 2 more." in refusal(caught)
        assert "run `pulumi up --target '**:ImageRepository::" in refusal(caught)
        later.delete(REPOSITORY, id_, {**made, "force_destroy": True})
        assert later.read(REPOSITORY, id_, made)[0] == ""


def test_deleting_a_missing_repository_succeeds(plugin: PluginProcess, endpoint: Endpoint) -> None:
    id_, made = create(plugin, REPOSITORY, {"repository_id": "gone", **PLACE})
    artifact_registry.delete(endpoint, id_)
    plugin.delete(REPOSITORY, id_, made)


def test_reading_an_unchanged_repository_is_no_change(plugin: PluginProcess) -> None:
    policy = {"id": "a", "action": "DELETE", "condition": {"older_than": "1d"}}
    id_, made = create(
        plugin, REPOSITORY, {"repository_id": "same", "cleanup_policies": [policy], "marks": MARKS, **PLACE}
    )
    _, _, inputs = plugin.read(REPOSITORY, id_, made)
    assert plugin.diff(REPOSITORY, inputs, made) == (False, [])


def declared(images: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "repository": images,
        "name": name,
        "source": "trainer",
        "base_image": "python:3.11-slim",
        **PLACE,
        **more,
    }


def test_an_existing_image_is_not_uploaded(plugin: PluginProcess, images: str) -> None:
    first, made = create(plugin, IMAGE, declared(images, "twice"))
    second, again = create(plugin, IMAGE, declared(images, "twice"))
    assert first == second
    assert (made["sent_bytes"] > 0, again["sent_bytes"]) == (True, 0)


def test_a_layer_of_another_image_is_not_uploaded(plugin: PluginProcess, images: str) -> None:
    _, made = create(plugin, IMAGE, declared(images, "once"))
    _, again = create(plugin, IMAGE, declared(images, "once", env={"A": "1"}))
    assert 0 < again["sent_bytes"] < made["sent_bytes"], "the configuration alone"


def test_the_outputs_of_an_image(plugin: PluginProcess, images: str, endpoint: Endpoint) -> None:
    id_, made = create(plugin, IMAGE, declared(images, "facts", tags=["v1", "v2"]))
    assert made["uri"] == id_ == f"{images}/facts@{made['digest']}"
    assert registry.tags(endpoint, parse(id_)) == ("v1", "v2")
    base = "docker.io/library/python:3.11-slim"
    assert made["base_digests"] == {base: registry.digest_at(endpoint, parse(base))}


def test_an_image_that_this_deployment_made_is_not_deleted(
    plugin: PluginProcess, images: str, endpoint: Endpoint
) -> None:
    """Keep the image: the replacement of a resource with the same content has the same id."""
    id_, made = create(plugin, IMAGE, declared(images, "replaced", on_delete="delete"))
    plugin.delete(IMAGE, id_, made)
    assert registry.find_manifest(endpoint, parse(id_)) is not None


def test_an_image_of_an_earlier_deployment_is_deleted_with_on_delete(
    plugin: PluginProcess, images: str, endpoint: Endpoint, folder: Path, data_dir: Path
) -> None:
    id_, made = create(plugin, IMAGE, declared(images, "earlier", on_delete="delete"))
    with PluginProcess(folder, config={"vertex-training:dataDir": str(data_dir)}) as later:
        later.delete(IMAGE, id_, made)
        assert registry.find_manifest(endpoint, parse(id_)) is None
        assert later.read(IMAGE, id_, made)[0] == ""
        later.delete(IMAGE, id_, made)


def test_a_folder_that_changes_during_the_deployment(
    plugin: PluginProcess, images: str, folder: Path
) -> None:
    source = folder / "changing"
    source.mkdir()
    (source / "task.py").write_text("print(1)\n")
    inputs, _ = plugin.check(IMAGE, declared(images, "changing", source="changing"))
    (source / "task.py").write_text("print(2)\n")
    with pytest.raises(grpc.RpcError) as caught:
        plugin.create(IMAGE, inputs)
    assert "changing changed during the deployment" in refusal(caught)


def test_a_missing_base_image(plugin: PluginProcess, images: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        create(plugin, IMAGE, declared(images, "baseless", base_image="gcr.io/p/nothing:1"))
    said = refusal(caught)
    assert said.startswith("Failure: the base image gcr.io/p/nothing:1 of trainer does not exist.")
    assert "Push any other image to the emulator's registry first" in said


def test_a_missing_repository(plugin: PluginProcess) -> None:
    nowhere = "us-central1-docker.pkg.dev/local/nowhere"
    with pytest.raises(grpc.RpcError) as caught:
        create(plugin, IMAGE, declared(nowhere, "digits"))
    assert f"Create the repository {nowhere} first." in refusal(caught)


def test_an_immutable_tag_cannot_move(plugin: PluginProcess) -> None:
    _, made = create(
        plugin, REPOSITORY, {"repository_id": "immutable", "docker_config": {"immutable_tags": True}, **PLACE}
    )
    create(plugin, IMAGE, declared(made["url"], "digits"))
    with pytest.raises(grpc.RpcError) as caught:
        create(plugin, IMAGE, declared(made["url"], "digits", env={"A": "1"}))
    assert "If the repository has immutable tags, use new tags for each image" in refusal(caught)
