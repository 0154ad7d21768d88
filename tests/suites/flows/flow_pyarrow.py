"""Files on gs://, as a user of pyarrow reads and writes them with `GcsFileSystem`."""

from __future__ import annotations

import datetime
import os

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

TABLE = pa.table({"n": range(1000), "kind": ["odd" if n % 2 else "even" for n in range(1000)]})


@pytest.fixture(params=["key", "token"])
def files(request: pytest.FixtureRequest) -> fs.GcsFileSystem:
    """Return a file system with the credentials of the variables, or with the emulator's token."""
    options = {"retry_time_limit": datetime.timedelta(seconds=20)}
    if request.param == "key":
        return fs.GcsFileSystem(**options)
    return fs.GcsFileSystem(
        access_token=os.environ["VERTEX_EMULATOR_TOKEN"],
        credential_token_expiration=datetime.datetime.now() + datetime.timedelta(hours=1),
        **options,
    )


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> str:
    return f"of-pyarrow/{request.node.name.replace('[', '-').replace(']', '')}"


def test_files(files: fs.GcsFileSystem, folder: str) -> None:
    with files.open_output_stream(f"{folder}/a b.txt", metadata={"Content-Type": "text/plain"}) as stream:
        stream.write(b"hello")
    with files.open_input_stream(f"{folder}/a b.txt") as stream:
        assert stream.read() == b"hello"
    with files.open_input_file(f"{folder}/a b.txt") as file:
        assert file.read_at(2, 1) == b"el"
    assert files.get_file_info(f"{folder}/a b.txt").size == 5
    files.copy_file(f"{folder}/a b.txt", f"{folder}/copy.txt")
    files.move(f"{folder}/copy.txt", f"{folder}/moved.txt")
    found = files.get_file_info(fs.FileSelector(folder))
    assert sorted(each.base_name for each in found if each.is_file) == ["a b.txt", "moved.txt"]
    files.delete_file(f"{folder}/moved.txt")
    assert files.get_file_info(f"{folder}/moved.txt").type == fs.FileType.NotFound


def test_folders(files: fs.GcsFileSystem, folder: str) -> None:
    files.create_dir(f"{folder}/a/b", recursive=True)
    assert files.get_file_info(f"{folder}/a/b").type == fs.FileType.Directory
    with files.open_output_stream(f"{folder}/a/b/c") as stream:
        stream.write(b"x")
    found = files.get_file_info(fs.FileSelector(f"{folder}/a", recursive=True))
    assert f"{folder}/a/b/c" in [each.path for each in found]
    files.delete_dir(f"{folder}/a")
    assert files.get_file_info(f"{folder}/a/b/c").type == fs.FileType.NotFound


def test_parquet(files: fs.GcsFileSystem, folder: str) -> None:
    pq.write_table(TABLE, f"{folder}/a.parquet", filesystem=files)
    assert pq.read_table(f"{folder}/a.parquet", filesystem=files).equals(TABLE)


def test_dataset(files: fs.GcsFileSystem, folder: str) -> None:
    ds.write_dataset(TABLE, folder, filesystem=files, format="parquet", partitioning=["kind"])
    found = ds.dataset(folder, filesystem=files, format="parquet", partitioning=["kind"])
    assert found.count_rows(filter=ds.field("kind") == "odd") == 500


def test_a_large_file(files: fs.GcsFileSystem, folder: str) -> None:
    data = os.urandom(1 << 20) * 20
    with files.open_output_stream(f"{folder}/large") as stream:
        stream.write(data)
    with files.open_input_file(f"{folder}/large") as file:
        assert file.read() == data


def test_an_address_with_gs(folder: str) -> None:
    files, path = fs.FileSystem.from_uri(f"gs://{folder}/a.parquet?retry_limit_seconds=20")
    pq.write_table(TABLE, path, filesystem=files)
    assert pq.read_table(path, filesystem=files).num_rows == 1000


def test_what_is_missing(files: fs.GcsFileSystem, folder: str) -> None:
    with pytest.raises(FileNotFoundError):
        files.open_input_stream(f"{folder}/none")
    assert files.get_file_info("no-such-bucket-here/a").type == fs.FileType.NotFound
