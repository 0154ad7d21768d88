"""Access to the registry, and the error responses for unauthorized clients."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.emulated.emulator import Answer, call, running
from support.emulated.registries.registry import RegistryClient, codes, manifest
from vertex_emulator.daemon.daemon import Daemon


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def ping(emulator: Daemon, **headers: str) -> Answer:
    return call(emulator.url, "GET", "/v2/", headers=headers)


@pytest.mark.parametrize("user", ["oauth2accesstoken", "_dcgcr_2_1_5_token", "_dcgcloud_token", "_token"])
def test_the_token_is_the_password_of(emulator: Daemon, user: str) -> None:
    assert ping(emulator, Authorization=basic(user, emulator.token)).status == 200


def test_the_token_may_be_a_bearer_s(emulator: Daemon) -> None:
    assert ping(emulator, Authorization=f"Bearer {emulator.token}").status == 200


@pytest.mark.parametrize(
    "authorization",
    [
        pytest.param(None, id="nothing"),
        pytest.param(basic("oauth2accesstoken", "wrong"), id="another token"),
        pytest.param(basic("oauth2accesstoken", ""), id="no token"),
        pytest.param("Basic TOKEN-AS-IT-IS", id="not base64"),
        pytest.param("Basic " + base64.b64encode(b"\xff\xfe").decode(), id="not text"),
        pytest.param("Basic", id="no credentials"),
        pytest.param("Digest username=x", id="another scheme"),
        pytest.param("Bearer wrong", id="another bearer"),
    ],
)
def test_an_unauthorized_client_is_asked_for_a_password(emulator: Daemon, authorization: str | None) -> None:
    answer = ping(emulator, **({} if authorization is None else {"Authorization": authorization}))
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")
    assert codes(answer) == ["UNAUTHORIZED"]


@pytest.mark.parametrize("user", ["", "root", "_json_key", "oauth2accesstoken2"])
def test_the_error_names_the_right_user(emulator: Daemon, user: str) -> None:
    answer = ping(emulator, Authorization=basic(user, emulator.token))
    assert answer.status == 401
    assert "oauth2accesstoken" in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    "path", ["/storage/v1/b", "/v1/projects/p/locations/us-central1/customJobs", "/_local/info"]
)
def test_a_password_opens_the_registry_alone(emulator: Daemon, path: str) -> None:
    answer = call(
        emulator.url, "GET", path, headers={"Authorization": basic("oauth2accesstoken", emulator.token)}
    )
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_logging_is_not_the_registry(emulator: Daemon) -> None:
    answer = call(emulator.url, "POST", "/v2/entries:list", body={})
    assert answer.json()["error"]["status"] == "UNAUTHENTICATED"


def test_the_storage_secret_does_not_open_it(emulator: Daemon) -> None:
    assert call(emulator.storage_url, "GET", "/v2/").status == 403


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Origin": "http://evil.example"}, id="a web page"),
        pytest.param({"Host": "evil.example"}, id="another host name"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="a browser"),
    ],
)
def test_web_pages_are_refused(emulator: Daemon, headers: dict[str, str]) -> None:
    answer = ping(emulator, Authorization=f"Bearer {emulator.token}", **headers)
    assert (answer.status, codes(answer)) == (403, ["DENIED"])


def test_a_blob_is_no_page_of_the_emulator(registry: RegistryClient) -> None:
    answer = registry.ask("GET", f"blobs/{registry.push_blob(b'<script>')}")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "sandbox"


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-tar"])
def test_a_blob_may_have_any_type(registry: RegistryClient, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content_Type": content_type}
    assert registry.ask("PATCH", registry.begin(), body=b"x", **headers).status == 202


def test_a_manifest_without_a_content_type_says_its_own(registry: RegistryClient) -> None:
    registry.push_blob(b"{}")
    assert registry.ask("PUT", "manifests/v1", body=manifest()).status == 201


# The file with the credentials


@pytest.fixture
def auths(emulator: Daemon) -> dict[str, dict[str, str]]:
    return dict(json.loads(emulator.folder.registry_auth.read_bytes())["auths"])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_file_has_the_credentials_for(
    emulator: Daemon, auths: dict[str, dict[str, str]], host: str
) -> None:
    entry = auths[f"{host}:{urlsplit(emulator.url).port}"]
    assert ping(emulator, Authorization=f"Basic {entry['auth']}").status == 200


@pytest.mark.parametrize(("where", "mode"), [("file", 0o600), ("folder", 0o700)])
def test_only_the_owner_can_read_the_file(emulator: Daemon, where: str, mode: int) -> None:
    path = emulator.folder.registry_auth
    assert stat.S_IMODE((path if where == "file" else path.parent).stat().st_mode) == mode


def test_it_follows_the_port(tmp_path: Path) -> None:
    for _ in range(2):
        with running(tmp_path / "data", port=0) as daemon:
            named = json.loads(daemon.folder.registry_auth.read_bytes())["auths"]
            assert set(named) == {f"{h}:{urlsplit(daemon.url).port}" for h in ("127.0.0.1", "localhost")}


@pytest.mark.parametrize("folder", ["blobs", "uploads"])
def test_only_the_owner_can_read_the_blobs(emulator: Daemon, registry: RegistryClient, folder: str) -> None:
    registry.push_blob(b"secret")
    registry.ask("PATCH", registry.begin(), body=b"secret")
    paths = [path for path in (emulator.folder.registry / folder).rglob("*") if path.is_file()]
    assert paths
    for path in (emulator.folder.registry / folder, *paths):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077
