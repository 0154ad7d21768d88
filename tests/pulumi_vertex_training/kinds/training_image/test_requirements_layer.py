"""The layer of an image's requirements on a real emulator: built once, sent once, shared by images."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.descriptors import Descriptor, parts_of
from pulumi_vertex_training.cloud.container_registry.image_names import parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.images import ImageSource, plan_image
from pulumi_vertex_training.kinds.image_repository import gateway as artifact_registry
from pulumi_vertex_training.kinds.training_image.build import PushedImage, build_and_push
from pulumi_vertex_training.packaging.errors import PackagingError
from support.builds.wheels import locked, make_wheel

BASE = "python:3.11-slim"
OTHER_BASE = "gcr.io/deeplearning-platform-release/tf2-gpu.2-8"
WORDS = "".join(f"WORD_{number} = {number}\n" for number in range(2000))
Build = Callable[..., PushedImage]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of wheels, with a lock file beside it and a cache folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    wheel = make_wheel(tmp_path / "index", files={"tiny/__init__.py": WORDS})
    (tmp_path / "lock.txt").write_text(f"--no-index\n--find-links index\n{locked(wheel)}")
    return tmp_path / "index"


@pytest.fixture
def build(index: Path, endpoint: Endpoint) -> Build:
    """Return a function that builds and pushes an image, in a repository of the test."""
    repository = f"r{secrets.token_hex(8)}"
    name = f"projects/local/locations/us-central1/repositories/{repository}"
    artifact_registry.create(endpoint, name, {"format": "DOCKER"})

    def build_one(code: str, *, image: str = "one", base: str = BASE) -> PushedImage:
        source = index.parent / "source"
        source.mkdir(exist_ok=True)
        (source / "task.py").write_text(code)
        plan = plan_image(
            ImageSource(
                source=source, base_image=base, requirements=index.parent / "lock.txt", python_version="3.11"
            )
        )
        target = parse(f"us-central1-docker.pkg.dev/local/{repository}/{image}")
        return build_and_push(endpoint, plan, target, tell=lambda _: None)

    return build_one


def layers(endpoint: Endpoint, pushed: PushedImage) -> Sequence[Descriptor]:
    return parts_of(registry.manifest(endpoint, pushed.image).content).layers


def requirements(endpoint: Endpoint, pushed: PushedImage) -> Descriptor:
    """Return the layer of the requirements, the largest by far."""
    return max(layers(endpoint, pushed), key=lambda layer: layer.size)


def record(index: Path) -> Path:
    (found,) = (index.parent / "cache/vertex-training/requirements").glob("*.json")
    return found


def test_a_change_of_the_code_neither_builds_nor_sends_it_again(
    build: Build, index: Path, endpoint: Endpoint
) -> None:
    first = build("print(1)\n")
    shutil.rmtree(index)  # nothing can be fetched any more
    second = build("print(2)\n")
    assert first.image.digest != second.image.digest
    layer = requirements(endpoint, first)
    assert requirements(endpoint, second) == layer
    assert first.sent_bytes > layer.size > second.sent_bytes > 0
    assert first.size == second.size


def test_another_image_with_the_same_requirements_sends_no_layer(
    build: Build, index: Path, endpoint: Endpoint
) -> None:
    first = build("print(1)\n")
    shutil.rmtree(index)
    other = build("print(1)\n", image="other", base=OTHER_BASE)
    assert requirements(endpoint, other) == requirements(endpoint, first)
    config = parts_of(registry.manifest(endpoint, other.image).content).config
    others = [layer for layer in layers(endpoint, other) if layer != requirements(endpoint, other)]
    assert other.sent_bytes <= config.size + sum(layer.size for layer in others)


def test_what_no_repository_has_is_built_again_with_the_same_bytes(
    build: Build, index: Path, endpoint: Endpoint
) -> None:
    layer = requirements(endpoint, build("print(1)\n"))
    document = json.loads(record(index).read_text())
    for change in ({"digest": f"sha256:{'0' * 64}"}, {"repositories": "gone"}, {"more": 1}):
        record(index).write_text(json.dumps({**document, **change}))
        assert requirements(endpoint, build("print(2)\n", image="another")) == layer
    record(index).write_text("{")
    assert requirements(endpoint, build("print(3)\n")) == layer
    assert json.loads(record(index).read_text())["digest"] == layer.digest


def test_other_requirements_are_another_layer(build: Build, index: Path, endpoint: Endpoint) -> None:
    first = requirements(endpoint, build("print(1)\n"))
    wheel = make_wheel(index, version="2.0", files={"tiny/__init__.py": WORDS})
    (index.parent / "lock.txt").write_text(f"--no-index\n--find-links index\n{locked(wheel)}")
    assert requirements(endpoint, build("print(1)\n")) != first


def test_a_cache_folder_that_cannot_be_used_stops_nothing(
    build: Build, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = index.parent / "blocked"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    build("print(1)\n")
    shutil.rmtree(index)
    with pytest.raises((PackagingError, errors.CloudError)):
        build("print(2)\n")
