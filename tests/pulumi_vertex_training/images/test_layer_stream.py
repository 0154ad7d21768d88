"""How the bytes of a layer flow: the blocks of the container, and the threads that hash and write."""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
import threading
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.images.files.layer import BackgroundConsumer, write_layer
from pulumi_vertex_training.images.files.tree import Node
from pulumi_vertex_training.packaging.archive import stored_gzip
from support.disk import largest_file
from support.properties import examples

BLOCK = 65_535
SIZES = st.one_of(
    st.integers(0, 600), st.sampled_from([BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 7])
)


def reference(content: bytes) -> bytes:
    """RFC 1951 and 1952, written without regard to memory."""
    blocks = [content[start : start + BLOCK] for start in range(0, len(content), BLOCK)] or [b""]
    body = b"".join(
        struct.pack("<BHH", block is blocks[-1], len(block), len(block) ^ 0xFFFF) + block for block in blocks
    )
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + struct.pack("<LL", zlib.crc32(content), len(content))


@settings(deadline=None, max_examples=examples(100))
@given(sizes=st.lists(SIZES, max_size=6))
def test_pieces_do_not_show_in_the_container(sizes: list[int]) -> None:
    chunks = [hashlib.shake_128(bytes([place])).digest(size) for place, size in enumerate(sizes)]
    assert b"".join(stored_gzip(chunks)) == reference(b"".join(chunks))


def test_a_layer_of_many_batches_is_what_it_is_said_to_be(tmp_path: Path) -> None:
    content = hashlib.shake_128(b"layer").digest(5_000_000)
    (tmp_path / "big").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    nodes = [Node(path=f"small{i:04}", kind="file", size=9, content=b"123456789") for i in range(1500)]
    nodes.append(Node(path="big", kind="file", size=len(content), content=tmp_path / "big", sha256=sha256))
    layer = write_layer(nodes, tmp_path)
    written = layer.path.read_bytes()
    assert written == reference(gzip.decompress(written))
    assert layer.diff_id == f"sha256:{hashlib.sha256(gzip.decompress(written)).hexdigest()}"
    assert layer.digest == f"sha256:{hashlib.sha256(written).hexdigest()}"
    assert layer.size == len(written)
    assert layer.digest == "sha256:520fe3df21d07d3f6f9dd2ada176e22313d1e1495c3bef6ac69af2ec432d283a"


@settings(deadline=None, max_examples=examples(30))
@given(sizes=st.lists(st.sampled_from([0, 1, 512, 300_000, 1 << 20, 3 << 20]), max_size=8))
def test_chunks_are_consumed_in_their_order(sizes: list[int]) -> None:
    consumed: list[bytes] = []
    chunks = [bytes([place]) * size for place, size in enumerate(sizes)]
    with BackgroundConsumer(consumed.append) as consumer:
        for chunk in chunks:
            consumer.put(chunk)
    assert consumed == chunks


def test_what_is_slow_is_waited_for() -> None:
    """Memory stays bounded: no more than a few batches are ever taken ahead."""
    consumed: list[int] = []
    ahead = 0

    def consume(chunk: bytes) -> None:
        time.sleep(0.005)
        consumed.append(len(chunk))

    with BackgroundConsumer(consume) as consumer:
        for count in range(1, 21):
            consumer.put(bytes(1 << 20))
            ahead = max(ahead, count - len(consumed))
    assert len(consumed) == 20
    assert ahead <= 3


def test_small_streams_need_no_thread() -> None:
    threads: list[threading.Thread] = []
    with BackgroundConsumer(lambda chunk: threads.append(threading.current_thread())) as consumer:
        consumer.put(b"x")
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize(
    "size", [pytest.param(1, id="at the end"), pytest.param(1 << 20, id="in the thread")]
)
@pytest.mark.parametrize("count", [1, 9])
def test_an_error_of_the_consumer_is_raised(size: int, count: int) -> None:
    def consume(chunk: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"), BackgroundConsumer(consume) as consumer:
        for _ in range(count):
            consumer.put(bytes(size))


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    content = os.urandom(1 << 20)
    with largest_file(1 << 18), pytest.raises(OSError, match="File too large"):
        write_layer([Node(path="a", kind="file", size=len(content), content=content)], tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert set(threading.enumerate()) <= before
