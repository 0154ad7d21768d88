"""A start renews the token: while the emulator was away, another program may have listened at its port."""

from __future__ import annotations

import base64
import json
import re
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from google.api_core.exceptions import Forbidden
from google.auth.compute_engine import _metadata
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import TransportError
from google.auth.transport.requests import Request
from google.cloud.storage import Client

from support.emulated.emulator import ask, call, kill
from support.services.training import job
from support.tables import not_empty
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.addresses import metadata_host
from vertex_emulator.client.launcher import Emulator
from vertex_emulator.daemon import reset as emulator_reset
from vertex_emulator.kernel.disk.data_folder import service_token, storage_secret

Start = Callable[..., Emulator]
PARENT = "/v1/projects/local/locations/us-central1"
JOBS = f"{PARENT}/customJobs"
ENV = 'eval "$(vertex-emulator env)"'

ASKS = """
import json, os, time, urllib.request
def ask():
    request = urllib.request.Request(
        os.environ["VERTEX_EMULATOR_HOST"] + "/storage/v1/b?project=local",
        headers={"Authorization": "Bearer " + os.environ["VERTEX_EMULATOR_TOKEN"]},
    )
    return json.load(urllib.request.urlopen(request))["kind"]
print(ask(), flush=True)
while not os.path.exists("/gcs/flags/go"):
    time.sleep(0.01)
print("again", ask(), flush=True)
time.sleep(600)
"""
"""A program that uses its secrets before and after the flag `go` is raised."""


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """Yield a data folder whose jobs are ended afterwards."""
    yield tmp_path / "data"
    emulator_reset.reset(tmp_path / "data")


def test_nothing_runs(start: Start) -> None:
    """Stop and start with no live job: clients with the old secrets are refused, and hear what to do."""
    first = start()
    assert ask(first, "GET", JOBS).status == 200
    launcher.stop(first.data_dir)
    second = start()
    assert second.url == first.url
    assert second.token != first.token
    assert stat.S_IMODE((second.data_dir / "token").stat().st_mode) == 0o600
    assert ask(second, "GET", JOBS).status == 200
    container = base64.b64encode(f"oauth2accesstoken:{first.token}".encode()).decode()
    for answer in (
        ask(first, "GET", JOBS),
        call(first.url, "GET", JOBS, token=service_token(first.token)),
        call(f"http://{metadata_host(first.url, first.token, 'p')}", "GET", "/computeMetadata/v1/"),
    ):
        assert answer.status == 401
        assert "was replaced at 20" in answer.message
        assert ENV in answer.message
    stored = call(first.storage_url, "GET", "/storage/v1/b?project=local")
    assert (stored.status, "was replaced at 20" in stored.message, ENV in stored.message) == (403, True, True)
    pulled = call(first.url, "GET", "/v2/", headers={"Authorization": f"Basic {container}"})
    assert pulled.status == 401
    assert "was replaced at 20" in json.loads(pulled.body)["errors"][0]["message"]
    other = call(first.url, "GET", JOBS, token="of-nobody")
    assert (other.status, "replaced" in other.message) == (401, False)
    login = json.loads((second.data_dir / "docker" / "config.json").read_text())["auths"]
    assert {base64.b64decode(entry["auth"]).decode().partition(":")[2] for entry in login.values()} == {
        second.token
    }


def test_clients_of_python_with_old_variables_say_what_to_do(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start()
    launcher.stop(first.data_dir)
    start()
    client = Client(
        project="local",
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": first.storage_url},
    )
    with pytest.raises(Forbidden, match=re.escape(ENV)):
        list(client.list_buckets(retry=None))
    host = metadata_host(first.url, first.token, "local")
    monkeypatch.setattr(_metadata, "_GCE_METADATA_HOST", host)
    monkeypatch.setenv("GCE_METADATA_IP", host)
    request = Request()
    assert _metadata.ping(request, retry_count=1)
    with pytest.raises(TransportError, match=r"was replaced at .*vertex-emulator env"):
        _metadata.get(request, "instance/service-accounts/default/token", retry_count=1)


def test_after_a_kill(start: Start) -> None:
    tokens = set()
    for _ in range(3):
        emulator = start()
        tokens.add(emulator.token)
        kill(emulator.pid)
    assert len(tokens) == 3


def test_old_tokens_are_kept_as_digests(start: Start) -> None:
    first = start()
    launcher.stop(first.data_dir)
    start()
    launcher.stop(first.data_dir)  # a running emulator may replace a file while it is read
    for path in not_empty(each for each in first.data_dir.rglob("*") if each.is_file()):
        content = path.read_bytes()
        for secret in (first.token, service_token(first.token), storage_secret(first.token)):
            assert secret.encode() not in content, path


def started_job(emulator: Emulator) -> str:
    """Create a job whose program asks the emulator once. Return its name."""
    (emulator.data_dir / "buckets" / "flags").mkdir(exist_ok=True)
    answer = ask(emulator, "POST", JOBS, job("asks", ASKS))
    assert answer.status == 200, answer.body
    name = str(answer.json()["name"])
    eventually(
        lambda: printed(emulator, name)[-1:] == ["storage#buckets"], what=lambda: printed(emulator, name)
    )
    return name


def printed(emulator: Emulator, name: str) -> list[str]:
    """Return the lines that the job's program printed."""
    body = {
        "resourceNames": ["projects/local"],
        "filter": f'resource.type="ml_job" AND resource.labels.job_id="{name.rpartition("/")[2]}"',
        "orderBy": "timestamp asc",
    }
    entries = ask(emulator, "POST", "/v2/entries:list", body).json()["entries"]
    return [entry["jsonPayload"]["message"] for entry in entries if entry["severity"] != "NOTICE"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /gcs in replicas")
def test_a_live_job_keeps_its_secrets_at_the_same_port(start: Start, data: Path) -> None:
    first = start(data)
    name = started_job(first)
    kill(first.pid)
    second = start(data)
    assert (second.url, second.token) == (first.url, first.token)
    (data / "buckets" / "flags" / "go").touch()
    eventually(
        lambda: printed(second, name)[-1] == "again storage#buckets", what=lambda: printed(second, name)
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs /gcs in replicas")
def test_a_taken_port_renews_the_token_of_live_jobs_too(start: Start, data: Path) -> None:
    """Keep the job; its restarted replica reads the new address and token."""
    first = start(data)
    name = started_job(first)
    kill(first.pid)
    with socket.create_server(("127.0.0.1", urlsplit(first.url).port or 0)):
        second = start(data)
        assert second.url != first.url
        assert second.token != first.token
        answer = ask(second, "GET", f"/v1/{name}")
        assert answer.json()["state"] == "JOB_STATE_RUNNING"
        refused = call(second.url, "GET", JOBS, token=first.token)
        assert (refused.status, "was replaced" in refused.message) == (401, True)
        path = f"/_local/jobs/{name.rpartition('/')[2]}/replicas/workerpool0-0/preempt"
        assert ask(second, "POST", path, {}).status == 200
        eventually(
            lambda: printed(second, name).count("storage#buckets") == 2, what=lambda: printed(second, name)
        )
    launcher.stop(data)
    third = start(data)
    assert (third.url, third.token) == (second.url, second.token), "the port that the job's programs know"


def test_another_port_renews_the_token(start: Start, data: Path) -> None:
    first = start(data)
    started_job(first)
    launcher.stop(data)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    second = start(data, port=port)
    assert second.url == f"http://127.0.0.1:{port}"
    assert second.token != first.token
