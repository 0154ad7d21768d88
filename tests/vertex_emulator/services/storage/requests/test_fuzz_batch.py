"""Batches: any body gets an answer, one for each part that can be read; no part reaches anything else."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support.emulated.emulator import Answer
from support.emulated.services.storage import ask
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon

FEW = settings(
    max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PIECES = st.sampled_from(
    [
        *(
            b"--b",
            b"--b--",
            b"--",
            b"\r\n",
            b"\n",
            b"\r",
            b" ",
            b"Content-Type: application/http",
            b":",
            b"\x00",
        ),
        *(
            b"Content-ID: <1>",
            b"GET /storage/v1/b/x HTTP/1.1",
            b"DELETE",
            b"HTTP/1.1",
            b"{}",
            b"Content-Length: 9",
        ),
    ]
)
METHODS = st.sampled_from(["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "CONNECT", "get"])
ROOTS = st.sampled_from(
    [
        *(
            "/storage/v1/b",
            "/storage/v1/b/",
            "/storage/v1/",
            "/storage/v1/../../",
            "/upload/storage/v1/b/x/o",
        ),
        *(
            "/batch/storage/v1",
            "/_local/",
            "/v1/",
            "/v2/",
            "//storage/v1/b/",
            "http://elsewhere/storage/v1/b/",
        ),
        *("http://[", "/storage/v1/b?alt=media&", "/s/x/storage/v1/b", "*", "/download/storage/v1/b/x/o/y"),
    ]
)
ENDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(
    lambda text: quote(text, safe="/?=&%")
)


def send(emulator: Daemon, body: bytes) -> Answer:
    headers = {"Content-Type": "multipart/mixed; boundary=b"}
    return ask(emulator, "POST", "/batch/storage/v1", body, headers=headers)


@FEW
@given(st.lists(PIECES, max_size=20).map(b"".join) | st.binary(max_size=60))
def test_any_bytes(emulator: Daemon, body: bytes) -> None:
    assert send(emulator, body).status in (200, 400)


@FEW
@given(
    calls=st.lists(st.tuples(METHODS, ROOTS, ENDS, st.binary(max_size=10)), min_size=1, max_size=4),
)
def test_any_calls(emulator: Daemon, calls: list[tuple[str, str, str, bytes]]) -> None:
    body = b"".join(
        f"--b\r\nContent-Type: application/http\r\n\r\n{method} {root}{end} HTTP/1.1\r\n\r\n".encode()
        + content.replace(b"-", b"")
        + b"\r\n"
        for method, root, end, content in calls
    )
    answer = send(emulator, body + b"--b--")
    assume(answer.status != 400)
    parts = answer.body.split(b"Content-Type: application/http\r\n\r\n")[1:]
    statuses = [int(part.split(b" ", 2)[1]) for part in parts]
    assert (answer.status, len(statuses)) == (200, len(calls))
    assert all(status < 500 for status in statuses), (calls, answer.body)


@FEW
@given(
    path=st.sampled_from(
        ["/_local/info", "/_local/shutdown", "/v1/projects/local/locations", "/v2/", "/healthz"]
    )
)
def test_no_part_leads_out_of_cloud_storage(emulator: Daemon, path: str, bucket: Any) -> None:
    for target in (path, f"/storage/v1/../..{path}", f"http://127.0.0.1{path}"):
        call = f"--b\r\nContent-Type: application/http\r\n\r\nGET {target} HTTP/1.1\r\n\r\n\r\n--b--"
        answer = send(emulator, call.encode())
        assert b"HTTP/1.1 200" not in answer.body
        assert emulator.token.encode() not in answer.body
