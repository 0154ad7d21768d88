"""Bytes of any kind on the emulator's port: an answer or an end, and the next client is served."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support.emulated.emulator import call, send_bytes
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon

FEW = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

LINES = st.sampled_from(
    [
        *(b"GET /storage/v1/b HTTP/1.1", b"PUT /fuzzed/o HTTP/1.1", b"POST /batch/storage/v1 HTTP/1.1"),
        *(
            b"POST /upload/storage/v1/b/x/o?uploadType=multipart HTTP/1.1",
            b"PATCH /v2/a.b/c/blobs/uploads/x HTTP/1.1",
        ),
        *(b"GET /storage/v1/b", b"HTTP/1.1", b"GET  HTTP/1.1", b"\x16\x03\x01", b"PRI * HTTP/2.0"),
    ]
)
FIELDS = st.sampled_from(
    [
        *(
            b"Host: 127.0.0.1",
            b"Host: evil.example",
            b"Host:",
            b"Transfer-Encoding: chunked",
            b"Connection: close",
        ),
        *(
            b"Content-Length: 5",
            b"Content-Length: -1",
            b"Content-Length: 5, 5",
            b"Content-Length: 99999999999999999",
        ),
        *(
            b"Transfer-Encoding: gzip, chunked",
            b"Expect: 100-continue",
            b"no colon",
            b": no name",
            b" folded",
        ),
        *(b"Content-Type: multipart/related; boundary=b", b"Content-Type: application/json", b"A: \x00\xff"),
        *(
            b"Content-Encoding: gzip",
            b"Range: bytes=0-",
            b"Authorization: Basic !!!",
            b"Origin: http://evil.example",
        ),
    ]
)
BODIES = st.sampled_from(
    [
        *(
            b"hello",
            b"5\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhel",
            b"zz\r\n",
            b"-5\r\n",
            b"5;x\r\nhello\r\n",
            b"0\r\n",
        ),
        *(
            b"ffffffffffffffff\r\n",
            b"--b\r\n\r\n{}\r\n--b\r\n\r\nx\r\n--b--",
            b"\x1f\x8b\x08",
            b"{" * 50,
            b"",
        ),
    ]
)


@FEW
@given(line=LINES, fields=st.lists(FIELDS, max_size=6), body=BODIES, with_token=st.booleans())
@example(line=b"GET /" + b"a" * 20_000 + b" HTTP/1.1", fields=[], body=b"", with_token=True)
@example(line=b"GET / HTTP/1.1", fields=[b"A: b"] * 300, body=b"", with_token=True)
@example(line=b"GET / HTTP/1.1", fields=[b"A: " + b"b" * 100_000], body=b"", with_token=True)
def test_anything(emulator: Daemon, line: bytes, fields: list[bytes], body: bytes, with_token: bool) -> None:
    token = [f"Authorization: Bearer {emulator.token}".encode()] if with_token else []
    answer = send_bytes(emulator.url, b"\r\n".join([line, *token, *fields, b"", body]))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert not answer.startswith(b"HTTP/1.1 500")
    assert emulator.token.encode() not in answer
    assert call(emulator.url, "GET", "/_local/health").status == 200


@FEW
@given(data=st.binary(max_size=200))
def test_noise(emulator: Daemon, data: bytes) -> None:
    answer = send_bytes(emulator.url, data)
    assert not answer.startswith(b"HTTP/1.1 500")
    assert call(emulator.url, "GET", "/_local/health").status == 200


@pytest.mark.parametrize(
    "path", ["/storage/v1/b", "/fuzzed", "/v2/", "/v1/projects/local/locations", "/_local/info"]
)
@FEW
@given(
    headers=st.dictionaries(
        st.sampled_from(["Authorization", "Origin", "Sec-Fetch-Site", "Cookie", "X-Goog-Api-Key"]),
        st.sampled_from(
            ["Bearer ", "Bearer x", "Basic Og==", "Basic", "cross-site", "http://evil.example", "null"]
        ),
        max_size=3,
    ),
    query=st.sampled_from(
        ["", "?access_token=x", "?upload_id=x", "?X-Goog-Signature=00", "?key=x", "?Signature=x"]
    ),
)
def test_no_way_in_without_a_secret(emulator: Daemon, path: str, headers: dict[str, str], query: str) -> None:
    assert call(emulator.url, "GET", path + query, headers=headers).status in (400, 401, 403)
