"""buildah against the emulator's registry: images built from a Dockerfile, pushed, pulled, built upon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import ask
from support.emulated.registries.registry import DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST, RegistryClient
from vertex_emulator.daemon.daemon import Daemon

PLAIN = "--tls-verify=false"


@pytest.fixture
def ref(registry: RegistryClient, host: str) -> str:
    return f"{host}/{registry.name}"


@pytest.fixture
def build(buildah: Any, policy: Path, tmp_path: Path) -> Any:
    """Builds an image of a Dockerfile that begins with `base` and adds a file."""

    def run(name: str, base: str = "scratch", content: str = "trainer") -> None:
        folder = tmp_path / content
        folder.mkdir()
        (folder / "task.py").write_text(content)
        (folder / "Dockerfile").write_text(f"FROM {base}\nCOPY task.py /{content}.py\nLABEL name={content}\n")
        buildah.run("bud", "--isolation=chroot", PLAIN, "--signature-policy", policy, "-t", name, folder)

    return run


@pytest.fixture
def pushed(build: Any, buildah: Any, policy: Path, ref: str) -> str:
    build("localhost/first")
    buildah.run("push", PLAIN, "--signature-policy", policy, "localhost/first", f"docker://{ref}:v1")
    return f"{ref}:v1"


@pytest.mark.usefixtures("pushed")
def test_push(registry: RegistryClient) -> None:
    content = registry.ask("GET", "manifests/v1").json()
    config = registry.ask("GET", f"blobs/{content['config']['digest']}").json()
    assert config["config"]["Labels"]["name"] == "trainer"


@pytest.mark.parametrize(("form", "media_type"), [("oci", OCI_MANIFEST), ("docker", DOCKER_MANIFEST)])
def test_push_in_either_form(
    build: Any, buildah: Any, policy: Path, ref: str, registry: RegistryClient, form: str, media_type: str
) -> None:
    build("localhost/first")
    options = (PLAIN, "--signature-policy", policy, "--format", form)
    buildah.run("push", *options, "localhost/first", f"docker://{ref}:v1")
    assert registry.ask("GET", "manifests/v1").headers["Content-Type"] == media_type


def test_pull(buildah: Any, policy: Path, pushed: str) -> None:
    buildah.run("rmi", "--all", "--force")
    buildah.run("pull", PLAIN, "--signature-policy", policy, f"docker://{pushed}")
    assert pushed in buildah.run("images", "--format", "{{.Name}}:{{.Tag}}")


def test_from(buildah: Any, policy: Path, pushed: str) -> None:
    buildah.run("rmi", "--all", "--force")
    container = buildah.run("from", PLAIN, "--signature-policy", policy, pushed).strip()
    assert json.loads(buildah.run("inspect", container))["OCIv1"]["config"]["Labels"]["name"] == "trainer"


def test_build_upon_an_image_of_the_registry(
    build: Any, buildah: Any, policy: Path, pushed: str, ref: str, registry: RegistryClient
) -> None:
    buildah.run("rmi", "--all", "--force")
    build("localhost/second", base=pushed, content="second")
    buildah.run("push", PLAIN, "--signature-policy", policy, "localhost/second", f"docker://{ref}:v2")
    first, second = (registry.ask("GET", f"manifests/{tag}").json()["layers"] for tag in ("v1", "v2"))
    assert second[:-1] == first


def test_the_layers_of_the_base_are_not_sent(
    build: Any, buildah: Any, policy: Path, pushed: str, ref: str, emulator: Daemon
) -> None:
    build("localhost/second", base=pushed, content="second")
    ask(emulator, "DELETE", "/_local/requests")
    buildah.run("push", PLAIN, "--signature-policy", policy, "localhost/second", f"docker://{ref}:v2")
    requests = ask(emulator, "GET", "/_local/requests").json()["requests"]
    finished = [each for each in requests if each["call"] == "registry.uploads.finish"]
    assert len(finished) == 2  # the layer and the config


def test_push_of_an_index(build: Any, buildah: Any, policy: Path, ref: str, registry: RegistryClient) -> None:
    build("localhost/first")
    buildah.run("manifest", "create", "localhost/list")
    buildah.run("manifest", "add", "localhost/list", "localhost/first")
    options = (PLAIN, "--signature-policy", policy, "--all", "--format", "oci")
    buildah.run("manifest", "push", *options, "localhost/list", f"docker://{ref}:all")
    answer = registry.ask("GET", "manifests/all")
    assert answer.headers["Content-Type"] == OCI_INDEX
    image = answer.json()["manifests"][0]["digest"]
    assert registry.ask("GET", f"manifests/{image}").status == 200
