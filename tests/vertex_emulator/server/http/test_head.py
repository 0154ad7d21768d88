"""Heads of requests: what is rejected, and that h11, a parser by others, reads the rest the same way."""

from __future__ import annotations

import io
from typing import Any

import h11
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.emulated.emulator import send_bytes
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.server.http.bodies import BodyCutShortError, WireBody, body_length, promised_length
from vertex_emulator.server.http.head import read_head
from vertex_emulator.server.http.messages import HttpError

LINE = b"GET /v1/x?y=z HTTP/1.1\r\n"
HOST = b"Host: 127.0.0.1\r\n"

MALFORMED = {
    "no colon": LINE + HOST + b"Origin\r\n\r\n",
    "a line that hides the next": LINE + b"garbage\r\n" + HOST + b"Origin: http://evil.example\r\n\r\n",
    "a space before the colon": LINE + HOST + b"Content-Length : 5\r\n\r\n",
    "a tab before the colon": LINE + HOST + b"Transfer-Encoding\t: chunked\r\n\r\n",
    "no name": LINE + HOST + b": x\r\n\r\n",
    "a space before the name": LINE + b" " + HOST + b"\r\n",
    "a folded line": LINE + HOST + b"X: a\r\n b\r\n\r\n",
    "a folded framing": LINE + HOST + b"Transfer-Encoding:\r\n chunked\r\n\r\n",
    "a line of spaces": LINE + HOST + b"  \r\n\r\n",
    "a bare LF": LINE + b"Host: 127.0.0.1\nX: y\r\n\r\n",
    "a bare LF after the request line": b"GET / HTTP/1.1\n" + HOST + b"\r\n",
    "a bare LF at the end": LINE + HOST + b"\n",
    "a bare CR": LINE + b"Host: 127.0.0.1\rContent-Length: 5\r\n\r\n",
    "two CRs": LINE + b"Host: 127.0.0.1\r\r\n\r\n",
    "NUL in a value": LINE + HOST + b"X: a\x00b\r\n\r\n",
    "NUL in a name": LINE + HOST + b"X\x00: b\r\n\r\n",
    "a vertical tab": LINE + HOST + b"Transfer-Encoding: \x0bchunked\r\n\r\n",
    "a form feed in a name": LINE + HOST + b"\x0cContent-Length: 5\r\n\r\n",
    "a name beyond ASCII": LINE + HOST + b"X\xe9: b\r\n\r\n",
    "DEL": LINE + HOST + b"X: \x7f\r\n\r\n",
    "two lengths": LINE + HOST + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "two hosts": LINE + HOST + HOST + b"\r\n",
    "two encodings": LINE + HOST + b"Transfer-Encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n",
    "no host": LINE + b"\r\n",
    "an encoding in 1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/0.9": b"GET /\r\n",
    "two spaces": b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n",
    "a space behind": b"GET / HTTP/1.1 \r\n" + HOST + b"\r\n",
    "a tab": b"GET\t/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "an empty line first": b"\r\n" + LINE + HOST + b"\r\n",
    "a method that is no token": b"GE(T / HTTP/1.1\r\n" + HOST + b"\r\n",
    "a lower-case protocol": b"GET / http/1.1\r\n" + HOST + b"\r\n",
    "a long version": b"GET / HTTP/1.10\r\n" + HOST + b"\r\n",
    "a signed version": b"GET / HTTP/+1.1\r\n" + HOST + b"\r\n",
}

UNSUPPORTED = (b"HTTP/2.0", b"HTTP/1.2", b"HTTP/0.9", b"HTTP/3.1")


def refusal(data: bytes) -> int | None:
    """Return the status with which a head is refused, or None if it is accepted."""
    try:
        head = read_head(io.BytesIO(data))
        assert head is not None, "the head has an end"
        body_length(head.headers, method=head.method)
    except HttpError as error:
        return error.status
    return None


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_head(case: str) -> None:
    assert refusal(MALFORMED[case]) == 400


def test_versions() -> None:
    for version in UNSUPPORTED:
        assert refusal(b"GET / " + version + b"\r\n" + HOST + b"\r\n") == 505, version
    assert refusal(b"GET / HTTP/1.0\r\n\r\n") is None


def test_framings() -> None:
    def framing(fields: bytes, method: bytes = b"POST") -> int | None:
        return refusal(method + b" / HTTP/1.1\r\n" + HOST + fields + b"\r\n")

    assert framing(b"Transfer-Encoding: chunked\r\n", b"GET") == 400
    assert framing(b"Content-Length: 5\r\n", b"HEAD") == 400
    assert framing(b"Transfer-Encoding: Chunked\r\n") is None
    for value in (b"+5", b"-5", b"5, 5", b"0x5", b"5 5", b"5.0", b"1_0", b"\xb2", b"", b"9" * 16):
        assert framing(b"Content-Length: " + value + b"\r\n") == 400, value
    for value in (
        b"chunked, chunked",
        b"identity",
        b"xchunked",
        b"chunked;q=1",
        b"chunked\xa0",
        b'"chunked"',
    ):
        assert framing(b"Transfer-Encoding: " + value + b"\r\n") == 501, value


@pytest.mark.parametrize(
    ("method", "named", "intended"),
    [
        ("POST", "PATCH", "PATCH"),
        ("POST", "DELETE", "DELETE"),
        ("POST", "POST", "POST"),
        ("GET", "DELETE", "GET"),
        ("PUT", "PATCH", "PUT"),
    ],
)
def test_the_method_in_a_header(method: str, named: str, intended: str) -> None:
    """Expect what Google's library for Java sends, as HTTP in Java knows no PATCH."""
    head = read_head(
        io.BytesIO(f"{method} / HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: {named}\r\n\r\n".encode())
    )
    assert head is not None and head.method == intended


@pytest.mark.parametrize("named", ["GET", "HEAD", "CONNECT", "patch", ""])
def test_a_method_in_a_header_that_is_refused(named: str) -> None:
    text = f"POST / HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: {named}\r\n\r\n"
    with pytest.raises(HttpError, match="supports DELETE, PATCH, PUT") as caught:
        read_head(io.BytesIO(text.encode()))
    assert caught.value.status == 400


def test_an_empty_body_as_tensorflow_sends_it() -> None:
    """Accept `identity` of RFC 2616 where it cannot move the end of a body: without one."""

    def framing(*fields: bytes) -> int | None:
        return refusal(LINE + HOST + b"".join(field + b"\r\n" for field in fields) + b"\r\n")

    assert framing(b"Content-Length: 0", b"Transfer-Encoding: identity") is None
    assert framing(b"Transfer-Encoding: identity", b"Content-Length: 0") is None
    for length, status in ((b"5", 501), (b"00", 501), (b"-0", 400), (b"", 400)):
        found = framing(b"Content-Length: " + length, b"Transfer-Encoding: identity")
        assert found == status, length
    for value in (b"identity, chunked", b"identity;q=1", b"Identity "):
        assert framing(b"Content-Length: 0", b"Transfer-Encoding: " + value) == 501, value


def test_spaces_in_a_value_take_linear_time() -> None:
    """Read 60 KB of spaces; a pattern with optional spaces at both ends of the value never ends."""
    assert refusal(LINE + HOST + b"X: a" + b" \t" * 30_000 + b"b\r\n\r\n") is None
    assert refusal(LINE + HOST + b"X: a" + b" \t" * 30_000 + b"\x00\r\n\r\n") == 400


def test_bounds() -> None:
    many = b"".join(b"X-%d: y\r\n" % number for number in range(100))
    assert refusal(LINE + HOST + many[: many.rindex(b"X-99")] + b"\r\n") is None
    assert refusal(LINE + HOST + many + b"\r\n") == 431
    assert refusal(LINE + HOST + b"X: " + b"y" * 65_536 + b"\r\n\r\n") == 431
    assert refusal(b"GET /" + b"y" * 16_384 + b" HTTP/1.1\r\n" + HOST + b"\r\n") == 414


@pytest.mark.parametrize("case", MALFORMED)
def test_nothing_behind_a_malformed_head_is_answered(emulator: Daemon, case: str) -> None:
    """Send a complete request behind it on the same connection, as an attack would."""
    token = f"Authorization: Bearer {emulator.token}\r\n".encode()
    head, _, rest = MALFORMED[case].partition(b"\r\n")
    behind = b"GET /_local/info HTTP/1.1\r\n" + HOST + token + b"\r\n"
    received = send_bytes(emulator.url, head + b"\r\n" + token + rest + behind)
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1 ") == 1
    assert b"Connection: close\r\n" in received
    assert b'"pid"' not in received


# The rest is compared with h11

NAMES = st.sampled_from(
    [
        *(b"Host", b"Content-Length", b"Transfer-Encoding", b"Connection", b"Expect", b"Origin", b"X"),
        *(
            b"content-length ",
            b"Transfer-Encoding\t",
            b" Host",
            b"",
            b"X\x00",
            b"X(",
            b"\xc3\xa9",
            b"X:Y",
            b"X\x0b",
        ),
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        [
            *(b"127.0.0.1", b"evil.example", b"5", b"0", b"+5", b"5, 5", b"chunked", b"identity", b"close"),
            *(
                b"\x0bchunked",
                b"chunked\xa0",
                b"a\rb",
                b"a\nb",
                b"a\r\n b",
                b"a\x00b",
                b"",
                b" \t",
                b"100-continue",
            ),
        ]
    ),
    st.binary(max_size=6),
)
SEPARATORS = st.sampled_from([b": ", b":", b":\t", b" : ", b" ", b"", b"::"])
ENDS = st.sampled_from([b"\r\n"] * 12 + [b"\n", b"\r", b"\r\r\n", b""])
FIELDS = st.lists(st.tuples(NAMES, SEPARATORS, VALUES, ENDS).map(b"".join), max_size=5)
LINES = st.one_of(
    st.tuples(
        st.sampled_from([b"GET", b"POST", b"HEAD", b"PRI", b"get", b"G\x00T", b""]),
        st.sampled_from([b" ", b" ", b" ", b"  ", b"\t", b""]),
        st.sampled_from([b"/", b"/a?b=%00", b"*", b"http://evil.example/", b"/\xff", b"/a b", b""]),
        st.sampled_from([b" ", b" ", b" ", b"  ", b""]),
        st.sampled_from(
            [b"HTTP/1.1"] * 4 + [b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.1 ", b"http/1.1"]
        ),
        ENDS,
    ).map(b"".join),
    st.just(LINE),
)
BODIES = st.one_of(
    st.sampled_from([b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n"]),
    st.lists(
        st.sampled_from([b"5", b"0", b"\r\n", b"\n", b"hello", b";", b" ", b"a", b"A: b", b"\x00", b"-"]),
        max_size=12,
    ).map(b"".join),
)


def of_h11(data: bytes) -> tuple[Any, ...] | None:
    """Return method, target, header fields and body by h11, or None if it accepts no whole request."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    found: tuple[Any, ...] = ()
    body = b""
    try:
        connection.receive_data(data)
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                found = (event.method, event.target, sorted(event.headers.raw_items()))
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return (*found, body)
            else:
                return None
    except h11.RemoteProtocolError:
        return None


def of_ours(data: bytes) -> tuple[Any, ...] | None:
    """Return the same by our parser."""
    stream = io.BytesIO(data)
    try:
        head = read_head(stream)
        if head is None:
            return None
        length = body_length(head.headers, method=head.method)
        promised = promised_length(head.headers) if length is None else None
        wire = WireBody(stream, length=length, promised=promised)
        body = b""
        while part := wire.read(65536):
            body += part
    except (HttpError, BodyCutShortError):
        return None
    return head.method.encode(), head.target.encode(), dict(head.headers), body


def compare(data: bytes) -> bool:
    """Compare both parsers. Return False if ours rejects the request, which it may."""
    ours = of_ours(data)
    if ours is None:
        return False
    if ours[2].get("transfer-encoding") == "identity":  # h11 knows it no longer
        assert ours[3] == b""
        return True
    theirs = of_h11(data)
    assert theirs is not None, data
    assert ours[:2] == theirs[:2]
    assert ours[3] == theirs[3], "the body ends elsewhere"
    joined: dict[str, list[str]] = {}
    for name, value in theirs[2]:
        joined.setdefault(name.decode().lower(), []).append(value.decode("latin-1"))
    assert {name: sorted(value.split(", ")) for name, value in ours[2].items()} == {
        name: sorted(", ".join(values).split(", ")) for name, values in joined.items()
    }
    return True


@settings(max_examples=examples(900), deadline=None)
@given(line=LINES, fields=FIELDS, with_host=st.booleans(), body=BODIES)
@example(line=LINE, fields=[b"Content-Length: 0\r\n"], with_host=True, body=b"")
def test_what_is_accepted_is_what_h11_reads(
    line: bytes, fields: list[bytes], with_host: bool, body: bytes
) -> None:
    """Accept less than h11, which takes folded lines, bare LF and equal lengths, and nothing else."""
    compare(b"".join([line, HOST if with_host else b"", *fields, b"\r\n", body]))


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n5"
REQUESTS = (
    LINE + HOST + b"User-Agent: curl/8\r\nAccept: */*\r\n\r\n",
    b"POST /x HTTP/1.1\r\n" + HOST + b'Content-Length: 5\r\nContent-Type: a/b; c="d"\r\n\r\nhello',
    b"PATCH /x HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\nhello\r\n0\r\n\r\n",
    b"PUT /x HTTP/1.1\r\n" + HOST + CHUNKED + b";x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    LINE + HOST + b"X: \xc3\xa9 \t \r\nEmpty:\r\nX: again\r\n\r\n",
)
"""As curl, requests, Go and Docker send them."""

BYTES = st.sampled_from([b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b",", b"0", b";"])
EDITS = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 2), st.one_of(BYTES, st.binary(max_size=2))),
    min_size=1,
    max_size=3,
)


@settings(max_examples=examples(1500), deadline=None)
@given(request=st.sampled_from(REQUESTS), edits=EDITS)
def test_requests_with_a_few_wrong_bytes(request: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    for at, removed, put in edits:
        begin = at % len(request)
        request = request[:begin] + put + request[begin + removed :]
    compare(request)


def test_both_accept_what_clients_send() -> None:
    assert [compare(request) for request in REQUESTS] == [True] * len(REQUESTS)
