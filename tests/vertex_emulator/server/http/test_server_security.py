"""Authentication. The emulator runs commands, so each rejection here prevents an attack."""

from __future__ import annotations

import gzip
import stat
from typing import Any

import pytest

from support.emulated.emulator import Answer, ask, call, send_bytes
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.disk.data_folder import storage_secret

JOBS = "/v1/projects/p/locations/us-central1/customJobs"
BUCKETS = "/storage/v1/b?project=local"


def secret_of(emulator: Daemon) -> str:
    return storage_secret(emulator.token)


def test_without_a_token(emulator: Daemon) -> None:
    for method, path in (
        ("GET", JOBS),
        ("POST", JOBS),
        ("GET", BUCKETS),
        ("GET", "/_local/info"),
        ("POST", "/_local/shutdown"),
        ("POST", "/_local/health"),
        ("GET", "/_local/health/x"),
        ("POST", "/v2/entries:list"),
        ("GET", "/no/such/path"),
        ("OPTIONS", JOBS),
    ):
        answer = call(emulator.url, method, path)
        assert answer.status == 401, (method, path)
        error = answer.json()["error"]
        assert (error["code"], error["status"]) == (401, "UNAUTHENTICATED")
        assert "vertex-emulator env" in error["message"]
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "given",
    [
        "Bearer wrong",
        "Bearer ",
        "Bearer",
        "Basic dXNlcjpwYXNz",
        "{token}",
        "Bearer {token}x",
        "Bearer {prefix}",
        "Bearer {secret}",
        "Bearer t\u00f6ken",
        "",
    ],
)
def test_with_a_wrong_token(emulator: Daemon, given: str) -> None:
    value = given.format(token=emulator.token, prefix=emulator.token[:-1], secret=secret_of(emulator))
    answer = call(emulator.url, "GET", JOBS, headers={"Authorization": value})
    assert answer.status == 401
    assert emulator.token not in answer.body.decode()


def test_with_the_token(emulator: Daemon) -> None:
    assert ask(emulator, "GET", JOBS).status == 200
    assert ask(emulator, "GET", BUCKETS).status == 200
    scheme = {"Authorization": f"bearer {emulator.token}"}
    assert call(emulator.url, "GET", JOBS, headers=scheme).status == 200


def test_the_storage_secret_opens_storage_only(emulator: Daemon) -> None:
    base = emulator.storage_url
    assert call(base, "GET", BUCKETS).status == 200
    assert call(base, "GET", BUCKETS, token="whatever a client sends beside it").status == 200
    for path in (
        JOBS,
        "/_local/info",
        "/_local/health",
        "/v2/entries:list",
        "/",
        "//v1/projects",
        "/storage/v1/../../v1/projects/p",
        "/storage/v10/b",
        "/storagev1",
        f"/s/{secret_of(emulator)}{JOBS}",
    ):
        answer = call(base, "GET", path)
        assert answer.status in (400, 403, 404), path
        assert b"customJobs" not in answer.body, path
    assert call(base, "GET", JOBS).status == 403
    assert "gives access to Cloud Storage only" in call(base, "GET", JOBS).message


@pytest.mark.parametrize("secret", ["", "x", "{secret}x", "{short}", "{token}", "%2e%2e", "{upper}"])
def test_a_wrong_storage_secret(emulator: Daemon, secret: str) -> None:
    right = secret_of(emulator)
    given = secret.format(secret=right, short=right[:-1], token=emulator.token, upper=right.upper())
    answer = call(f"{emulator.url}/s/{given}", "GET", BUCKETS)
    assert answer.status == 403


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0"),
        *("127.0.0.1:8080, evil.example", "127.0.0.1@evil.example", "localhost:99x", "10.0.0.1", "", "[::1]"),
    ],
)
def test_a_foreign_host(emulator: Daemon, host: str) -> None:
    for path in (JOBS, "/_local/health"):
        answer = ask(emulator, "GET", path, headers={"Host": host})
        assert answer.status == 403
        assert "127.0.0.1 and localhost only" in answer.message


def test_hosts_that_are_this_machine(emulator: Daemon) -> None:
    for host in ("127.0.0.1", "localhost", "LOCALHOST:1234", "127.0.0.1:65535"):
        assert ask(emulator, "GET", JOBS, headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none, cross-site"},
    ],
)
def test_a_web_page(emulator: Daemon, headers: dict[str, str]) -> None:
    for base, token, path in (
        (emulator.url, emulator.token, JOBS),
        (emulator.storage_url, None, BUCKETS),
        (emulator.url, None, "/_local/health"),
    ):
        answer = call(base, "GET", path, token=token, headers=headers)
        assert answer.status == 403
        assert "web page" in answer.message


def test_a_user_who_types_the_address_is_no_web_page(emulator: Daemon) -> None:
    assert call(emulator.url, "GET", "/_local/health", headers={"Sec-Fetch-Site": "none"}).status == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"]
)
def test_documents_have_to_be_json(emulator: Daemon, content_type: str) -> None:
    for path in (JOBS, BUCKETS, "/_local/shutdown"):
        answer = ask(
            emulator, "POST", path, b'{"name": "made-by-a-form"}', headers={"Content-Type": content_type}
        )
        assert answer.status == 415, path
        assert "application/json" in answer.message
    assert ask(emulator, "GET", "/storage/v1/b/made-by-a-form").status == 404


def compressed(emulator: Daemon, body: bytes, coding: str = "gzip") -> Answer:
    headers = {"Content-Encoding": coding, "Content-Type": "application/json"}
    return ask(emulator, "POST", BUCKETS, body, headers=headers)


def test_a_compressed_document(emulator: Daemon) -> None:
    """Send what Google's library for Java sends."""
    answer = compressed(emulator, gzip.compress(b'{"name": "of-gzip"}'))
    assert (answer.status, answer.json()["name"]) == (200, "of-gzip")


@pytest.mark.parametrize(
    ("body", "coding", "status", "message"),
    [
        pytest.param(b"\x1f\x8b", "gzip", 400, "it ends early", id="cut short"),
        pytest.param(b"{}", "gzip", 400, "damaged", id="not compressed"),
        pytest.param(gzip.compress(b"{}") + b"{}", "gzip", 400, "follow its end", id="more"),
        pytest.param(gzip.compress(bytes(64 << 20)), "gzip", 413, "limit for one document", id="bomb"),
        pytest.param(b"{}", "br", 415, "Send gzip, or plain JSON", id="another coding"),
    ],
)
def test_a_compressed_document_that_is_refused(
    emulator: Daemon, body: bytes, coding: str, status: int, message: str
) -> None:
    answer = compressed(emulator, body, coding)
    assert (answer.status, message in answer.message) == (status, True), answer.body


def test_health_says_no_more_than_who_answers(emulator: Daemon) -> None:
    answer = call(emulator.url, "GET", "/_local/health").json()
    assert answer == {"status": "ok", "version": "0.1.0", "instance": emulator.instance}
    nonce = call(emulator.url, "GET", "/_local/health?nonce=0123456789abcdef").json()
    assert nonce.keys() == {"status", "version", "instance", "proof"}
    other = call(emulator.url, "GET", "/_local/health?nonce=0123456789abcdeg").json()
    assert other["proof"] != nonce["proof"]
    assert call(emulator.url, "GET", "/_local/health?nonce=x").status == 400


def test_files_that_other_users_must_not_read(emulator: Daemon) -> None:
    def mode(path: Any) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert mode(emulator.folder.root) == 0o700
    assert mode(emulator.folder.token) == 0o600
    assert mode(emulator.folder.record) == 0o600
    assert emulator.token not in emulator.folder.record.read_text()


def test_the_request_log_has_no_secret(emulator: Daemon) -> None:
    call(emulator.url, "GET", "/_local/health")
    before = ask(emulator, "GET", "/_local/requests").json()["requests"]
    call(emulator.storage_url, "POST", BUCKETS, body={"name": "logged-bucket"})
    upload = "/upload/storage/v1/b/logged-bucket/o?uploadType=resumable&name=o"
    location = call(emulator.storage_url, "POST", upload, body={}).headers["Location"]
    call(emulator.storage_url, "PUT", location[len(emulator.storage_url) :], body=b"12345")
    call(emulator.url, "GET", f"/s/wrong-{secret_of(emulator)}/storage/v1/b")
    ask(emulator, "GET", f"{JOBS}?key=very-secret")
    after = before[-1]["number"] + 1  # that of the request for the log
    answer = ask(emulator, "GET", f"/_local/requests?after={after}")
    log = answer.json()["requests"]
    assert [(entry["method"], entry["status"], entry["received"]) for entry in log] == [
        ("POST", 200, 25),
        ("POST", 200, 2),
        ("PUT", 200, 5),
        ("GET", 403, 0),
        ("GET", 200, 0),
    ]
    assert log[0]["target"] == BUCKETS
    text = answer.body.decode()
    assert emulator.token not in text
    assert secret_of(emulator) not in text
    assert location.rpartition("=")[2] not in text
    assert "very-secret" not in text


def test_targets_that_are_no_paths(emulator: Daemon) -> None:
    token = f"Authorization: Bearer {emulator.token}\r\n"
    for target in (f"http://127.0.0.1{JOBS}", "*", "evil.example:443", "/v1/\xffx", "/v1/\x01x", ""):
        request = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{token}Connection: close\r\n\r\n"
        status = send_bytes(emulator.url, request.encode("latin-1")).split(b" ")[1:2]
        assert status == [b"400"], target


def test_a_page_in_a_bucket_cannot_act(emulator: Daemon, bucket: Any) -> None:
    """Sandbox an object that is a web page, because its scripts could read the secret in its address."""
    bucket.blob("report.html").upload_from_string("<script>1</script>", content_type="text/html")
    path = f"/download/storage/v1/b/{bucket.name}/o/report.html?alt=media"
    answer = call(emulator.storage_url, "GET", path, headers={"Sec-Fetch-Site": "none"})
    assert answer.status == 200
    assert answer.headers["Content-Security-Policy"] == "sandbox"
