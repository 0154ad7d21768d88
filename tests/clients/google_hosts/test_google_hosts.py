"""Unmodified programs that only know Google's hosts, in a shell with the emulator's proxy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import google_clients
from support.emulator import call
from support.google_hosts import client, image_in, output
from support.tools import tool
from vertex_emulator.daemon import Daemon

REPOSITORY = "/v1/projects/local/locations/us-central1/repositories"


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
    """Expect Cloud Storage over REST, and Vertex AI over gRPC."""
    assert json.loads(output([client(google_clients.GO)], shell)) == {
        "read": "hello from go",
        "size": 9_000_000,
        "jobs": {"listed": ["from-go"], "state": "JOB_STATE_CANCELLED", "missing": True},
    }


def test_node(shell: dict[str, str]) -> None:
    """Expect Cloud Storage over REST, and Vertex AI over gRPC."""
    found = json.loads(output([client(google_clients.NODE)], shell))
    assert found.pop("jobs")[0] == "from-node"
    assert found == {
        "read": "hello from node",
        "size": 9_000_000,
        "names": ["a/b.txt", "big"],
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
