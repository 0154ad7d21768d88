"""skopeo against the emulator's registry."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import ask
from support.emulated.registries.registry import (
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_LAYER,
    OCI_MANIFEST,
    RegistryClient,
    descriptor,
    index,
    manifest,
    new_name,
)
from vertex_emulator.daemon.daemon import Daemon

PLAIN = "--tls-verify=false"
SOURCE, TARGET = "--src-tls-verify=false", "--dest-tls-verify=false"
CONFIG = json.dumps(
    {"architecture": "amd64", "os": "linux", "config": {"Labels": {"a": "b"}}, "rootfs": {"type": "layers"}}
).encode()


def push(registry: RegistryClient, tag: str, layer: bytes = b"layer") -> str:
    """Push an image that skopeo accepts. It is compressed, or else skopeo would compress it."""
    compressed = gzip.compress(layer, mtime=0)
    registry.push_blob(CONFIG)
    registry.push_blob(compressed)
    config = descriptor(CONFIG, "application/vnd.oci.image.config.v1+json")
    answer = registry.put_manifest(
        tag, manifest([descriptor(compressed, f"{OCI_LAYER}+gzip")], config=config)
    )
    return answer.headers["Docker-Content-Digest"]


@pytest.fixture
def ref(registry: RegistryClient, host: str) -> str:
    return f"docker://{host}/{registry.name}"


@pytest.mark.parity(
    "Artifact Registry: programs", own_way="unchanged, with the emulator's address before the name"
)
def test_inspect(skopeo: Any, registry: RegistryClient, ref: str) -> None:
    digest = push(registry, "v1")
    found = json.loads(skopeo.run("inspect", PLAIN, f"{ref}:v1"))
    assert (found["Digest"], found["RepoTags"], found["Labels"]) == (digest, ["v1"], {"a": "b"})


def test_inspect_by_digest(skopeo: Any, registry: RegistryClient, ref: str) -> None:
    digest = push(registry, "v1")
    assert json.loads(skopeo.run("inspect", "--raw", PLAIN, f"{ref}@{digest}"))["mediaType"] == OCI_MANIFEST


@pytest.mark.parametrize("host_name", ["127.0.0.1", "localhost"])
def test_copy_to_a_folder(
    skopeo: Any, registry: RegistryClient, ref: str, tmp_path: Path, host_name: str
) -> None:
    push(registry, "v1", b"the layer")
    skopeo.run("copy", SOURCE, f"{ref}:v1".replace("127.0.0.1", host_name), f"dir:{tmp_path / 'copy'}")
    assert gzip.compress(b"the layer", mtime=0) in [
        path.read_bytes() for path in (tmp_path / "copy").iterdir()
    ]


@pytest.mark.parametrize(
    ("form", "media_type"), [("oci", OCI_MANIFEST), ("v2s2", DOCKER_MANIFEST)], ids=["oci", "docker"]
)
def test_copy_from_a_folder(
    skopeo: Any, registry: RegistryClient, ref: str, tmp_path: Path, form: str, media_type: str
) -> None:
    push(registry, "v1")
    skopeo.run("copy", SOURCE, f"{ref}:v1", f"dir:{tmp_path / 'copy'}")
    other = new_name()
    target = ref.replace(registry.name, other)
    skopeo.run("copy", TARGET, "--format", form, f"dir:{tmp_path / 'copy'}", f"{target}:v2")
    assert registry.at(other).ask("GET", "manifests/v2").headers["Content-Type"] == media_type


def test_copy_within_the_registry_keeps_the_digest(skopeo: Any, registry: RegistryClient, ref: str) -> None:
    digest, other = push(registry, "v1"), new_name("gcr.io")
    skopeo.run("copy", SOURCE, TARGET, f"{ref}:v1", f"{ref.replace(registry.name, other)}:v2")
    assert registry.at(other).ask("HEAD", "manifests/v2").headers["Docker-Content-Digest"] == digest


def test_what_is_there_is_not_sent_again(
    skopeo: Any, registry: RegistryClient, ref: str, tmp_path: Path, emulator: Daemon
) -> None:
    push(registry, "v1")
    skopeo.run("copy", SOURCE, f"{ref}:v1", f"dir:{tmp_path / 'copy'}")
    ask(emulator, "DELETE", "/_local/requests")
    skopeo.run("copy", TARGET, f"dir:{tmp_path / 'copy'}", f"{ref}:v1")
    requests = ask(emulator, "GET", "/_local/requests").json()["requests"]
    assert [each for each in requests if each["method"] in ("POST", "PATCH")] == []


def test_copy_of_all_images_of_an_index(
    skopeo: Any, registry: RegistryClient, ref: str, tmp_path: Path
) -> None:
    digest = push(registry, "v1")
    content = registry.ask("GET", "manifests/v1").body
    listed = {**descriptor(content, OCI_MANIFEST), "platform": {"architecture": "amd64", "os": "linux"}}
    registry.put_manifest("all", index([listed]), OCI_INDEX)
    other = new_name()
    skopeo.run("copy", "--all", SOURCE, TARGET, f"{ref}:all", f"{ref.replace(registry.name, other)}:all")
    assert registry.at(other).ask("GET", "manifests/all").body == index([listed])
    assert registry.at(other).ask("HEAD", f"manifests/{digest}").status == 200


def test_list_tags(skopeo: Any, registry: RegistryClient, ref: str) -> None:
    for tag in ("v1", "v2"):
        push(registry, tag)
    assert json.loads(skopeo.run("list-tags", PLAIN, ref))["Tags"] == ["v1", "v2"]


def test_delete(skopeo: Any, registry: RegistryClient, ref: str) -> None:
    push(registry, "v1")
    skopeo.run("delete", PLAIN, f"{ref}:v1")
    assert registry.ask("GET", "manifests/v1").status == 404


def test_sync(skopeo: Any, registry: RegistryClient, host: str) -> None:
    digests = {tag: push(registry, tag, tag.encode()) for tag in ("v1", "v2")}
    skopeo.run(
        "sync",
        SOURCE,
        TARGET,
        "--src=docker",
        "--dest=docker",
        f"{host}/{registry.name}",
        f"{host}/gcr.io/synced",
    )
    other = registry.at(f"gcr.io/synced/{registry.name.rsplit('/', 1)[1]}")
    for tag, digest in digests.items():
        assert other.ask("HEAD", f"manifests/{tag}").headers["Docker-Content-Digest"] == digest


def test_missing_content_is_reported(skopeo: Any, ref: str) -> None:
    assert "manifest unknown" in skopeo.run("inspect", PLAIN, f"{ref}:nothing", fails=True).lower()


@pytest.mark.parametrize("auth", ["none", "wrong"])
def test_without_the_token_nothing_is_reported(
    skopeo: Any, registry: RegistryClient, ref: str, tmp_path: Path, host: str, auth: str
) -> None:
    push(registry, "v1")
    wrong = base64.b64encode(b"oauth2accesstoken:wrong").decode()
    auths = {host: {"auth": wrong}} if auth == "wrong" else {}
    (tmp_path / "auth.json").write_text(json.dumps({"auths": auths}))
    del skopeo.environ["DOCKER_CONFIG"]
    arguments = ("inspect", PLAIN, "--authfile", tmp_path / "auth.json", f"{ref}:v1")
    assert "unauthorized" in skopeo.run(*arguments, fails=True).lower()


def test_credentials_on_the_command_line(
    skopeo: Any, registry: RegistryClient, ref: str, emulator: Daemon
) -> None:
    push(registry, "v1")
    skopeo.environ.pop("REGISTRY_AUTH_FILE")
    skopeo.environ.pop("DOCKER_CONFIG")
    skopeo.run("inspect", PLAIN, "--creds", f"oauth2accesstoken:{emulator.token}", f"{ref}:v1")
    assert "unauthorized" in skopeo.run("inspect", PLAIN, f"{ref}:v1", fails=True).lower()


def test_login(skopeo: Any, host: str, emulator: Daemon, tmp_path: Path) -> None:
    arguments = ("-u", "oauth2accesstoken", "-p", emulator.token, "--authfile", tmp_path / "own.json", host)
    assert "Login Succeeded" in skopeo.run("login", PLAIN, *arguments)
