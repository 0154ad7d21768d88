"""Uploads as different clients frame them: resumable in pieces and after interruptions, multipart, media."""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import socket
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support.emulated.emulator import Answer, ask, call
from support.measured.growth import is_linear
from support.properties import examples
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.server.http.messages import Body, HttpError
from vertex_emulator.services.storage.uploads.calls import Multipart

GRAIN = 256 * 1024


class Session:
    """A resumable upload, step by step."""

    def __init__(self, emulator: Daemon, bucket: str, name: str = "o", **headers: str) -> None:
        self.begun = call(
            emulator.storage_url,
            "POST",
            f"/upload/storage/v1/b/{bucket}/o?uploadType=resumable",
            body={"name": name},
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )
        self.url = self.begun.headers.get("Location", "")

    def send(self, data: bytes, content_range: str | None, **headers: str) -> Answer:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if content_range is not None:
            given["Content-Range"] = f"bytes {content_range}"
        parts = urlsplit(self.url)
        base = f"{parts.scheme}://{parts.netloc}"
        return call(base, "PUT", f"{parts.path}?{parts.query}", body=data, headers=given)

    def cancel(self) -> Answer:
        parts = urlsplit(self.url)
        base = f"{parts.scheme}://{parts.netloc}"
        return call(base, "DELETE", f"{parts.path}?{parts.query}", body=b"")


@pytest.mark.parity(
    "Cloud Storage: uploads of other languages' clients", own_way="both, as Node's and Go's clients need it"
)
@pytest.mark.parametrize("total", ["*", str(GRAIN + 7)])
def test_a_piece_without_an_end_is_the_rest(emulator: Daemon, bucket: Any, total: str) -> None:
    """Google's client for Node sends `bytes 0-*/*`."""
    data = os.urandom(GRAIN + 7)
    session = Session(emulator, bucket.name)
    assert session.send(data, f"0-*/{total}").status == 200
    assert bucket.blob("o").download_as_bytes() == data


def test_a_piece_without_an_end_resumes_an_upload(emulator: Daemon, bucket: Any) -> None:
    data = os.urandom(2 * GRAIN + 7)
    session = Session(emulator, bucket.name)
    assert session.send(data[:GRAIN], f"0-{GRAIN - 1}/*").status == 308
    assert session.send(data[GRAIN:], f"{GRAIN}-*/*").status == 200
    assert bucket.blob("o").download_as_bytes() == data


def test_a_piece_without_an_end_and_its_total(emulator: Daemon, bucket: Any) -> None:
    data = os.urandom(GRAIN)
    session = Session(emulator, bucket.name)
    short = session.send(data, f"0-*/{GRAIN + 7}")
    assert (short.status, short.headers["Range"]) == (308, f"bytes=0-{GRAIN - 1}")
    long = session.send(b"x" * 8, f"{GRAIN}-*/{GRAIN + 7}")
    assert (long.status, "longer than its Content-Range" in long.message) == (400, True)
    assert session.send(b"y" * 7, f"{GRAIN}-*/{GRAIN + 7}").status == 200
    assert bucket.blob("o").download_as_bytes() == data + b"y" * 7


@pytest.mark.parity("Cloud Storage: uploads of other languages' clients")
def test_308_is_200_for_clients_that_ask_for_it(emulator: Daemon, bucket: Any) -> None:
    """Google's client for Go asks, because Go follows 308 as a redirection."""
    session = Session(emulator, bucket.name)
    data = os.urandom(GRAIN)
    piece = session.send(data, f"0-{GRAIN - 1}/*", X_GUploader_No_308="yes")
    assert (piece.status, piece.headers["X-Http-Status-Code-Override"]) == (200, "308")
    assert piece.headers["Range"] == f"bytes=0-{GRAIN - 1}"
    status = session.send(b"", "*/*", X_GUploader_No_308="yes")
    assert (status.status, status.headers["X-Http-Status-Code-Override"]) == (200, "308")
    done = session.send(b"", f"*/{GRAIN}", X_GUploader_No_308="yes")
    assert (done.status, done.headers.get("X-Http-Status-Code-Override")) == (200, None)
    assert bucket.blob("o").download_as_bytes() == data


def test_pieces_status_and_end(emulator: Daemon, bucket: Any) -> None:
    data = os.urandom(2 * GRAIN + 100)
    session = Session(emulator, bucket.name, X_Upload_Content_Type="text/x")
    assert session.begun.status == 200
    assert session.begun.body == b""
    assert session.url.startswith(emulator.storage_url)
    status = session.send(b"", "*/*")
    assert (status.status, status.headers.get("Range")) == (308, None)
    first = session.send(data[:GRAIN], f"0-{GRAIN - 1}/*")
    assert (first.status, first.headers["Range"]) == (308, f"bytes=0-{GRAIN - 1}")
    assert not bucket.blob("o").exists(), "nothing half-written is visible"
    status = session.send(b"", f"*/{len(data)}")
    assert (status.status, status.headers["Range"]) == (308, f"bytes=0-{GRAIN - 1}")
    last = session.send(data[GRAIN:], f"{GRAIN}-{len(data) - 1}/{len(data)}")
    assert last.status == 200
    assert last.json()["contentType"] == "text/x"
    assert bucket.blob("o").download_as_bytes() == data
    for again in (session.send(b"", f"*/{len(data)}"), session.send(data[:9], "0-8/9")):
        assert again.status == 200, "a finished upload answers with its object"
        assert again.json()["generation"] == last.json()["generation"]


def test_all_at_once_without_a_range(emulator: Daemon, bucket: Any) -> None:
    assert Session(emulator, bucket.name).send(b"whole", None).status == 200
    assert bucket.blob("o").download_as_bytes() == b"whole"
    assert Session(emulator, bucket.name).send(b"", "*/0").status == 200
    assert bucket.blob("o").download_as_bytes() == b""


@pytest.mark.parity(
    "Cloud Storage: resumable uploads, and transfers that break off",
    same="after every fault of the conformance tests, also in the middle of a stream",
)
def test_pieces_that_are_no_multiple_count_up_to_the_grain(emulator: Daemon, bucket: Any) -> None:
    data = os.urandom(GRAIN + 5000)
    session = Session(emulator, bucket.name)
    answer = session.send(data, f"0-{len(data) - 1}/*")
    assert answer.headers["Range"] == f"bytes=0-{GRAIN - 1}"
    answer = session.send(data[GRAIN:], f"{GRAIN}-{len(data) - 1}/{len(data)}")
    assert answer.json()["md5Hash"] == base64.b64encode(hashlib.md5(data).digest()).decode()


@pytest.mark.parity("Cloud Storage: resumable uploads, and transfers that break off")
def test_bytes_sent_twice_count_once(emulator: Daemon, bucket: Any) -> None:
    data = os.urandom(3 * GRAIN)
    session = Session(emulator, bucket.name)
    session.send(data[: 2 * GRAIN], f"0-{2 * GRAIN - 1}/*")
    session.send(data[GRAIN:], f"{GRAIN}-{3 * GRAIN - 1}/{3 * GRAIN}").ok()
    assert bucket.blob("o").download_as_bytes() == data


@pytest.mark.parametrize(
    ("content_range", "size", "message"),
    [
        ("10-19/20", 10, "begins at byte 10, but 0 bytes have arrived"),
        ("0-9/5", 10, "contradicts itself"),
        ("9-0/20", 10, "contradicts itself"),
        ("0-4/5", 10, "longer than its Content-Range"),
        ("0-19/20", 10, "ends before its Content-Range"),
        ("0-9", 10, "Content-Range must be"),
        ("x", 10, "Content-Range must be"),
    ],
)
def test_pieces_that_do_not_fit(
    emulator: Daemon, bucket: Any, content_range: str, size: int, message: str
) -> None:
    session = Session(emulator, bucket.name)
    answer = session.send(b"x" * size, content_range)
    assert answer.status == 400
    assert message in answer.message
    assert not bucket.blob("o").exists()
    assert session.send(b"right", "0-4/5").status == 200, "a refused piece leaves the upload as it was"
    assert bucket.blob("o").download_as_bytes() == b"right"


def test_a_size_that_was_announced_binds(emulator: Daemon, bucket: Any) -> None:
    session = Session(emulator, bucket.name, X_Upload_Content_Length="10")
    answer = session.send(b"12345", "0-4/5")
    assert answer.status == 400
    assert "begun with 10" in answer.message


def test_cancel(emulator: Daemon, bucket: Any) -> None:
    others = set(emulator.folder.incoming.iterdir())
    session = Session(emulator, bucket.name)
    session.send(b"x" * GRAIN, f"0-{GRAIN - 1}/*")
    assert session.cancel().status == 499
    assert session.send(b"", "*/*").status == 404
    assert session.cancel().status == 404
    assert set(emulator.folder.incoming.iterdir()) == others


def test_an_upload_belongs_to_its_bucket(emulator: Daemon, storage: Any, bucket: Any) -> None:
    storage.create_bucket(f"{bucket.name}-other")
    session = Session(emulator, bucket.name)
    session.url = session.url.replace(f"/b/{bucket.name}/", f"/b/{bucket.name}-other/")
    assert session.send(b"x", None).status == 404


def test_conditions_of_the_first_request_hold_at_the_end(emulator: Daemon, bucket: Any) -> None:
    path = f"/upload/storage/v1/b/{bucket.name}/o?uploadType=resumable&name=o&ifGenerationMatch=0"
    session = Session(emulator, bucket.name)
    session.url = call(emulator.storage_url, "POST", path, body={}).headers["Location"]
    bucket.blob("o").upload_from_string("quicker")
    assert session.send(b"slower", None).status == 412
    assert bucket.blob("o").download_as_bytes() == b"quicker"
    assert call(emulator.storage_url, "POST", path, body={}).status == 412, "and at once where it can be told"


def test_a_checksum_at_the_end(emulator: Daemon, bucket: Any) -> None:
    session = Session(emulator, bucket.name)
    assert session.send(b"data", "0-3/4", X_Goog_Hash="crc32c=AAAAAA==").status == 400
    assert not bucket.blob("o").exists()


def test_a_connection_lost_in_the_middle(emulator: Daemon, bucket: Any) -> None:
    data = os.urandom(4 * GRAIN)
    session = Session(emulator, bucket.name)
    parts = urlsplit(session.url)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        head = f"PUT {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data[: 2 * GRAIN + 77])
    kept = f"bytes=0-{2 * GRAIN - 1}"
    eventually(lambda: session.send(b"", f"*/{len(data)}").headers.get("Range") == kept)
    assert session.send(data[2 * GRAIN :], f"{2 * GRAIN}-{len(data) - 1}/{len(data)}").status == 200
    assert bucket.blob("o").download_as_bytes() == data


def test_the_path_that_gcloud_uses(emulator: Daemon, bucket: Any) -> None:
    path = f"/resumable/upload/storage/v1/b/{bucket.name}/o?uploadType=resumable&name=o"
    begun = ask(emulator, "POST", path, {})
    assert begun.headers["Location"].startswith(f"{emulator.url}/resumable/upload/")


def test_a_chunked_body(emulator: Daemon, bucket: Any) -> None:
    data = os.urandom(300_000)
    path = f"/upload/storage/v1/b/{bucket.name}/o?uploadType=media&name=o"
    pieces = [data[i : i + 7001] for i in range(0, len(data), 7001)]
    chunks = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(p), p) for p in pieces) + b"0\r\nTrailer: x\r\n\r\n"
    call(emulator.storage_url, "POST", path, body=chunks, headers={"Transfer-Encoding": "chunked"}).ok()
    assert bucket.blob("o").download_as_bytes() == data


def multipart(resource: bytes, data: bytes, *, newline: bytes, boundary: bytes) -> bytes:
    lines = [
        b"--" + boundary,
        b"Content-Type: application/json; charset=UTF-8",
        b"",
        resource,
        b"--" + boundary,
        b"Content-Type: text/plain",
        b"MIME-Version: 1.0",
        b"",
        data,
        b"--" + boundary + b"--",
    ]
    return newline.join(lines)


@pytest.mark.parametrize("newline", [b"\r\n", b"\n"])
@pytest.mark.parametrize("data", [b"", b"\r", b"\n", b"\r\n", b"a\r\n--b", b"x\r", b"--==1==", b"\r\n\r\n"])
def test_multipart_with_both_line_ends(emulator: Daemon, bucket: Any, newline: bytes, data: bytes) -> None:
    body = multipart(b'{"name": "o"}', data, newline=newline, boundary=b"==1==")
    answer = call(
        emulator.storage_url,
        "POST",
        f"/upload/storage/v1/b/{bucket.name}/o?uploadType=multipart",
        body=body,
        headers={"Content-Type": "multipart/related; boundary='==1=='"},
    )
    assert answer.status == 200
    assert bucket.blob("o").download_as_bytes() == data
    assert answer.json()["contentType"] == "text/plain"


class Dribble:
    """A body that comes in pieces of given sizes."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data = data
        self._sizes = itertools.cycle(sizes)

    def read(self, n: int, /) -> bytes:
        size = min(n, next(self._sizes))
        part, self._data = self._data[:size], self._data[size:]
        return part


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    data=st.lists(st.sampled_from([b"\r", b"\n", b"-", b"--b", b"b", b"\r\n--", b"x" * 9])).map(b"".join),
    newline=st.sampled_from([b"\r\n", b"\n"]),
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=5),
)
def test_multipart_however_it_arrives(data: bytes, newline: bytes, sizes: list[int]) -> None:
    assume(newline + b"--b1" not in newline + data)
    whole = multipart(b'{"name": "o"}', data, newline=newline, boundary=b"b1")
    parts = Multipart(Body(Dribble(whole, sizes)), 'multipart/related; boundary="b1"')
    assert parts.resource() == {"name": "o"}
    assert parts.content_type == "text/plain"
    assert b"".join(parts.content()) == data


@pytest.mark.parametrize(
    ("body", "content_type", "message"),
    [
        (b"", "multipart/related; boundary=b", "it ends early"),
        (b"", "text/plain", "must be multipart/related"),
        (b"", "multipart/related", "must be multipart/related"),
        (b"--c\r\n\r\n{}\r\n--c--", "multipart/related; boundary=b", "does not begin with its boundary"),
        (b"--b\r\n\r\n{}\r\n--b--\r\n", "multipart/related; boundary=b", "only one part"),
        (b"--b\r\n\r\n{}\r\n--b\r\n\r\nx", "multipart/related; boundary=b", "last boundary is missing"),
        (b"--b\r\n\r\n{\r\n--b\r\n\r\nx\r\n--b--", "multipart/related; boundary=b", "not JSON"),
        (b"--b\r\n\r\n[]\r\n--b\r\n\r\nx\r\n--b--", "multipart/related; boundary=b", "JSON object"),
        (
            b"--b\r\n\r\n{}\r\n--b\r\n\r\nx\r\n--b\r\n\r\n\r\n--b--",
            "multipart/related; boundary=b",
            "two parts",
        ),
        (b"--b\r\nno colon\r\n\r\n{}\r\n--b--", "multipart/related; boundary=b", "header line"),
        (b"--b\r\n" + b"x" * 200_000, "multipart/related; boundary=b", "too long"),
        (
            multipart(b'{"metadata": {"a": "%s"}}' % (b"x" * 2_100_000), b"", newline=b"\n", boundary=b"b"),
            "multipart/related; boundary=b",
            "Metadata part is too large.",
        ),
    ],
)
def test_malformed_multipart(body: bytes, content_type: str, message: str) -> None:
    with pytest.raises(HttpError) as caught:
        parts = Multipart(Body(body), content_type)
        parts.resource()
        list(parts.content())
    assert caught.value.status == 400
    assert message in caught.value.message


def test_upload_types(emulator: Daemon, bucket: Any) -> None:
    path = f"/upload/storage/v1/b/{bucket.name}/o"
    for query, message in (
        ("", "Required parameter: uploadType"),
        ("?uploadType=new&name=o", "uploadType must be media, multipart or resumable, not 'new'."),
        ("?uploadType=media", "Required parameter: name"),
    ):
        answer = call(emulator.storage_url, "POST", path + query, body=b"x")
        assert (answer.status, answer.message) == (400, message)
    assert call(emulator.storage_url, "PUT", path + "?uploadType=media&name=o", body=b"x").status == 400
    missing = "/upload/storage/v1/b/no-such-bucket/o?uploadType=media&name=o"
    assert call(emulator.storage_url, "POST", missing, body=b"x").status == 404


def test_a_resource_that_comes_byte_by_byte() -> None:
    """Pieces of one byte: copying what has come for each of them would take four times as long for twice as
    many."""

    def receive(size: int) -> None:
        body = b'--b\r\n\r\n{"metadata": {"a": "' + b"x" * size + b'"}}\r\n--b\r\n\r\ncontent\r\n--b--'
        pieces = (body[at : at + 1] for at in range(len(body)))
        source = SimpleNamespace(read=lambda _: next(pieces, b""))
        upload = Multipart(Body(source), "multipart/related; boundary=b")
        assert len(upload.resource()["metadata"]["a"]) == size
        assert b"".join(upload.content()) == b"content"

    assert is_linear(receive, size=125_000)
