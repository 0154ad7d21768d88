"""regctl against the emulator's registry: blobs in chunks, referrers, tags deleted one by one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import ask
from support.emulated.registries.registry import RegistryClient, new_name, sha256
from vertex_emulator.daemon.daemon import Daemon

CONTENT = random.Random(1).randbytes(220_000)


@pytest.fixture
def ref(registry: RegistryClient, host: str) -> str:
    return f"{host}/{registry.name}"


@pytest.fixture
def pushed(regctl: Any, ref: str, tmp_path: Path) -> str:
    (tmp_path / "model").write_bytes(CONTENT)
    regctl.run("artifact", "put", "--artifact-type", "a/b", "-f", tmp_path / "model", f"{ref}:v1")
    return f"{ref}:v1"


@pytest.fixture
def attached(regctl: Any, pushed: str, tmp_path: Path) -> str:
    (tmp_path / "sbom").write_bytes(b"{}")
    options = ("--artifact-type", "c/d", "--annotation", "by=test", "-f", tmp_path / "sbom")
    regctl.run("artifact", "put", "--subject", pushed, *options)
    return pushed


@pytest.mark.usefixtures("pushed")
def test_what_was_sent_in_chunks_is_whole(registry: RegistryClient) -> None:
    assert registry.ask("GET", f"blobs/{sha256(CONTENT)}").body == CONTENT


@pytest.mark.usefixtures("pushed")
def test_it_came_in_chunks(emulator: Daemon) -> None:
    requests = ask(emulator, "GET", "/_local/requests").json()["requests"]
    chunks = [each for each in requests if each["call"] == "registry.uploads.append"]
    assert [each["received"] for each in chunks[-5:]] == [50_000] * 4 + [20_000]


@pytest.mark.parity("Artifact Registry: programs")
def test_get(regctl: Any, pushed: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    regctl.run("artifact", "get", "-o", tmp_path / "out", pushed)
    assert [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()] == [CONTENT]


@pytest.mark.parametrize(("kind", "found"), [("c/d", 1), ("e/f", 0)])
def test_what_refers(regctl: Any, attached: str, kind: str, found: int) -> None:
    filtered = ("--filter-artifact-type", kind, "--format", "{{json .Descriptors}}")
    assert len(json.loads(regctl.run("artifact", "list", *filtered, attached)) or []) == found


def test_copy_with_what_refers(regctl: Any, attached: str, registry: RegistryClient, host: str) -> None:
    other = new_name("gcr.io")
    regctl.run("image", "copy", "--referrers", attached, f"{host}/{other}:v2")
    digest = registry.at(other).ask("HEAD", "manifests/v2").headers["Docker-Content-Digest"]
    found = registry.at(other).ask("GET", f"referrers/{digest}").json()["manifests"]
    assert [each["artifactType"] for each in found] == ["c/d"]


def test_a_tag_is_deleted_alone(regctl: Any, pushed: str, registry: RegistryClient) -> None:
    digest = registry.ask("HEAD", "manifests/v1").headers["Docker-Content-Digest"]
    regctl.run("tag", "delete", pushed)
    assert registry.ask("GET", "manifests/v1").status == 404
    assert registry.ask("GET", f"manifests/{digest}").status == 200


def test_tags_page_by_page(regctl: Any, pushed: str, ref: str, registry: RegistryClient) -> None:
    content = registry.ask("GET", "manifests/v1").body
    for tag in ("v2", "v3"):
        registry.put_manifest(tag, content)
    assert regctl.run("tag", "ls", "--limit", "2", ref).split() == ["v1", "v2"]
    assert regctl.run("tag", "ls", "--limit", "2", "--last", "v2", ref).split() == ["v3"]


def test_repositories(regctl: Any, pushed: str, host: str, registry: RegistryClient) -> None:
    assert registry.name in regctl.run("repo", "ls", host).split()
