"""Objects are plain files in the bucket's folder, and what replicas do there is seen through the API."""

from __future__ import annotations

import http.client
import mmap
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from google.api_core.exceptions import NotFound, PreconditionFailed

from support.emulated.emulator import call
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.disk.trees import remove_tree

_LONG = "d" * 200


def names(bucket: Any, **options: Any) -> list[str]:
    return [blob.name for blob in bucket.list_blobs(**options)]


def test_files_that_a_replica_makes(bucket: Any, folder: Path) -> None:
    (folder / "model" / "1").mkdir(parents=True)
    (folder / "model" / "1" / "weights.json").write_bytes(b"{}")
    (folder / "log.txt").write_bytes(b"line\n")
    listed = {blob.name: blob for blob in bucket.list_blobs()}
    assert sorted(listed) == ["log.txt", "model/", "model/1/", "model/1/weights.json"]
    assert listed["model/1/weights.json"].size == 2
    assert listed["model/1/weights.json"].content_type == "application/json"
    assert listed["log.txt"].crc32c == bucket.get_blob("log.txt").crc32c
    assert bucket.blob("log.txt").download_as_bytes(checksum="crc32c") == b"line\n"
    assert names(bucket, prefix="model/1/w") == ["model/1/weights.json"]
    assert names(bucket, prefix="model/2/") == []


def test_a_file_is_seen_without_listing(bucket: Any, folder: Path) -> None:
    (folder / "f").write_bytes(b"1")
    blob = bucket.get_blob("f")
    assert blob.generation
    with pytest.raises(PreconditionFailed):
        bucket.blob("f").upload_from_string("2", if_generation_match=0)
    (folder / "f").write_bytes(b"three")
    again = bucket.get_blob("f")
    assert again.generation > blob.generation
    assert again.size == 5
    (folder / "f").unlink()
    assert bucket.get_blob("f") is None
    bucket.blob("f").upload_from_string("4", if_generation_match=0)


def test_changes_of_an_uploaded_object(bucket: Any, folder: Path) -> None:
    blob = bucket.blob("o")
    blob.metadata = {"k": "v"}
    blob.upload_from_string("first")
    with (folder / "o").open("ab") as file:
        file.write(b" and more")
    changed = bucket.get_blob("o")
    assert changed.generation > blob.generation
    assert changed.metadata is None
    assert changed.download_as_bytes() == b"first and more"
    (folder / "new").write_bytes(b"replaced")
    (folder / "new").replace(folder / "o")
    assert bucket.blob("o").download_as_bytes() == b"replaced"
    assert names(bucket) == ["o"]


def test_unchanged_files_keep_their_generation(bucket: Any, folder: Path) -> None:
    (folder / "a").write_bytes(b"x")
    bucket.blob("b").upload_from_string("x")
    first = {blob.name: (blob.generation, blob.etag) for blob in bucket.list_blobs()}
    assert {blob.name: (blob.generation, blob.etag) for blob in bucket.list_blobs()} == first
    os.utime(folder / "a", ns=(1, 1))
    assert bucket.get_blob("a").generation > first["a"][0]


def test_a_repeated_list_is_always_current(emulator: Daemon, storage: Any, bucket: Any, folder: Path) -> None:
    """Repeat a list, whose text is kept, after all kinds of changes. A list of some fields is never kept."""

    def check() -> None:
        for options in ("", "prefix=d/", "delimiter=/", "versions=true", "maxResults=1", "projection=full"):
            path = f"/storage/v1/b/{bucket.name}/o?{options}"
            again = [call(emulator.storage_url, "GET", path) for _ in range(2)]
            fields = f"{path}&fields=kind,nextPageToken,prefixes,items"
            expected = call(emulator.storage_url, "GET", fields).json()
            assert [answer.json() for answer in again] == [expected, expected]

    def mapped() -> None:
        """Change a byte through a mapping of memory, of which the kernel notifies nobody."""
        os.utime(folder / "d" / "f", ns=(1, 1))
        assert list(bucket.list_blobs())
        with (folder / "d" / "f").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[0:1] = b"X"

    def blob(name: str, **fields: Any) -> Any:
        found = bucket.get_blob(name)
        for field, value in fields.items():
            setattr(found, field, value)
        return found

    check()
    for change in (
        lambda: (folder / "d" / "e").mkdir(parents=True),
        lambda: (folder / "d" / "f").write_bytes(b"file"),
        lambda: (folder / "d" / "e" / "g").write_bytes(b""),
        lambda: (folder / "d" / "f").write_bytes(b"longer"),
        mapped,
        lambda: os.utime(folder / "d" / "f", ns=(2, 2)),
        lambda: (folder / "d" / "f").rename(folder / "d" / "h"),
        lambda: (folder / "d" / "e" / "g").unlink(),
        lambda: bucket.blob("d/i").upload_from_string("object"),
        lambda: blob("d/i", metadata={"k": "v"}).patch(),
        lambda: blob("d/i").make_public(),
        lambda: blob("d/i").update_storage_class("NEARLINE"),
        lambda: bucket.blob("j/k").compose([blob("d/i"), blob("d/h")]),
        lambda: bucket.copy_blob(blob("d/i"), bucket, "j/l"),
        lambda: bucket.rename_blob(blob("j/l"), "j/m"),
        lambda: blob("j/k").delete(),
        lambda: remove_tree(folder),
        lambda: bucket.blob("last").upload_from_string(""),
        lambda: bucket.delete(force=True),
    ):
        change()
        if bucket.exists():
            check()
    path = f"/storage/v1/b/{bucket.name}/o"
    assert call(emulator.storage_url, "GET", path).status == 404
    storage.create_bucket(bucket.name)
    assert "items" not in call(emulator.storage_url, "GET", path).json()


def test_a_file_in_the_place_of_an_object_that_lies_aside(bucket: Any, folder: Path) -> None:
    bucket.blob("a").upload_from_string("file")
    bucket.blob("a/b").upload_from_string("aside")
    (folder / "a").unlink()
    assert names(bucket) == ["a/b"]
    assert bucket.blob("a/b").download_as_text() == "aside"
    (folder / "a").mkdir()
    (folder / "a" / "b").write_text("by a replica")
    assert bucket.blob("a/b").download_as_text() == "by a replica"
    assert names(bucket) == ["a/", "a/b"]


def test_links_lead_nowhere(emulator: Daemon, bucket: Any, folder: Path, tmp_path: Path) -> None:
    """Deny a replica access through the emulator to files that it cannot reach itself."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (folder / "file").symlink_to(secret)
    (folder / "dir").symlink_to(outside)
    (folder / "token").symlink_to(emulator.folder.token)
    (folder / "loop").symlink_to(folder / "loop")
    assert names(bucket) == []
    for name in ("file", "dir/kept", "token", "loop", "loop/x"):
        with pytest.raises(NotFound):
            bucket.blob(name).download_as_bytes()
        with pytest.raises(NotFound):
            bucket.blob(name).delete()
    bucket.blob("dir/new").upload_from_string("x")
    bucket.blob("file").upload_from_string("y")
    assert bucket.blob("dir/new").download_as_text() == "x"
    assert bucket.blob("file").download_as_text() == "y"
    assert secret.read_text() == "secret"
    assert [path.name for path in outside.iterdir()] == ["kept"]
    bucket.delete(force=True)
    assert (outside / "kept").read_text() == "kept"
    assert emulator.folder.token.read_text() == emulator.token


def test_a_parent_that_becomes_a_link_after_the_upload(bucket: Any, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "o").write_text("outside")
    bucket.blob("d/o").upload_from_string("inside")
    (folder / "d" / "o").unlink()
    (folder / "d").rmdir()
    (folder / "d").symlink_to(outside)
    assert bucket.get_blob("d/o") is None
    bucket.blob("d/o").upload_from_string("again")
    assert (outside / "o").read_text() == "outside"
    assert bucket.blob("d/o").download_as_text() == "again"


def test_what_is_no_regular_file_is_no_object(bucket: Any, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xfe")).write_bytes(b"x")
    (folder / "new\nline").write_bytes(b"x")
    (folder / "fine").write_bytes(b"x")
    assert names(bucket) == ["fine"]
    assert bucket.get_blob("pipe") is None
    bucket.blob("pipe").upload_from_string("object")
    assert bucket.blob("pipe").download_as_text() == "object"


def test_a_reader_is_not_disturbed(emulator: Daemon, bucket: Any) -> None:
    """Overwrite or delete an object during its download, which returns the old content."""
    old, new = b"o" * 30_000_000, b"n" * 30_000_000
    for change in (lambda: bucket.blob("big").upload_from_string(new), lambda: bucket.blob("big").delete()):
        bucket.blob("big").upload_from_string(old)
        parts = urlsplit(emulator.storage_url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        connection.request("GET", f"{parts.path}/storage/v1/b/{bucket.name}/o/big?alt=media")
        response = connection.getresponse()
        begin = response.read(1000)
        change()
        assert begin + response.read() == old
        connection.close()


def test_writers_at_once_leave_one_whole_object(emulator: Daemon, bucket: Any, folder: Path) -> None:
    contents = [bytes([65 + n]) * (200_000 + n) for n in range(8)]
    stop = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not stop.is_set():
            try:
                seen.add(bucket.blob("o").download_as_bytes())
            except NotFound:
                continue

    with ThreadPoolExecutor(max_workers=9) as pool:
        reading = pool.submit(read)
        for _ in range(3):
            list(pool.map(lambda data: bucket.blob("o").upload_from_string(data), contents))
        stop.set()
        reading.result()
    assert seen <= set(contents)
    assert (folder / "o").read_bytes() in contents
    assert list(emulator.folder.incoming.iterdir()) == []


def test_only_one_of_many_creators_wins(bucket: Any) -> None:
    def create(number: int) -> bool:
        try:
            bucket.blob("once").upload_from_string(str(number), if_generation_match=0, retry=None)
        except PreconditionFailed:
            return False
        return True

    with ThreadPoolExecutor(max_workers=8) as pool:
        assert sum(pool.map(create, range(24))) == 1


def test_a_folder_deleted_by_hand(bucket: Any, folder: Path) -> None:
    bucket.blob("o").upload_from_string("x")
    (folder / "o").unlink()
    folder.rmdir()
    assert names(bucket) == []
    bucket.blob("p/q").upload_from_string("y")
    assert names(bucket) == ["p/q"]


def test_a_version_that_was_replaced_while_it_was_set_aside(
    emulator: Daemon, bucket: Any, folder: Path, tmp_path: Path
) -> None:
    """Replace a file by a link or a pipe, as a program may right before the file is moved aside."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    files = emulator.storage.object_store.files
    (folder / "link").symlink_to(secret)
    files.keep(bucket.name, ("link",), "an-aside-link")
    os.mkfifo(folder / "pipe")
    files.keep(bucket.name, ("pipe",), "an-aside-pipe")
    assert files.aside_path("an-aside-link").is_symlink()
    assert files.open_aside("an-aside-link") is None
    assert files.open_aside("an-aside-pipe") is None


@pytest.mark.parametrize("kind", ["file", "pipe", "link to nothing", "link to a folder"])
def test_something_else_in_the_place_of_a_buckets_folder(
    storage: Any, bucket: Any, folder: Path, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "kept").write_text("kept")
    folder.rmdir()
    if kind == "file":
        folder.write_text("x")
    elif kind == "pipe":
        os.mkfifo(folder)
    else:
        folder.symlink_to(tmp_path if kind == "link to a folder" else tmp_path / "nothing")
    assert names(bucket) == []
    bucket.blob("d/o").upload_from_string("x")
    assert bucket.blob("d/o").download_as_text() == "x"
    bucket.delete(force=True)
    assert not os.path.lexists(folder)
    storage.create_bucket(bucket.name).blob("d/o").upload_from_string("y")
    assert (folder / "d" / "o").read_text() == "y"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_folders_nested_too_deep_for_objects(bucket: Any, folder: Path) -> None:
    try:
        nest(folder, 1500)
        assert names(bucket) == [f"{_LONG}/" * depth for depth in range(1, 6)]
        bucket.delete_blobs(names(bucket))
        assert names(bucket) == []
        bucket.delete()
        assert not folder.exists()
    finally:
        remove_tree(folder)  # pytest's own clean-up would fail at it


def nest(folder: Path, depth: int) -> None:
    """Folders one in the other, as deep as no path can name."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(_LONG, dir_fd=descriptor)
        below = os.open(_LONG, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
