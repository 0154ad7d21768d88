"""`vertex_cluster.secret` reads Secret Manager as the account of the replica; errors have the remedy."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

import vertex_cluster
from support.scripted_service import Answer, Service, refusal
from vertex_cluster import SecretError, secret_manager

TOKEN = Answer(document={"access_token": "the-token", "token_type": "Bearer"})
VERSION = "/v1/projects/7/secrets/wandb/versions/latest:access"


def value(data: bytes) -> Answer:
    return Answer(document={"payload": {"data": base64.b64encode(data).decode()}})


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    service = Service()
    monkeypatch.setenv("GCE_METADATA_HOST", service.url.partition("//")[2])
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER", service.url + "/")
    monkeypatch.setenv("CLOUD_ML_PROJECT_ID", "7")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setattr(secret_manager.time, "sleep", lambda _: None)
    service.answers = [TOKEN]
    yield service
    service.close()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("wandb", VERSION),
        ("projects/p/secrets/wandb", "/v1/projects/p/secrets/wandb/versions/latest:access"),
        ("projects/p/secrets/wandb/versions/3", "/v1/projects/p/secrets/wandb/versions/3:access"),
        (
            "projects/p/locations/europe-west4/secrets/wandb",
            "/v1/projects/p/locations/europe-west4/secrets/wandb/versions/latest:access",
        ),
    ],
)
def test_it_reads_the_version_with_the_token_of_the_account(
    google: Service, monkeypatch: pytest.MonkeyPatch, name: str, path: str
) -> None:
    monkeypatch.delenv("http_proxy")
    google.answers += [value("hunter2 ü".encode())]
    assert vertex_cluster.secret(name) == "hunter2 ü"
    metadata, access = google.asked
    assert metadata.path == "/computeMetadata/v1/instance/service-accounts/default/token"
    flavor, token = ({name.lower(): text for name, text in one.headers.items()} for one in (metadata, access))
    assert flavor["metadata-flavor"] == "Google"
    assert (access.path, token["authorization"]) == (path, "Bearer the-token")


def test_the_version_and_the_project_may_be_given(google: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("http_proxy")
    google.answers += [value(b"old")]
    assert vertex_cluster.secret("wandb", version="2", project="other") == "old"
    assert google.asked[-1].path == "/v1/projects/other/secrets/wandb/versions/2:access"


def test_no_proxy_gets_the_request_to_the_metadata_server(google: Service) -> None:
    with pytest.raises(SecretError, match="Connection refused"):
        vertex_cluster.secret("wandb")  # the proxy, for Secret Manager, does not exist
    assert [one.path.rpartition("/")[2] for one in google.asked] == ["token"]


def test_a_busy_service_is_asked_again(google: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("http_proxy")
    google.answers += [refusal(503, "UNAVAILABLE", "later"), refusal(429, "X", "slow"), value(b"at last")]
    assert vertex_cluster.secret("wandb") == "at last"


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        pytest.param(
            [refusal(403, "PERMISSION_DENIED", "Permission denied."), Answer(text="trainer@p.iam")],
            "cannot be read: Permission denied. Let the account of the job read it: gcloud secrets "
            "add-iam-policy-binding projects/7/secrets/wandb --member=serviceAccount:trainer@p.iam "
            "--role=roles/secretmanager.secretAccessor",
            id="denied",
        ),
        pytest.param(
            [refusal(404, "NOT_FOUND", "Secret not found")],
            "Secret not found. Check its name with `gcloud secrets versions list projects/7/secrets/wandb`.",
            id="missing",
        ),
        pytest.param([refusal(500, "INTERNAL", "oh")] * 4, "cannot be read: oh.", id="broken"),
        pytest.param([value(b"\xff\xfe")], "is not text", id="bytes"),
        pytest.param([Answer(document={"payload": None})], "cannot be read", id="another document"),
    ],
)
def test_an_error_has_the_remedy_and_no_value(
    google: Service, monkeypatch: pytest.MonkeyPatch, answers: list[Answer], words: str
) -> None:
    monkeypatch.delenv("http_proxy")
    google.answers += answers
    with pytest.raises(SecretError) as error:
        vertex_cluster.secret("wandb")
    assert words in str(error.value)


@pytest.mark.parametrize("name", ["", "a/b", "projects/p/secret/x", "projects/p/secrets/x?y", "../x"])
def test_a_name_that_is_none_is_never_sent(google: Service, name: str) -> None:
    with pytest.raises(SecretError, match="is not the name of a secret"):
        vertex_cluster.secret(name)
    assert google.asked == []


def test_outside_of_a_job_the_project_is_given(google: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOUD_ML_PROJECT_ID")
    with pytest.raises(SecretError, match="Give projects/PROJECT/secrets/wandb"):
        vertex_cluster.secret("wandb")
