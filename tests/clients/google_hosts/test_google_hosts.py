"""Unmodified programs that only know Google's hosts, in a shell with the emulator's proxy."""

from __future__ import annotations

import json

import pytest

from scripts.tools import google_clients
from support.clients.tools import tool
from support.emulated.clients.google_hosts import client, output, times_refused
from support.emulated.emulator import ask
from vertex_emulator.daemon.daemon import Daemon

REPOSITORY = "/v1/projects/local/locations/us-central1/repositories"


@pytest.mark.parity("The interface: programs that only know Google's hosts")
def test_curl(daemon: Daemon, shell: dict[str, str]) -> None:
    """Try the names of the services with and without HTTP/2 offered."""
    ask(daemon, "POST", "/storage/v1/b?project=local", {"name": "of-curl"})
    bearer = f"Authorization: Bearer {daemon.token}"
    for options in ([], ["--http1.1"], ["--http2"]):
        url = "https://storage.googleapis.com/storage/v1/b/of-curl?fields=name"
        assert json.loads(output([tool("curl"), "-sSf", *options, "-H", bearer, url], shell)) == {
            "name": "of-curl"
        }


@pytest.mark.parity(
    "The interface: programs that only know Google's hosts",
    own_way="reach the emulator through its proxy, unmodified; shells have to ask for it",
)
def test_go(daemon: Daemon, shell: dict[str, str]) -> None:
    """Expect Cloud Storage over REST, Vertex AI over gRPC, and a refusal after one request."""
    found = json.loads(output([client(google_clients.GO)], shell))
    assert "notifications, because it has no Pub/Sub" in found.pop("refused")
    assert times_refused(daemon, "from-go") == 1
    assert found == {
        "read": "hello from go",
        "size": 9_000_000,
        "jobs": {"listed": ["from-go"], "state": "JOB_STATE_CANCELLED", "missing": True},
    }


@pytest.mark.parity("The interface: programs that only know Google's hosts")
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
