"""Malformed requests: an answer that says so, and an emulator that answers afterwards."""

from __future__ import annotations

import gzip
import zlib
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.emulated.emulator import call
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon

OFTEN = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
JUNK = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from(
            [
                b"--edge",
                b"--edge--",
                b"\r\n",
                b"\n",
                b"Content-Type: application/http",
                b"Content-Type: application/json",
                b"GET /storage/v1/b HTTP/1.1",
                b"{}",
                b'{"name": "x"}',
                b"<Part>",
                b"</Part>",
                b"<!DOCTYPE x>",
                b"\x00",
                b"--",
            ]
        ),
        max_size=14,
    ).map(b"".join),
)
QUERY = st.dictionaries(
    st.sampled_from(
        [
            *("uploads", "uploadId", "partNumber", "upload_id", "uploadType", "name", "generation"),
            *("prefix", "marker", "max-keys", "list-type", "continuation-token", "pageToken", "matchGlob"),
            *("X-Goog-Signature", "X-Goog-Algorithm", "X-Goog-Date", "X-Goog-Credential", "Signature"),
            *("GoogleAccessId", "Expires", "encoding-type", "fields", "maxResults", "alt"),
        ]
    ),
    st.text(max_size=12),
    max_size=5,
)


@pytest.fixture(scope="module", autouse=True)
def _fuzzed(storage: Any) -> None:
    """Create the bucket that the requests name."""
    storage.create_bucket("fuzzed").blob("o").upload_from_string("x")


def answers_still(emulator: Daemon) -> bool:
    return call(emulator.storage_url, "GET", "/storage/v1/b?project=local").status == 200


@OFTEN
@given(body=JUNK)
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/batch/storage/v1", "multipart/mixed; boundary=edge"),
        ("/upload/storage/v1/b/fuzzed/o?uploadType=multipart", "multipart/related; boundary=edge"),
        ("/fuzzed/o?uploadId=x", "application/xml"),
    ],
)
def test_bodies(emulator: Daemon, path: str, kind: str, body: bytes) -> None:
    answer = call(emulator.storage_url, "POST", path, body=body, headers={"Content-Type": kind})
    assert answer.status < 500
    assert answers_still(emulator)


@OFTEN
@given(
    method=st.sampled_from(["GET", "HEAD", "PUT", "POST", "DELETE"]),
    name=st.text(st.characters(codec="utf-8"), max_size=20),
    query=QUERY,
)
@pytest.mark.parametrize("prefix", ["/fuzzed/", "/fuzzed", "/storage/v1/b/fuzzed/o/"])
def test_paths_and_queries(
    emulator: Daemon, prefix: str, method: str, name: str, query: dict[str, str]
) -> None:
    text = "&".join(f"{quote(key)}={quote(value)}" for key, value in query.items())
    for base in (emulator.url, emulator.storage_url):
        answer = call(base, method, f"{prefix}{quote(name)}?{text}")
        assert answer.status < 500
    assert answers_still(emulator)


@OFTEN
@given(junk=st.binary(max_size=100))
def test_bodies_that_say_they_are_gzip(emulator: Daemon, junk: bytes) -> None:
    answer = call(
        emulator.storage_url,
        "POST",
        "/upload/storage/v1/b/fuzzed/o?uploadType=multipart",
        body=junk,
        headers={"Content-Type": "multipart/related; boundary=edge", "Content-Encoding": "gzip"},
    )
    assert 400 <= answer.status < 500


def test_a_compressed_upload_is_bounded_in_memory(emulator: Daemon, bucket: Any) -> None:
    """Reject a huge compressed resource early, although resources are read as a whole."""
    head = b"--edge\r\nContent-Type: application/json\r\n\r\n"
    bomb = zlib.compressobj(9, wbits=31)
    body = bomb.compress(head) + b"".join(bomb.compress(b" " * 2**20) for _ in range(200)) + bomb.flush()
    answer = call(
        emulator.storage_url,
        "POST",
        f"/upload/storage/v1/b/{bucket.name}/o?uploadType=multipart",
        body=body,
        headers={"Content-Type": "multipart/related; boundary=edge", "Content-Encoding": "gzip"},
    )
    assert (answer.status, answer.message) == (400, "Metadata part is too large.")


def test_a_compressed_upload(emulator: Daemon, bucket: Any) -> None:
    body = (
        b'--edge\r\nContent-Type: application/json\r\n\r\n{"name": "o"}\r\n'
        b"--edge\r\nContent-Type: text/plain\r\n\r\ncontent\r\n--edge--"
    )
    call(
        emulator.storage_url,
        "POST",
        f"/upload/storage/v1/b/{bucket.name}/o?uploadType=multipart",
        body=gzip.compress(body),
        headers={"Content-Type": "multipart/related; boundary=edge", "Content-Encoding": "gzip"},
    ).ok()
    assert bucket.blob("o").download_as_bytes() == b"content"


@pytest.mark.parametrize("value", ["a\rb", "a\nb", "a\r\nX-Injected: y"])
def test_parameters_cannot_add_headers_to_the_answer(emulator: Daemon, bucket: Any, value: str) -> None:
    bucket.blob("o").upload_from_string("x")
    path = (
        f"/{bucket.name}/o?response-content-disposition={quote(value)}&response-content-type={quote(value)}"
    )
    answer = call(emulator.storage_url, "GET", path)
    assert (answer.status, "X-Injected" in answer.headers) == (200, False)
