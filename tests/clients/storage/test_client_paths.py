"""smart_open and cloudpathlib."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import smart_open
from cloudpathlib import GSClient


def test_smart_open_writes_and_reads(client: Any, bucket: Any) -> None:
    url, options = f"gs://{bucket.name}/dir/text", {"client": client}
    with smart_open.open(url, "w", transport_params=options) as file:
        file.write("line\n" * 1000)
    with smart_open.open(url, transport_params=options) as file:
        assert sum(1 for _ in file) == 1000


def test_smart_open_compresses_by_suffix(client: Any, bucket: Any) -> None:
    with smart_open.open(f"gs://{bucket.name}/x.gz", "wb", transport_params={"client": client}) as file:
        file.write(b"content")
    assert gzip.decompress(bucket.blob("x.gz").download_as_bytes()) == b"content"


def test_smart_open_reads_from_the_middle(client: Any, bucket: Any) -> None:
    bucket.blob("x").upload_from_string(b"0123456789")
    with smart_open.open(f"gs://{bucket.name}/x", "rb", transport_params={"client": client}) as file:
        file.seek(4)
        assert file.read(3) == b"456"


@pytest.fixture
def root(client: Any, bucket: Any, tmp_path: Path) -> Iterator[Any]:
    paths = GSClient(storage_client=client, local_cache_dir=tmp_path / "cache")
    yield paths.GSPath(f"gs://{bucket.name}/")
    paths.clear_cache()


def test_cloudpathlib_write_text_and_read_text(root: Any) -> None:
    (root / "a/b.txt").write_text("text")
    assert (root / "a/b.txt").read_text() == "text"


def test_cloudpathlib_tells_folders_from_files(root: Any) -> None:
    (root / "a/b.txt").write_text("text")
    assert ((root / "a").is_dir(), (root / "a").is_file(), (root / "a/b.txt").is_file()) == (
        True,
        False,
        True,
    )


def test_cloudpathlib_iterdir(root: Any) -> None:
    for name in ("a/1", "a/2/3"):
        (root / name).write_text("x")
    assert sorted(path.name for path in (root / "a").iterdir()) == ["1", "2"]


def test_cloudpathlib_rglob(root: Any) -> None:
    for name in ("a/1.txt", "a/b/2.txt", "a/b/3.csv"):
        (root / name).write_text("x")
    assert sorted(path.name for path in root.rglob("*.txt")) == ["1.txt", "2.txt"]


def test_cloudpathlib_stat(root: Any) -> None:
    (root / "x").write_bytes(b"1234")
    assert (root / "x").stat().st_size == 4


def test_cloudpathlib_rename(root: Any) -> None:
    (root / "old").write_text("x")
    (root / "old").rename(root / "new")
    assert ((root / "old").exists(), (root / "new").read_text()) == (False, "x")


def test_cloudpathlib_copy(root: Any) -> None:
    (root / "x").write_text("content")
    (root / "x").copy(root / "y")
    assert (root / "y").read_text() == "content"


def test_cloudpathlib_copytree(root: Any, tmp_path: Path) -> None:
    (root / "tree/a/b").write_text("content")
    (root / "tree").copytree(tmp_path / "tree")
    assert (tmp_path / "tree/a/b").read_text() == "content"


def test_cloudpathlib_unlink(root: Any) -> None:
    (root / "x").write_text("x")
    (root / "x").unlink()
    assert not (root / "x").exists()


def test_cloudpathlib_rmtree(root: Any) -> None:
    (root / "tree/a/b").write_text("x")
    (root / "tree").rmtree()
    assert not (root / "tree").exists()
