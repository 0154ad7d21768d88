"""Google's packages are first imported under one lock, whichever call comes first."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHECK = """
import sys
from importlib.abc import MetaPathFinder

from pulumi_vertex_training.cloud import imports
from pulumi_vertex_training.cloud.endpoint import Endpoint

endpoint = Endpoint(
    kind="emulator", project="local", location="us-central1", url="http://127.0.0.1:9", token="t",
    storage_url="http://127.0.0.1:9/s/x",
)
unlocked = []


class Finder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("requests", "urllib3") or name.startswith(("google.auth", "google.c")):
            if not imports.LOCK._is_owned():
                unlocked.append(name)


sys.meta_path.insert(0, Finder())
try:
    exec(sys.argv[1])
except Exception as error:
    print(type(error).__name__)
assert "requests" in sys.modules, "nothing was imported"
assert not unlocked, unlocked
"""
HEAD = "from pulumi_vertex_training.cloud import clients, rest, retry, translation\n"
CALLS = {
    "session": "clients.session(endpoint)",
    "storage": "clients.storage_client(endpoint)",
    "rest": "rest._send(endpoint, 'GET', 'http://127.0.0.1:9/', None, None)",
    "retry": "retry.for_idempotent(endpoint)",
    "refused": "retry.was_refused(ValueError())",
    "translation": "translation._of_google_api(ValueError())",
    "registry": "from pulumi_vertex_training.cloud.container_registry import client\n"
    "from pulumi_vertex_training.cloud.container_registry.image_names import parse\n"
    "name = parse('us-central1-docker.pkg.dev/local/r/i:t')\n"
    "client.ask(endpoint, name, 'GET', 'x', action='a', once=True)",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_first_call_imports_under_the_lock(call: str) -> None:
    """Imports without the lock deadlock now and then in the threads of a provider; Python lets one fail."""
    done = subprocess.run(
        [sys.executable, "-c", CHECK, HEAD + CALLS[call]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
