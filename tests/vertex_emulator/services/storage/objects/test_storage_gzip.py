"""Objects that are stored compressed."""

from __future__ import annotations

import gzip
import os
import zlib
from http.client import HTTPException
from typing import Any

import psutil
import pytest

from support.emulated.emulator import Answer
from support.emulated.services.storage import ask, path_of
from vertex_emulator.daemon.daemon import Daemon

PLAIN = b"text " * 1000


def put(bucket: Any, data: bytes, **fields: Any) -> None:
    blob = bucket.blob("a")
    blob.content_encoding = "gzip"
    for field, value in fields.items():
        setattr(blob, field, value)
    blob.upload_from_string(data, content_type="text/plain")


def get(emulator: Daemon, bucket: Any, **headers: str) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(emulator, "GET", path_of(bucket.name, "a") + "?alt=media", headers=sent)


def test_decompressed_for_who_does_not_take_it_compressed(emulator: Daemon, bucket: Any) -> None:
    put(bucket, gzip.compress(PLAIN))
    answer = get(emulator, bucket)
    assert (answer.status, answer.body, answer.headers.get("Content-Encoding")) == (200, PLAIN, None)
    assert answer.headers["X-Goog-Stored-Content-Encoding"] == "gzip"
    assert answer.headers["Content-Type"] == "text/plain"
    assert answer.headers["Vary"] == "Accept-Encoding"


def test_as_stored_for_who_takes_it(emulator: Daemon, bucket: Any) -> None:
    stored = gzip.compress(PLAIN)
    put(bucket, stored)
    answer = get(emulator, bucket, Accept_Encoding="gzip")
    assert (answer.body, answer.headers["Content-Encoding"]) == (stored, "gzip")
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert bucket.blob("a").download_as_bytes(raw_download=True) == stored
    assert bucket.blob("a").download_as_bytes() == PLAIN


def test_no_transform(emulator: Daemon, bucket: Any) -> None:
    put(bucket, gzip.compress(PLAIN), cache_control="public, no-transform")
    answer = get(emulator, bucket)
    assert (gzip.decompress(answer.body), answer.headers["Content-Encoding"]) == (PLAIN, "gzip")
    assert "Vary" not in answer.headers


def test_a_range_is_ignored(emulator: Daemon, bucket: Any) -> None:
    put(bucket, gzip.compress(PLAIN))
    answer = get(emulator, bucket, Range="bytes=0-3")
    assert (answer.status, answer.body) == (200, PLAIN)


def test_a_range_of_what_is_stored(emulator: Daemon, bucket: Any) -> None:
    stored = gzip.compress(PLAIN)
    put(bucket, stored)
    answer = get(emulator, bucket, Range="bytes=0-3", Accept_Encoding="gzip")
    assert (answer.status, answer.body) == (206, stored[:4])


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        pytest.param(gzip.compress(b"a") + gzip.compress(b"b"), b"ab", id="two members"),
        pytest.param(gzip.compress(b"a") + bytes(512), b"a", id="padding"),
        pytest.param(gzip.compress(b""), b"", id="empty member"),
        pytest.param(b"", b"", id="empty"),
        pytest.param(b"not compressed", b"not compressed", id="no gzip"),
    ],
)
def test_odd_contents(emulator: Daemon, bucket: Any, stored: bytes, expected: bytes) -> None:
    put(bucket, stored)
    assert get(emulator, bucket).body == expected


@pytest.mark.parametrize("end", [20, -8], ids=["damaged", "cut short"])
def test_a_damaged_one_does_not_end_well(emulator: Daemon, bucket: Any, end: int) -> None:
    stored = gzip.compress(os.urandom(10_000))
    put(bucket, stored[:end] + (b"\xff" * 1000 if end > 0 else b""))
    with pytest.raises(HTTPException):
        get(emulator, bucket)
    assert ask(emulator, "GET", path_of(bucket.name, "a")).status == 200


def test_a_bomb_takes_no_memory(emulator: Daemon, bucket: Any) -> None:
    compress = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    put(bucket, b"".join(compress.compress(zeros) for _ in range(64)) + compress.flush())
    before = psutil.Process().memory_info().rss
    size = 0
    with bucket.client._http.get(
        f"{emulator.storage_url}{path_of(bucket.name, 'a')}?alt=media",
        headers={"Accept-Encoding": "identity"},
        stream=True,
    ) as answer:
        for block in answer.iter_content(1 << 20):
            size += len(block)
    assert size == 64 << 20
    assert psutil.Process().memory_info().rss - before < 32 << 20
