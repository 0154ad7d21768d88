"""gcsfs, which pandas, Dask and others read and write with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import fsspec
import pytest


@pytest.fixture
def fs(settings: dict[str, str]) -> Any:
    import gcsfs  # it reads the environment when it is imported, not when it is used

    return gcsfs.GCSFileSystem(
        project="local", token="anon", use_listings_cache=False, skip_instance_cache=True
    )


@pytest.fixture
def root(fs: Any, bucket: Any) -> str:
    """Create a bucket with three objects."""
    for name, content in (("a/1.txt", b"one"), ("a/2.csv", b"two"), ("b/c/3.txt", b"three")):
        bucket.blob(name).upload_from_string(content)
    return str(bucket.name)


@pytest.mark.timeout(60)
def test_the_first_call_on_a_bucket_does_not_wait_for_grpc(fs: Any, root: str) -> None:
    """Check that the call returns before the wait for gRPC would end, after minutes."""
    assert sorted(fs.ls(root)) == [f"{root}/a", f"{root}/b"]


def test_mkdir_and_rmdir(fs: Any) -> None:
    fs.mkdir("made-by-gcsfs")
    assert fs.exists("made-by-gcsfs")
    fs.rmdir("made-by-gcsfs")
    assert not fs.exists("made-by-gcsfs")


def test_ls(fs: Any, root: str) -> None:
    assert fs.ls(f"{root}/a") == [f"{root}/a/1.txt", f"{root}/a/2.csv"]


def test_find(fs: Any, root: str) -> None:
    assert fs.find(root) == [f"{root}/a/1.txt", f"{root}/a/2.csv", f"{root}/b/c/3.txt"]


def test_glob(fs: Any, root: str) -> None:
    assert fs.glob(f"{root}/**/*.txt") == [f"{root}/a/1.txt", f"{root}/b/c/3.txt"]


def test_walk(fs: Any, root: str) -> None:
    assert next((path, folders, files) for path, folders, files in fs.walk(root)) == (root, ["a", "b"], [])


def test_info_of_an_object(fs: Any, root: str) -> None:
    info = fs.info(f"{root}/a/1.txt")
    assert (info["size"], info["type"]) == (3, "file")


def test_info_of_a_folder(fs: Any, root: str) -> None:
    assert fs.info(f"{root}/a")["type"] == "directory"


def test_du(fs: Any, root: str) -> None:
    assert fs.du(root) == 11


def test_pipe_and_cat(fs: Any, root: str) -> None:
    fs.pipe(f"{root}/new", b"content")
    assert fs.cat(f"{root}/new") == b"content"


def test_cat_of_many(fs: Any, root: str) -> None:
    found = fs.cat(fs.find(root))
    assert found == {f"{root}/a/1.txt": b"one", f"{root}/a/2.csv": b"two", f"{root}/b/c/3.txt": b"three"}


def test_cat_of_ranges(fs: Any, root: str) -> None:
    assert fs.cat_ranges([f"{root}/b/c/3.txt"] * 2, [0, 3], [2, 5]) == [b"th", b"ee"]


def test_writing_in_blocks(fs: Any, root: str) -> None:
    content = os.urandom(1_500_000)
    with fs.open(f"{root}/blocks", "wb", block_size=2**19) as file:
        for start in range(0, len(content), 300_000):
            file.write(content[start : start + 300_000])
    assert fs.cat(f"{root}/blocks") == content


def test_reading_from_the_middle(fs: Any, root: str) -> None:
    with fs.open(f"{root}/b/c/3.txt") as file:
        file.seek(2)
        assert file.read(2) == b"re"


def test_touch(fs: Any, root: str) -> None:
    fs.touch(f"{root}/empty")
    assert fs.size(f"{root}/empty") == 0


def test_copy(fs: Any, root: str) -> None:
    fs.copy(f"{root}/a/1.txt", f"{root}/copy")
    assert fs.cat(f"{root}/copy") == b"one"


def test_move(fs: Any, root: str) -> None:
    fs.mv(f"{root}/a/1.txt", f"{root}/moved")
    assert (fs.cat(f"{root}/moved"), fs.exists(f"{root}/a/1.txt")) == (b"one", False)


def test_merge(fs: Any, root: str) -> None:
    fs.merge(f"{root}/merged", [f"{root}/a/1.txt", f"{root}/a/2.csv"])
    assert fs.cat(f"{root}/merged") == b"onetwo"


def test_attributes(fs: Any, root: str) -> None:
    fs.setxattrs(f"{root}/a/1.txt", step="7")
    assert fs.getxattr(f"{root}/a/1.txt", "step") == "7"


def test_put_and_get_of_folders(fs: Any, root: str, tmp_path: Path) -> None:
    (tmp_path / "up/sub").mkdir(parents=True)
    (tmp_path / "up/sub/file").write_bytes(b"x")
    fs.put(str(tmp_path / "up"), f"{root}/up", recursive=True)
    fs.get(f"{root}/up", str(tmp_path / "down"), recursive=True)
    assert (tmp_path / "down/sub/file").read_bytes() == b"x"


def test_a_transaction_that_is_given_up(fs: Any, root: str) -> None:
    with pytest.raises(RuntimeError, match="given up"), fs.transaction:
        with fs.open(f"{root}/never", "wb") as file:
            file.write(b"x")
        raise RuntimeError("given up")
    assert not fs.exists(f"{root}/never")


def test_rm_of_a_folder_in_batches(fs: Any, root: str) -> None:
    fs.rm(f"{root}/a", recursive=True)
    assert fs.find(root) == [f"{root}/b/c/3.txt"]


def test_rm_of_a_bucket(fs: Any, root: str) -> None:
    fs.rm(root, recursive=True)
    assert not fs.exists(root)


def test_by_url(root: str) -> None:
    with fsspec.open(f"gs://{root}/a/1.txt", "rb", project="local", token="anon") as file:
        assert file.read() == b"one"
