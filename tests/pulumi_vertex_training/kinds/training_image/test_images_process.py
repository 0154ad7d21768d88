"""The providers of repositories and images in the engine's real provider process, without an emulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pulumi.output import Unknown

from pulumi_vertex_training.providers import ImageRepositoryProvider, TrainingImageProvider
from support.client.plugin import UNKNOWN, PluginProcess

REPOSITORY, IMAGE = ImageRepositoryProvider(), TrainingImageProvider()
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
ADDRESS = "us-central1-docker.pkg.dev/local/trainers"


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[PluginProcess]:
    data_dir = tmp_path / "emulator"
    with PluginProcess(tmp_path, config={"vertex-training:dataDir": str(data_dir)}) as process:
        yield process
    assert not data_dir.exists(), "neither a check nor a diff starts the emulator"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "trainer"
    source.mkdir()
    (source / "task.py").write_text("print(1)\n")
    return source


def repository(**more: Any) -> dict[str, Any]:
    return {"repository_id": "trainers", **PLACE, **more}


def image(**more: Any) -> dict[str, Any]:
    declared = {"repository": ADDRESS, "name": "digits", "source": "trainer", "base_image": "python:3.11"}
    given = {**declared, **PLACE, **more}
    return {name: value for name, value in given.items() if value is not None}


def checked(plugin: PluginProcess, declared: dict[str, Any]) -> dict[str, Any]:
    inputs, failures = plugin.check(IMAGE, declared)
    assert failures == {}
    return inputs


@pytest.mark.parametrize(
    ("change", "replaces"),
    [
        ({"labels": {"a": "b"}}, []),
        ({"description": "d"}, []),
        ({"docker_config": {"immutable_tags": True}}, []),
        ({"cleanup_policies": [{"id": "a", "action": "DELETE", "condition": {"older_than": "1d"}}]}, []),
        ({"force_destroy": True}, []),
        ({"repository_id": "others"}, ["repository_id"]),
        ({"location": "europe-west4"}, ["location"]),
        ({"kms_key_name": KEY}, ["kms_key_name"]),
        ({"project": "other"}, ["project"]),
    ],
    ids=lambda value: ",".join(value) or "in place",
)
def test_a_change_of_a_repository(plugin: PluginProcess, change: dict[str, Any], replaces: list[str]) -> None:
    old, _ = plugin.check(REPOSITORY, repository())
    new, _ = plugin.check(REPOSITORY, repository(**change))
    assert plugin.diff(REPOSITORY, old, new) == (True, replaces)


@pytest.mark.parametrize(
    "spelling",
    [
        {"format": "docker"},
        {"mode": "STANDARD"},
        {"location": "US-CENTRAL1"},
        {"labels": {}},
        {"marks": {"project": "p", "stack": "s", "resource": "r"}},
    ],
    ids=lambda value: ",".join(value),
)
def test_equal_spellings_of_a_repository(plugin: PluginProcess, spelling: dict[str, Any]) -> None:
    old, _ = plugin.check(REPOSITORY, repository())
    new, _ = plugin.check(REPOSITORY, repository(**spelling))
    assert plugin.diff(REPOSITORY, old, new) == (False, [])


def test_a_repository_with_an_unknown_location(plugin: PluginProcess) -> None:
    inputs, failures = plugin.check(REPOSITORY, repository(location=UNKNOWN))
    assert failures == {}
    assert isinstance(inputs["url"], Unknown)
    assert isinstance(inputs["registry_host"], Unknown)


def test_outputs_of_an_image_in_a_preview(plugin: PluginProcess, folder: Path) -> None:
    inputs = checked(plugin, image(tags=["v1", "latest"]))
    assert inputs["tag_uris"] == [f"{ADDRESS}/digits:latest", f"{ADDRESS}/digits:v1"]
    assert inputs["base_images"] == ["docker.io/library/python:3.11"]
    assert len(inputs["content_hash"]) == 64


def test_check_is_idempotent(plugin: PluginProcess, folder: Path) -> None:
    once = checked(plugin, image())
    again, _ = plugin.check(IMAGE, once, once)
    assert again == once


def test_the_path_does_not_change_the_image(plugin: PluginProcess, folder: Path) -> None:
    old = checked(plugin, image())
    folder.rename(folder.parent / "elsewhere")
    new = checked(plugin, image(source="elsewhere"))
    assert plugin.diff(IMAGE, old, new) == (False, [])


def test_an_excluded_file_does_not_change_the_image(plugin: PluginProcess, folder: Path) -> None:
    old = checked(plugin, image())
    (folder / "notes.txt").write_text("not for the image")
    new = checked(plugin, image(exclude=["notes.txt"]))
    assert plugin.diff(IMAGE, old, new) == (False, [])


@pytest.mark.parametrize(
    ("change", "replaces"),
    [
        pytest.param({"tags": ["v1"]}, [], id="tags"),
        pytest.param({"on_delete": "delete"}, [], id="on_delete"),
        pytest.param({"builder": "docker"}, [], id="builder"),
        pytest.param({"name": "other"}, ["name"], id="name"),
        pytest.param({"repository": "gcr.io/p"}, ["repository"], id="repository"),
        pytest.param({"env": {"A": "1"}}, ["content_hash", "env"], id="env"),
        pytest.param({"command": ["python3"]}, ["content_hash", "command"], id="command"),
        pytest.param(
            {"base_image": "python:3.12"}, ["base_images", "content_hash", "base_image"], id="base_image"
        ),
    ],
)
def test_a_change_of_an_image(
    plugin: PluginProcess, folder: Path, change: dict[str, Any], replaces: list[str]
) -> None:
    old, new = checked(plugin, image()), checked(plugin, image(**change))
    assert plugin.diff(IMAGE, old, new) == (True, replaces)


def test_other_content_replaces_the_image(plugin: PluginProcess, folder: Path) -> None:
    old = checked(plugin, image())
    (folder / "task.py").write_text("print(2)\n")
    new = checked(plugin, image())
    assert plugin.diff(IMAGE, old, new) == (True, ["content_hash"])
    assert (
        "image digits: its content changed. The image is built again, and jobs that use it run"
        in plugin.stop()
    )


def test_the_content_hash_is_known_without_the_repository(plugin: PluginProcess, folder: Path) -> None:
    inputs = checked(plugin, image(repository=UNKNOWN))
    assert len(inputs["content_hash"]) == 64
    assert isinstance(inputs["tag_uris"], Unknown)


def test_unknown_content_is_not_checked(plugin: PluginProcess) -> None:
    inputs = checked(plugin, image(source="nowhere", env={"A": UNKNOWN}))
    assert isinstance(inputs["content_hash"], Unknown)


def test_every_mistake_is_found_at_once(plugin: PluginProcess, folder: Path) -> None:
    (folder / "Dockerfile").write_text("FROM python:3.11\nCPOY task.py .\n")
    _, failures = plugin.check(IMAGE, image(base_image=None, name="Digits", tags=["v 1"], colour="red"))
    assert set(failures) == {"Dockerfile:2", "name", "tags[0]", "colour"}


def test_a_missing_folder(plugin: PluginProcess) -> None:
    _, failures = plugin.check(IMAGE, image(source="nowhere"))
    assert "nowhere does not exist" in failures["source"]


def test_the_preview_finds_a_missing_container_tool(plugin: PluginProcess, folder: Path) -> None:
    (folder / "Dockerfile").write_text("FROM python:3.11\nRUN pip install numpy\n")
    _, failures = plugin.check(IMAGE, image(base_image=None, builder="cloud_build", build_bucket="b"))
    assert "Cloud Build runs only on Google Cloud" in failures["builder"]


@pytest.fixture
def podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make podman the only container tool of provider processes that start afterwards."""
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "podman"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))
    return tool


def test_the_preview_shows_the_builder(podman: Path, tmp_path: Path, folder: Path) -> None:
    (folder / "Dockerfile").write_text("FROM python:3.11\nRUN pip install numpy\n")
    process = PluginProcess(tmp_path)
    there = checked(process, image(base_image=None, builder="podman"))
    assert process.stop().splitlines() == [
        f"image digits: Dockerfile:2: a RUN, so podman on this machine ({podman}) builds the image, and "
        "pulls docker.io/library/python:3.11 from the real registry, not from the emulator"
    ]
    process = PluginProcess(tmp_path)
    process.check(IMAGE, image(base_image=None, builder="podman"), there)
    assert process.stop() == "", "it is built already"


def test_a_dockerfile_in_the_folder_is_used(plugin: PluginProcess, folder: Path) -> None:
    (folder / "Dockerfile").write_text("FROM gcr.io/p/base:1\nCOPY task.py .\n")
    assert checked(plugin, image(base_image=None))["base_images"] == ["gcr.io/p/base:1"]


def test_an_existing_image_needs_no_tool(plugin: PluginProcess, folder: Path) -> None:
    """Check an image that another machine built; this one has no tool, and nothing to build."""
    (folder / "Dockerfile").write_text("FROM python:3.11\nRUN true\n")
    declared = image(base_image=None, builder="cloud_build", build_bucket="b", endpoint="google")
    there = checked(plugin, declared)
    here = {**declared, "endpoint": "emulator"}
    _, failures = plugin.check(IMAGE, here)
    assert list(failures) == ["builder"]
    _, failures = plugin.check(IMAGE, here, there)
    assert failures == {}


def test_an_image_on_google_is_checked_the_same_way(plugin: PluginProcess, folder: Path) -> None:
    local, google = checked(plugin, image()), checked(plugin, image(endpoint="google"))
    assert {name for name in local if local[name] != google[name]} == {"endpoint"}
