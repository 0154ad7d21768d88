"""oras against the emulator's registry: artifacts and referrers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.emulated.registries.registry import RegistryClient, new_name, sha256

PLAIN = "--plain-http"
MODEL, SBOM = "application/vnd.example.model", "application/vnd.example.sbom"


@pytest.fixture
def ref(registry: RegistryClient, host: str) -> str:
    return f"{host}/{registry.name}"


@pytest.fixture
def pushed(oras: Any, ref: str, tmp_path: Path) -> str:
    (tmp_path / "model.txt").write_text("weights")
    oras.run("push", PLAIN, "--artifact-type", MODEL, "--annotation", "a=b", f"{ref}:v1", "model.txt")
    return f"{ref}:v1"


@pytest.fixture
def attached(oras: Any, pushed: str, tmp_path: Path) -> str:
    (tmp_path / "sbom.json").write_text("{}")
    oras.run("attach", PLAIN, "--artifact-type", SBOM, "--annotation", "by=test", pushed, "sbom.json")
    return pushed


def discovered(oras: Any, ref: str, *options: str) -> list[dict[str, Any]]:
    found = json.loads(oras.run("discover", PLAIN, "--format", "json", *options, ref))["manifests"]
    return list(found or [])


@pytest.mark.parity("Artifact Registry: programs")
@pytest.mark.usefixtures("pushed")
def test_push(registry: RegistryClient) -> None:
    content = registry.ask("GET", "manifests/v1").json()
    assert (content["artifactType"], content["annotations"]["a"]) == (MODEL, "b")


def test_pull(oras: Any, pushed: str, tmp_path: Path) -> None:
    oras.run("pull", PLAIN, "-o", tmp_path / "pulled", pushed)
    assert (tmp_path / "pulled" / "model.txt").read_text() == "weights"


def test_attach_and_discover(oras: Any, attached: str) -> None:
    assert [each["artifactType"] for each in discovered(oras, attached)] == [SBOM]


def test_discover_by_type(oras: Any, attached: str) -> None:
    assert discovered(oras, attached, "--artifact-type", "application/vnd.example.other") == []


@pytest.mark.usefixtures("attached")
def test_referrers_need_no_tag(registry: RegistryClient) -> None:
    assert registry.ask("GET", "tags/list").json()["tags"] == ["v1"]


def test_copy_with_what_refers(oras: Any, attached: str, registry: RegistryClient, host: str) -> None:
    target = f"{host}/{new_name('gcr.io')}:v2"
    oras.run("cp", "-r", "--from-plain-http", "--to-plain-http", attached, target)
    assert [each["artifactType"] for each in discovered(oras, target)] == [SBOM]


def test_copy_to_a_folder_and_back(oras: Any, pushed: str, registry: RegistryClient, ref: str) -> None:
    oras.run("cp", "--from-plain-http", "--to-oci-layout", pushed, "layout:v1")
    oras.run("cp", "--from-oci-layout", "--to-plain-http", "layout:v1", f"{ref}:back")
    both = [
        registry.ask("HEAD", f"manifests/{tag}").headers["Docker-Content-Digest"] for tag in ("v1", "back")
    ]
    assert both[0] == both[1]


def test_tags_and_repositories(oras: Any, pushed: str, registry: RegistryClient, ref: str, host: str) -> None:
    oras.run("tag", PLAIN, pushed, "v2")
    assert oras.run("repo", "tags", PLAIN, ref).split() == ["v1", "v2"]
    assert registry.name in oras.run("repo", "ls", PLAIN, host).split()


def test_blobs(oras: Any, ref: str, tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"content")
    oras.run("blob", "push", PLAIN, ref, "blob")
    oras.run("blob", "fetch", PLAIN, "-o", tmp_path / "fetched", f"{ref}@{sha256(b'content')}")
    assert (tmp_path / "fetched").read_bytes() == b"content"
    oras.run("blob", "delete", PLAIN, "--force", f"{ref}@{sha256(b'content')}")
    oras.run("blob", "fetch", PLAIN, "--descriptor", f"{ref}@{sha256(b'content')}", fails=True)


def test_manifests(oras: Any, pushed: str, registry: RegistryClient) -> None:
    assert json.loads(oras.run("manifest", "fetch", PLAIN, pushed))["artifactType"] == MODEL
    oras.run("manifest", "delete", PLAIN, "--force", pushed)
    assert registry.ask("GET", "manifests/v1").status == 404


def test_without_the_token_nothing_is_reported(oras: Any, pushed: str, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    oras.environ["DOCKER_CONFIG"] = str(tmp_path / "none")
    said = oras.run("manifest", "fetch", PLAIN, pushed, fails=True).lower()
    assert "credential" in said or "unauthorized" in said
