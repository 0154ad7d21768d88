"""Checksums of content that arrives in blocks, some of which another thread works on."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.waiting import eventually
from vertex_emulator.services.storage.disk import checksums
from vertex_emulator.services.storage.disk.checksums import Checksums

LARGE = 300_000


def expected(data: bytes) -> tuple[int, str, str]:
    crc32c: Any = google_crc32c.Checksum(data)  # type: ignore[no-untyped-call]
    md5 = hashlib.md5(data, usedforsecurity=False)
    return len(data), *(base64.b64encode(each.digest()).decode() for each in (md5, crc32c))


def of(*blocks: bytes) -> tuple[int, str, str]:
    sums = Checksums()
    for block in blocks:
        sums.update(block)
    return sums.size, sums.md5, sums.crc32c


@given(st.lists(st.sampled_from([0, 1, LARGE, LARGE + 1]), max_size=6))
def test_blocks_are_counted_in_order(sizes: list[int]) -> None:
    blocks = [bytes([number]) * size for number, size in enumerate(sizes)]
    assert of(*blocks) == expected(b"".join(blocks))


def test_many_streams_at_once() -> None:
    blocks = [[bytes([stream, number]) * LARGE for number in range(4)] for stream in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda each: of(*each), blocks)) == [expected(b"".join(each)) for each in blocks]


Threads = deque[ThreadPoolExecutor | None]


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Threads:
    idle: Threads = deque([None])
    monkeypatch.setattr(checksums, "_IDLE", idle)
    return idle


def test_the_caller_works_while_the_other_thread_is_busy(one_thread: Threads) -> None:
    release = threading.Event()

    def wait() -> None:
        release.wait(60)

    assert checksums._in_background(wait) is not None
    try:
        blocks = [b"a" * LARGE, b"b" * LARGE, b"c" * LARGE]
        assert of(*blocks) == expected(b"".join(blocks))
        assert not one_thread
    finally:
        release.set()
    eventually(lambda: one_thread, what=lambda: "the thread is not idle again")


def test_a_thread_that_cannot_work_is_replaced(one_thread: Threads) -> None:
    ended = ThreadPoolExecutor(1)
    ended.shutdown()
    one_thread[0] = ended
    blocks = [b"a" * LARGE, b"b" * LARGE]
    assert of(*blocks) == expected(b"".join(blocks))
    assert list(one_thread) == [None]
    assert of(*blocks) == expected(b"".join(blocks))
