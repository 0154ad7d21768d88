"""Addresses and credentials of calls, independent of the environment."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from pulumi_vertex_training.cloud import clients, errors, logs, objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.scripted_service import Answer, Asked, Service, refusal

NAME = "projects/7/locations/us-central1/customJobs/5"
JOB = {"name": NAME, "displayName": "j", "state": "JOB_STATE_RUNNING"}
OBJECT = {"bucket": "b", "name": "o", "size": "7", "generation": "1", "crc32c": "yZRlqg=="}


@pytest.fixture
def decoy() -> Iterator[Service]:
    """Yield a service that must not receive any call."""
    made = Service()
    made.script(refusal(500, "INTERNAL", "the decoy was called"))
    yield made
    made.close()


def answer(asked: Asked) -> Answer:
    if asked.path.endswith("entries:list"):
        return Answer(document={"entries": []})
    if "/storage/v1/b/b/o/" in asked.path or asked.path.startswith("/upload/"):
        return Answer(document=OBJECT)
    if "/storage/v1/b" in asked.path:
        return Answer(document={"name": "b", "location": "US-CENTRAL1"})
    return Answer(document=JOB)


def call_every_service(endpoint: Endpoint) -> None:
    custom_jobs.get(endpoint, NAME)
    buckets.get(endpoint, "b")
    objects.get(endpoint, "b", "o")
    objects.upload(endpoint, "b", "o", b"content")
    list(logs.entries(endpoint, "5"))


def test_the_emulators_calls_carry_the_token_and_reach_it_past_proxies_and_redirections(
    service: Service, decoy: Service, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "STORAGE_EMULATOR_HOST"):
        monkeypatch.setenv(name, decoy.url)
    monkeypatch.setenv("API_ENDPOINT_OVERRIDE", decoy.url)
    monkeypatch.setenv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "elsewhere.example")
    monkeypatch.setenv("GOOGLE_API_USE_MTLS_ENDPOINT", "always")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    environment = dict(os.environ)
    service.script(answer)
    call_every_service(endpoint)
    assert decoy.asked == []
    assert len(service.asked) == 5
    assert {asked.headers["authorization"] for asked in service.asked} == {f"Bearer {endpoint.token}"}
    assert {asked.headers["host"] for asked in service.asked} == {service.url.removeprefix("http://")}
    assert dict(os.environ) == environment


def test_one_client_of_each_kind_for_an_endpoint_and_its_equals(endpoint: Endpoint) -> None:
    start, made = threading.Barrier(8), []
    equal = dataclasses.replace(endpoint)

    def make() -> None:
        start.wait()
        for one in (endpoint, equal):
            made.append((clients.session(one), clients.storage_client(one)))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 16
    assert len({tuple(map(id, clients_of_one)) for clients_of_one in made}) == 1


def test_endpoints_that_differ_only_in_the_token_do_not_share_a_client(endpoint: Endpoint) -> None:
    other = Endpoint(
        kind="emulator", project="local", location="us-central1", url=endpoint.url, token="other"
    )
    assert clients.session(endpoint) is not clients.session(other)


def test_an_emulator_without_its_address_or_token_is_refused() -> None:
    with pytest.raises(ValueError, match="url and token"):
        Endpoint(kind="emulator", project="local", location="us-central1", url="http://127.0.0.1:1")


def test_googles_hosts_follow_the_location() -> None:
    google = Endpoint(kind="google", project="p", location="europe-west4")
    assert google.vertex_url == "https://europe-west4-aiplatform.googleapis.com"
    assert google.logging_url == "https://logging.googleapis.com"
    assert google.storage_api_url == "https://storage.googleapis.com"


def test_buckets_of_a_google_endpoint_are_not_quietly_made_in_an_emulator(
    decoy: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", decoy.url)
    google = Endpoint(kind="google", project="p", location="europe-west4", token="t")
    for call in (
        lambda: buckets.create(google, {"name": "b"}),
        lambda: objects.get(google, "b", "o"),
        lambda: objects.upload(google, "b", "o", b"x"),
    ):
        with pytest.raises(errors.FailedPrecondition, match="unset STORAGE_EMULATOR_HOST"):
            call()
    assert decoy.asked == []


def test_a_google_endpoint_with_a_storage_address_of_its_own_uses_it(
    service: Service, decoy: Service, google: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", decoy.url)
    service.script(answer)
    objects.upload(google, "b", "o", b"content")
    assert decoy.asked == []
    assert len(service.asked) == 1


def test_application_default_credentials_of_a_service_account(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "trainer@my-project.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"{service.url}/token",
    }
    file = tmp_path / "account.json"
    file.write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    # google-auth asks Google in the background where the account may be used: it gets no further than here.
    monkeypatch.setenv("https_proxy", service.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def answer_with_token(asked: Asked) -> Answer:
        if asked.path == "/token":
            return Answer(document={"access_token": "fetched", "expires_in": 3600, "token_type": "Bearer"})
        return answer(asked)

    service.script(answer_with_token)
    google = Endpoint(
        kind="google", project="my-project", location="l", url=service.url, storage_url=service.url
    )
    buckets.get(google, "b")
    assert service.asked[-1].headers["authorization"] == "Bearer fetched"
    custom_jobs.get(google, NAME)
    assert service.asked[-1].headers["authorization"].startswith("Bearer ")


def test_no_credentials_at_all(tmp_path: Path) -> None:
    code = (
        "from pulumi_vertex_training.cloud import errors\n"
        "from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY as custom_jobs\n"
        "from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets\n"
        "from pulumi_vertex_training.cloud.endpoint import Endpoint\n"
        "google = Endpoint(kind='google', project='p', location='europe-west4')\n"
        "for call in (lambda: custom_jobs.list_live(google), lambda: buckets.get(google, 'b'),\n"
        "             lambda: custom_jobs.create(google, {'displayName': 'j'})):\n"
        "    try: call()\n"
        "    except errors.Unauthenticated as error: print(error)\n"
    )
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "CLOUDSDK_CONFIG": str(tmp_path),
        "NO_GCE_CHECK": "true",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all("gcloud auth application-default login" in line for line in lines)
    assert lines[0].startswith("Could not list the custom jobs (project p, europe-west4, Google Cloud): ")
