"""Unmodified programs that only know Google's hosts, in a shell with the emulator's proxy."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import google_clients
from scripts.layout import layout
from support.emulator import call, running
from support.tools import tool
from vertex_emulator import addresses
from vertex_emulator.daemon import Daemon
from vertex_emulator.launcher import find

REPOSITORY = "/v1/projects/local/locations/us-central1/repositories"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("emulator")) as found:
        yield found


@pytest.fixture(scope="module")
def shell(daemon: Daemon) -> dict[str, str]:
    """Return the environment of a shell after `emulator env --proxy`."""
    emulator = find(daemon.folder.root)
    assert emulator is not None and emulator.proxy is not None and daemon.proxy_url
    mine = {"PATH": os.environ["PATH"], "HOME": str(daemon.folder.root)}
    values = addresses.variables(emulator, project="local", location="us-central1", environment=mine)
    return {**mine, **addresses.with_proxy(values, emulator, proxy=emulator.proxy, environment=mine)}


def output(command: list[str | Path], shell: dict[str, str], **options: Any) -> str:
    done = subprocess.run(command, env=shell, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def client(name: str) -> Path:
    """Return a program of `make tools`. Without it the test is skipped, or fails if CI is set."""
    found = google_clients.folder(layout()) / name
    if not found.exists():
        message = f"{name} is not installed. To run this test: make tools"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return found


def test_curl(daemon: Daemon, shell: dict[str, str]) -> None:
    """Try the names of the services with and without HTTP/2 offered."""
    call(daemon.url, "POST", "/storage/v1/b?project=local", body={"name": "of-curl"}, token=daemon.token)
    bearer = f"Authorization: Bearer {daemon.token}"
    for options in ([], ["--http1.1"], ["--http2"]):
        url = "https://storage.googleapis.com/storage/v1/b/of-curl?fields=name"
        assert json.loads(output([tool("curl"), "-sSf", *options, "-H", bearer, url], shell)) == {
            "name": "of-curl"
        }


def test_go(shell: dict[str, str]) -> None:
    assert json.loads(output([client(google_clients.GO)], shell)) == {
        "read": "hello from go",
        "size": 9_000_000,
    }


def test_node(shell: dict[str, str]) -> None:
    """Expect Cloud Storage over REST, and Vertex AI over gRPC."""
    assert json.loads(output([client(google_clients.NODE)], shell)) == {
        "read": "hello from node",
        "size": 9_000_000,
        "names": ["a/b.txt", "big"],
        "jobs": ["from-node"],
        "same": True,
    }


def test_skopeo_pushes_to_artifact_registry(daemon: Daemon, shell: dict[str, str], tmp_path: Path) -> None:
    skopeo = tool("skopeo")
    path = f"{REPOSITORY}?repositoryId=images"
    made = call(daemon.url, "POST", path, body={"format": "DOCKER"}, token=daemon.token)
    assert made.status == 200, made.body
    image = image_in(tmp_path)
    name = "us-central1-docker.pkg.dev/local/images/one:v1"
    creds = f"oauth2accesstoken:{daemon.token}"
    output([skopeo, "copy", "--dest-creds", creds, f"oci:{image}", f"docker://{name}"], shell)
    found = output([skopeo, "inspect", "--creds", creds, f"docker://{name}"], shell)
    assert json.loads(found)["Name"] == name.partition(":")[0]
    listed = call(daemon.url, "GET", f"{REPOSITORY}/images/dockerImages", token=daemon.token).json()
    assert listed["dockerImages"][0]["uri"].startswith("us-central1-docker.pkg.dev/local/images/one@sha256:")


@pytest.mark.parametrize(
    ("host", "location"), [("gcr.io", "us"), ("eu.gcr.io", "europe")], ids=["gcr.io", "eu.gcr.io"]
)
def test_the_first_push_to_container_registry_creates_its_repository(
    daemon: Daemon, shell: dict[str, str], tmp_path: Path, host: str, location: str
) -> None:
    skopeo, creds = tool("skopeo"), f"oauth2accesstoken:{daemon.token}"
    repository = f"/v1/projects/local/locations/{location}/repositories/{host}"
    assert call(daemon.url, "GET", repository, token=daemon.token).status == 404
    name = f"docker://{host}/local/team/one:v1"
    image = image_in(tmp_path)
    for _ in range(2):
        output([skopeo, "copy", "--dest-creds", creds, f"oci:{image}", name], shell)
    assert json.loads(output([skopeo, "list-tags", "--creds", creds, name.rpartition(":")[0]], shell))[
        "Tags"
    ] == ["v1"]
    found = call(daemon.url, "GET", f"{repository}/dockerImages", token=daemon.token).json()
    (only,) = found["dockerImages"]
    assert only["uri"].startswith(f"{location}-docker.pkg.dev/local/{host}/team/one@sha256:")


def image_in(folder: Path) -> Path:
    """Write an image of one file in the OCI layout. Return its folder."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    blobs = folder / "image" / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(data: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {
            "mediaType": f"application/vnd.oci.image.{kind}",
            "digest": f"sha256:{digest}",
            "size": len(data),
        }

    content = put(layer.getvalue(), "layer.v1.tar")
    root = {"type": "layers", "diff_ids": [content["digest"]]}
    config = put(
        json.dumps({"architecture": "amd64", "os": "linux", "rootfs": root}).encode(), "config.v1+json"
    )
    manifest = {"schemaVersion": 2, "config": config, "layers": [content]}
    index = {"schemaVersion": 2, "manifests": [put(json.dumps(manifest).encode(), "manifest.v1+json")]}
    (folder / "image" / "index.json").write_text(json.dumps(index))
    (folder / "image" / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder / "image"
