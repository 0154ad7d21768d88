"""Layers made up at random to do harm: nothing outside the folder changes; nothing but our error comes."""

from __future__ import annotations

import contextlib
import gzip
import io
import shutil
import tarfile
import tempfile
import tracemalloc
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from support.emulated.registries.images import digest, member
from support.measured.growth import is_linear
from support.properties import examples
from vertex_emulator.replicas.images.image import ImageError, Layer
from vertex_emulator.replicas.images.tar_stream import LayerReader, entries
from vertex_emulator.replicas.images.tree import Limits
from vertex_emulator.replicas.images.unpacking import unpack, unpack_layer

PARTS = [
    "a",
    "b",
    "A",
    "..",
    ".",
    "",
    ".wh.a",
    ".wh.b",
    ".wh..wh..opq",
    ".wh...",
    "outside",
    "root",
    "x" * 256,
]
PATHS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("/".join)
TARGETS = PATHS | st.sampled_from(
    ["/", "..", "../outside", "/a", "a", "../../..", "@/outside", "@/outside/kept"]
)
KINDS = [
    tarfile.REGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.FIFOTYPE,
    tarfile.CHRTYPE,
]
ENTRIES = st.tuples(PATHS, st.sampled_from(KINDS), TARGETS, st.integers(0, 0o7777))
LAYERS = st.lists(st.lists(ENTRIES, max_size=8), min_size=1, max_size=3)


def archive(entries: list[tuple[str, bytes, str, int]], folder: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as file:
        for name, kind, target, mode in entries:
            info, data = member(name, kind, target=target.replace("@", str(folder)), data=b"new", mode=mode)
            file.addfile(info, io.BytesIO(data) if data else None)
    return out.getvalue()


def layer(folder: Path, number: int, data: bytes) -> Layer:
    blob = gzip.compress(data, 1)
    path = folder / f"blob-{number}"
    path.write_bytes(blob)
    return Layer(digest=digest(blob), diff_id=digest(data), size=len(blob), path=str(path))


def state(folder: Path) -> list[tuple[str, int, int, str]]:
    """Return the state of all files next to the root."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path == folder / "root" or folder / "root" in path.parents:
            continue
        status = path.lstat()
        text = path.read_text(errors="replace") if path.is_file() else ""
        found.append((str(path), status.st_mode, status.st_nlink if path.is_file() else 0, text))
    return found


@settings(max_examples=examples(400), deadline=None)
@given(LAYERS)
def test_nothing_outside_changes(entries: list[list[tuple[str, bytes, str, int]]]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="unpack-"))
    try:
        for path in ("root", "outside/a"):
            (folder / path).mkdir(parents=True)
        (folder / "outside/kept").write_text("kept")
        found = [layer(folder, number, archive(each, folder)) for number, each in enumerate(entries)]
        before = state(folder)
        with contextlib.suppress(ImageError):
            unpack(found, folder / "root")
        for number, each in enumerate(found):
            (folder / "root" / f"of layer {number}").mkdir()
            with contextlib.suppress(ImageError):
                unpack_layer(each, folder / "root" / f"of layer {number}")
        assert state(folder) == before
    finally:
        shutil.rmtree(folder)


@settings(max_examples=examples(300), deadline=None)
@given(LAYERS, st.data())
def test_damage_is_our_error(entries: list[list[tuple[str, bytes, str, int]]], data: st.DataObject) -> None:
    """Bytes changed anywhere in the archive, the digests made to fit."""
    folder = Path(tempfile.mkdtemp(prefix="unpack-"))
    try:
        (folder / "root").mkdir()
        content = bytearray(archive(entries[0], folder))
        for _ in range(data.draw(st.integers(1, 6))):
            where = data.draw(st.integers(0, len(content) - 1))
            content[where] = data.draw(st.integers(0, 255))
        for number in range(0, len(content) - 511, 512):
            fix_checksum(content, number)
        before = state(folder)
        found = [layer(folder, 0, bytes(content))]
        with_blob = state(folder)
        with contextlib.suppress(ImageError):
            unpack(found, folder / "root", limits=Limits(size=1 << 20))
        assert state(folder) == with_blob
        assert len(with_blob) == len(before) + 1
    finally:
        shutil.rmtree(folder)


def fix_checksum(content: bytearray, at: int) -> None:
    """Make a block pass for a header."""
    block = content[at : at + 512]
    if any(block):
        block[148:156] = b" " * 8
        content[at + 148 : at + 156] = b"%06o\0 " % sum(block)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=3000))
def test_any_bytes_are_our_error_or_an_archive(data: bytes) -> None:
    folder = Path(tempfile.mkdtemp(prefix="unpack-"))
    try:
        (folder / "root").mkdir()
        (folder / "blob").write_bytes(data)
        found = Layer(digest=digest(data), diff_id=digest(data), size=len(data), path=str(folder / "blob"))
        with contextlib.suppress(ImageError):
            unpack([found], folder / "root")
        assert list((folder / "root").iterdir()) == []
    finally:
        shutil.rmtree(folder)


def _layer(*headers: bytes) -> LayerReader:
    """Return a layer of extended headers alone."""
    parts = []
    for data in headers:
        header = tarfile.TarInfo("p")
        header.type, header.size = tarfile.XHDTYPE, len(data)
        parts += [header.tobuf(tarfile.USTAR_FORMAT), data, b"\0" * (-len(data) % 512)]
    archive = b"".join((*parts, b"\0" * 1024))
    blob = gzip.compress(archive, 1)
    return LayerReader(io.BytesIO(blob), "it", digest=digest(blob), diff_id=digest(archive))


def test_extended_headers_are_read_in_linear_time() -> None:
    """Up to a megabyte of tiny records: copying the rest for each of them took seconds."""

    def read(count: int) -> None:
        assert list(entries(_layer(b"6 a=b\n" * count), "it")) == []

    assert is_linear(read, size=43_500)


def test_extended_headers_do_not_pile_up_in_memory() -> None:
    headers = [
        b"".join(b"100014 k%04d=%b\n" % (key, b"v" * 100_000) for key in range(first, first + 10))
        for first in range(0, 400, 10)
    ]
    reader = _layer(*headers)
    tracemalloc.start()
    try:
        assert list(entries(reader, "it")) == []
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < len(headers) * 1_000_000 / 2
