"""Attempts to reach through the proxy what it must not open. Each one is what an attacker would try."""

from __future__ import annotations

import json
from pathlib import Path

import grpc
import pytest

from support.emulated.clients.door import Door, read_head
from support.emulated.emulator import ask, call
from vertex_emulator.kernel.disk import data_folder

HOST = "us-central1-aiplatform.googleapis.com"
STORAGE = "storage.googleapis.com"


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def request(path: str, host: str, *fields: str, method: str = "GET") -> str:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *fields]
    return "\r\n".join([*lines, "", ""])


OWNER = "Authorization: Bearer TOKEN"


# The emulator's own controls


@pytest.mark.parametrize(
    "path",
    [
        "/_local/info",
        "/_local/health?nonce=1",
        "/_local/jobs",
        "/_local/export",
        "/_local/service-account",
        "/%5flocal/info",
        "/_LOCAL/info",
        "//_local/info",
        "/v1/../_local/info",
        "/./_local/info",
        "/storage/../_local/info",
    ],
)
@pytest.mark.parametrize("host", [HOST, STORAGE, "gcr.io", "us-docker.pkg.dev", "www.googleapis.com"])
def test_the_controls_are_closed_even_with_the_owners_token(door: Door, host: str, path: str) -> None:
    answer = door.ask(host, request(path, host, OWNER))
    assert status(answer) in (400, 401, 403, 404, 405), answer
    assert b"dataDir" not in answer and b"proof" not in answer


def test_a_bucket_named_like_the_controls_does_not_lead_there(door: Door) -> None:
    for bucket in ("_local", "x_local", "..%2f_local"):
        with door.open() as connection:
            head = f"CONNECT {bucket}.storage.googleapis.com:443 HTTP/1.1\r\nCREDENTIALS\r\n\r\n"
            connection.sendall(door.with_credentials(head).encode())
            first = read_head(connection)
        if first.startswith(b"HTTP/1.1 200"):
            host = f"{bucket}.storage.googleapis.com"
            answer = door.ask(host, request("/info", host, OWNER))
            assert b"dataDir" not in answer, bucket


def test_the_controls_cannot_be_stopped_from_here(door: Door) -> None:
    answer = door.ask(HOST, request("/_local/shutdown", HOST, OWNER, "Content-Length: 0", method="POST"))
    assert status(answer) == 404
    assert ask(door.daemon, "GET", "/_local/info").status == 200


@pytest.mark.parametrize("named", ["127.0.0.1", "localhost", "evil.example", STORAGE, f"{HOST}:444", ""])
def test_another_host_in_the_request_is_refused(door: Door, named: str) -> None:
    """Name another host in the request: that of the tunnel decides."""
    answer = door.ask(HOST, request("/_local/info", named, OWNER))
    assert status(answer) in (400, 421)
    answer = door.ask(HOST, request("/v1/projects/local/locations/us-central1/customJobs", named, OWNER))
    assert status(answer) in (400, 421)


def test_an_absolute_target_does_not_lead_elsewhere(door: Door) -> None:
    answer = door.ask(HOST, request(f"{door.daemon.url}/_local/info", HOST, OWNER))
    assert status(answer) == 400


def test_a_second_tunnel_inside_the_first_is_none(door: Door) -> None:
    answer = door.ask(HOST, request("127.0.0.1:80", HOST, OWNER, method="CONNECT"))
    assert status(answer) in (400, 405)


# The data


def test_the_secret_of_the_proxy_opens_no_data(door: Door) -> None:
    secret = door.secret
    for host, path in (
        (STORAGE, "/storage/v1/b?project=local"),
        (HOST, "/v1/projects/local/locations/us-central1/customJobs"),
        ("gcr.io", "/v2/"),
    ):
        assert status(door.ask(host, request(path, host))) == 401
        assert status(door.ask(host, request(path, host, f"Authorization: Bearer {secret}"))) == 401
        assert status(door.ask(host, request(path, host, f"Proxy-Authorization: Bearer {secret}"))) == 401
        assert call(door.daemon.url, "GET", path, token=secret).status == 401


@pytest.mark.parametrize("token", ["", "Authorization: Bearer SECRET\r\n", "Authorization: Bearer x\r\n"])
def test_a_batch_without_a_token_opens_no_data(door: Door, token: str) -> None:
    """Send what Google's library for Java sends, but in the parts another secret, or none."""
    ours = f"Authorization: Bearer {door.daemon.token}\r\n"
    found = [
        door.ask(STORAGE, batch_of(f"GET /storage/v1/b?project=local HTTP/1.1\r\n{field}", path=path))
        for field in (token.replace("SECRET", door.secret), ours)
        for path in ("/batch/storage/v1", "//batch/storage/v1")
    ]
    assert [status(answer) for answer in found] == [200] * 4
    assert [b"HTTP/1.1 401" in answer for answer in found] == [True, True, False, False]
    assert [b"storage#buckets" in answer for answer in found] == [False, False, True, True]


def test_a_batch_without_a_token_needs_the_proxy(door: Door) -> None:
    for path in ("/batch/storage/v1", "//batch/storage/v1"):
        headers = {"Content-Type": "multipart/mixed; boundary=edge"}
        part = f"GET /storage/v1/b?project=local HTTP/1.1\r\nAuthorization: Bearer {door.daemon.token}\r\n"
        body = batch_of(part).partition("\r\n\r\n")[2].encode()
        assert call(door.daemon.url, "POST", path, body=body, headers=headers).status == 401


def batch_of(part: str, path: str = "/batch/storage/v1") -> str:
    """Return a batch of one call without a token of its own."""
    body = f"--edge\r\nContent-Type: application/http\r\n\r\n{part}\r\n\r\n--edge--\r\n"
    length = f"Content-Length: {len(body)}"
    kind = "Content-Type: multipart/mixed; boundary=edge"
    return request(path, STORAGE, kind, length, method="POST") + body


def test_the_prefixes_of_the_own_address_do_not_work_here(door: Door) -> None:
    token = door.daemon.token
    storage, metadata = data_folder.storage_secret(token), data_folder.metadata_secret(token)
    paths = [
        f"/s/{storage}/storage/v1/b?project=local",
        f"/m/{metadata}/local/computeMetadata/v1/instance/service-accounts/default/token",
    ]
    for path in paths:
        for host in (STORAGE, HOST):
            answer = door.ask(host, request(path, host, "Metadata-Flavor: Google"))
            assert status(answer) in (401, 404)
            assert b"access_token" not in answer


def test_a_web_page_gets_nothing(door: Door) -> None:
    """Send the fields that a browser in a shell with the proxy sends for a page."""
    path = "/storage/v1/b?project=local"
    for field in ("Origin: https://evil.example", "Sec-Fetch-Site: cross-site"):
        assert status(door.ask(STORAGE, request(path, STORAGE, OWNER, field))) == 403


def test_grpc_needs_the_token_as_well(door: Door) -> None:
    options = [
        ("grpc.http_proxy", door.url),
        ("grpc.ssl_target_name_override", HOST),
    ]
    roots = (door.certificates / "bundle.pem").read_bytes()
    method = "/google.cloud.aiplatform.v1.JobService/ListCustomJobs"
    for metadata in ((), (("authorization", f"Bearer {door.secret}"),)):
        with grpc.secure_channel(f"{HOST}:443", grpc.ssl_channel_credentials(roots), options) as channel:
            listing = channel.unary_unary(method)
            with pytest.raises(grpc.RpcError) as caught:
                listing(b"", metadata=metadata, timeout=60)
            assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED  # type: ignore[attr-defined]


# Other services of this machine, and of its network


@pytest.mark.parametrize(
    "target",
    [
        "127.0.0.1:PORT",
        "localhost:PORT",
        "[::1]:PORT",
        "[::ffff:127.0.0.1]:443",
        "127.0.0.1:443",
        "127.1:443",
        "2130706433:443",
        "0x7f000001:443",
        "0.0.0.0:443",
        "[::]:443",
        "localhost:443",
        "localhost.:443",
        "169.254.169.254:80",
        "169.254.169.254:443",
        "[fd00:ec2::254]:443",
        "metadata.google.internal:443",
        "metadata:443",
        "10.0.0.1:443",
        "192.168.0.1:443",
        "storage.googleapis.com:PORT",
        "storage.googleapis.com:22",
        "[fe80::1%25lo]:443",
        "/run/docker.sock:443",
    ],
)
def test_other_services_are_out_of_reach(door: Door, target: str) -> None:
    """PORT is that of the emulator itself."""
    port = door.daemon.url.rpartition(":")[2]
    head = f"CONNECT {target.replace('PORT', port)} HTTP/1.1\r\nHost: {STORAGE}:443\r\nCREDENTIALS\r\n\r\n"
    assert status(door.knock(head)) in (400, 403)


def test_the_host_field_of_a_tunnel_has_no_effect(door: Door) -> None:
    head = f"CONNECT {STORAGE}:443 HTTP/1.1\r\nHost: 127.0.0.1:22\r\nCREDENTIALS\r\n\r\n"
    with door.open() as connection:
        connection.sendall(door.with_credentials(head).encode())
        assert read_head(connection).startswith(b"HTTP/1.1 200")


def test_plain_requests_are_not_forwarded(door: Door) -> None:
    for url in (f"{door.daemon.url}/_local/info", "http://169.254.169.254/", "ftp://127.0.0.1/"):
        head = f"GET {url} HTTP/1.1\r\nHost: 127.0.0.1\r\nCREDENTIALS\r\n\r\n"
        assert status(door.knock(head)) == 405


def test_bytes_after_the_request_are_not_read_as_another_one(door: Door) -> None:
    """Expect that a tunnel to Google's host gets them, where they are no handshake."""
    smuggled = f"CONNECT 127.0.0.1:{door.daemon.url.rpartition(':')[2]} HTTP/1.1\r\nCREDENTIALS\r\n\r\n"
    head = f"CONNECT {STORAGE}:443 HTTP/1.1\r\nCREDENTIALS\r\n\r\n{smuggled}"
    answer = door.knock(head)
    assert answer.count(b"HTTP/1.1 ") == 1


# Other users of this machine


def test_it_listens_on_this_machine_only(door: Door) -> None:
    record = data_folder.read_record(door.daemon.folder)
    assert record is not None and record.proxy is not None
    port = int(record.proxy.rpartition(":")[2])
    # Other lines are connections, also ended ones of clients that write the address as one of IPv6.
    tables = [Path("/proc/net", name).read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    listening = [line.split()[1] for table in tables for line in table if line.split()[3] == "0A"]
    assert [each for each in listening if each.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]


def test_files_that_have_secrets_are_the_owners_alone(door: Door) -> None:
    folder = door.daemon.folder.root
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "proxy").stat().st_mode & 0o077 == 0
    assert (folder / "proxy" / "intermediate.pem").stat().st_mode & 0o077 == 0
    assert "@" not in json.loads(folder.joinpath("emulator.json").read_text())["proxy"]


def test_the_secret_is_not_in_the_log_of_requests(door: Door) -> None:
    door.ask(STORAGE, request(f"/storage/v1/b?project=local&key={door.secret}", STORAGE, OWNER))
    found = ask(door.daemon, "GET", "/_local/requests")
    assert found.status == 200
    assert door.secret.encode() not in found.body
