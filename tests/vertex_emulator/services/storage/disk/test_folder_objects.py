"""Objects of 0 bytes whose names end with a slash: folders under /gcs, as with gcsfuse."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import call, running, storage_client
from support.services.steps import Killed, Steps
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.database import connect
from vertex_emulator.services.storage.disk.object_store import Content, ObjectStore
from vertex_emulator.services.storage.disk.preconditions import Preconditions
from vertex_emulator.services.storage.uploads.incoming import Incoming


def names(bucket: Any) -> list[str]:
    return [blob.name for blob in bucket.list_blobs()]


@pytest.mark.parity(
    "Cloud Storage: folders under /gcs",
    same="an object of 0 bytes with a slash at its end; also one that a replica makes with mkdir",
)
def test_an_object_with_a_slash_at_its_end_is_a_folder(bucket: Any, folder: Path) -> None:
    bucket.blob("results/").upload_from_string(b"")
    assert (folder / "results").is_dir()
    (folder / "results" / "x").write_text("x")
    assert names(bucket) == ["results/", "results/x"]
    blob = bucket.get_blob("results/")
    assert (blob.size, blob.download_as_bytes()) == (0, b"")
    assert bucket.get_blob("results/").generation == blob.generation
    bucket.blob("results/x").delete()
    assert (folder / "results").is_dir(), "it stays when it is empty"
    bucket.blob("results/").delete()
    assert not (folder / "results").exists()
    assert names(bucket) == []


@pytest.mark.parity("Cloud Storage: folders under /gcs")
def test_mkdir_makes_an_object_and_rmdir_removes_it(bucket: Any, folder: Path) -> None:
    (folder / "a").mkdir()
    blob = bucket.get_blob("a/")
    assert (blob.size, blob.content_type, blob.md5_hash, blob.crc32c) == (
        0,
        "text/plain; charset=utf-8",
        "1B2M2Y8AsgTpgAmY7PhCfg==",
        "AAAAAA==",
    )
    (folder / "b" / "c").mkdir(parents=True)
    (folder / "b" / "c" / "x").write_text("x")
    listing = bucket.list_blobs(delimiter="/", include_trailing_delimiter=True)
    assert [each.name for each in listing] == ["a/", "b/"]
    assert sorted(listing.prefixes) == ["a/", "b/"]
    below = bucket.list_blobs(prefix="b/", delimiter="/")
    assert [each.name for each in below] == ["b/"]
    assert sorted(below.prefixes) == ["b/c/"]
    assert names(bucket) == ["a/", "b/", "b/c/", "b/c/x"]
    assert bucket.get_blob("a/").generation == blob.generation, "it is made once"
    (folder / "a").rmdir()
    assert bucket.get_blob("a/") is None
    (folder / "a").mkdir()
    (folder / "a").chmod(0o1777)
    assert bucket.get_blob("a/").generation > blob.generation
    shutil.rmtree(folder / "b")
    assert names(bucket) == ["a/"]


@pytest.mark.parity("Cloud Storage: folders under /gcs")
def test_a_folder_without_an_object_goes_with_its_last_file(bucket: Any, folder: Path) -> None:
    bucket.blob("a/b/x").upload_from_string(b"x")
    (folder / "a" / "b" / "y").write_text("y")
    (folder / "a" / "c").mkdir()
    assert names(bucket) == ["a/b/x", "a/b/y", "a/c/"]
    for name in ("a/b/x", "a/b/y"):
        bucket.blob(name).delete()
    assert [path.name for path in (folder / "a").iterdir()] == ["c"]
    bucket.blob("a/c/").delete()
    assert list(folder.iterdir()) == []
    assert names(bucket) == []


def test_a_new_folder_of_a_replica_outlives_its_files(bucket: Any, folder: Path) -> None:
    """Delete the only file through the API, which has never listed the folder."""
    (folder / "a").mkdir()
    (folder / "a" / "x").write_text("x")
    bucket.blob("a/x").delete()
    bucket.blob("a/y").upload_from_string("y")
    bucket.blob("a/y").delete()
    assert (folder / "a").is_dir() and names(bucket) == ["a/"]


@pytest.mark.parity("Cloud Storage: folders under /gcs")
def test_a_folder_that_is_not_empty_outlives_its_object(bucket: Any, folder: Path) -> None:
    for name in ("a/", "a/x"):
        bucket.blob(name).upload_from_string(b"")
    bucket.blob("a/").delete()
    assert names(bucket) == ["a/x"]
    assert bucket.get_blob("a/") is None, "a folder alone is no object"
    assert (folder / "a" / "x").is_file()
    bucket.blob("a/").upload_from_string(b"")
    bucket.blob("a/x").delete()
    assert (folder / "a").is_dir() and names(bucket) == ["a/"]
    bucket.delete(force=True)
    assert not folder.exists()


@pytest.mark.parity("Cloud Storage: folders under /gcs")
@pytest.mark.parametrize("name", ["a/", "a/b/x"], ids=["of an object", "without an object"])
def test_a_renamed_folder(bucket: Any, folder: Path, name: str) -> None:
    for each in (name, "a/b/c"):
        bucket.blob(each).upload_from_string(b"")
    (folder / "a").rename(folder / "new")
    expected = ["new/", "new/b/c"] + ["new/b/x"] * (name == "a/b/x")
    assert names(bucket) == expected == names(bucket)
    bucket.blob("new/b/c").delete()
    assert bucket.get_blob("new/b/") is None


def test_content_and_files_in_the_way_are_kept_aside(bucket: Any, folder: Path) -> None:
    contents = {"a/": b"content", "b": b"file", "b/": b"", "b/x": b"below", "c/": b"", "c": b"file"}
    for name, content in contents.items():
        bucket.blob(name).upload_from_string(content)
    assert {name: bucket.blob(name).download_as_bytes() for name in names(bucket)} == contents
    assert (folder / "b").is_file() and (folder / "c").is_dir()
    bucket.blob("a/").upload_from_string(b"")
    assert (folder / "a").is_dir() and bucket.blob("a/").download_as_bytes() == b""
    bucket.blob("a/").upload_from_string(b"again")
    assert bucket.blob("a/").download_as_bytes() == b"again"
    (folder / "a").mkdir()
    assert bucket.blob("a/").download_as_bytes() == b"again", "mkdir loses no content"
    bucket.blob("a/").delete()
    assert "a/" not in names(bucket), "the folder goes with the object"


@pytest.mark.parametrize("content", [b"", b"content"])
def test_names_that_are_no_folders(emulator: Daemon, bucket: Any, folder: Path, content: bytes) -> None:
    hostile = [
        "a//",
        "/",
        "//",
        "../",
        "..//",
        "./",
        "b/../",
        "b/./",
        "../../x/",
        "a//b/",
        "n\u00e9" * 300 + "/",
    ]
    before = sorted(emulator.folder.buckets.iterdir())
    for name in hostile:
        bucket.blob(name).upload_from_string(content)
    assert sorted(names(bucket)) == sorted(hostile)
    assert all(bucket.blob(name).download_as_bytes() == content for name in hostile)
    for prefix in hostile:
        assert prefix in [blob.name for blob in bucket.list_blobs(prefix=prefix)]
    assert sorted(emulator.folder.buckets.iterdir()) == before and list(folder.iterdir()) == []
    bucket.delete_blobs(hostile)
    assert names(bucket) == []


def test_copies_versions_and_moves(emulator: Daemon, bucket: Any, folder: Path) -> None:
    bucket.versioning_enabled = True
    bucket.patch()
    bucket.blob("a/").upload_from_string(b"")
    first = bucket.get_blob("a/").generation
    bucket.copy_blob(bucket.blob("a/"), bucket, "b/")
    bucket.blob("d/").compose([bucket.blob("a/"), bucket.blob("b/")])
    bucket.blob("a/").delete()
    assert [path.name for path in sorted(folder.iterdir())] == ["b", "d"]
    found = [(blob.name, blob.download_as_bytes()) for blob in bucket.list_blobs(versions=True)]
    assert found == [("a/", b""), ("b/", b""), ("d/", b"")]
    moved = f"/storage/v1/b/{bucket.name}/o/b%2F/moveTo/o/c%2F"
    assert call(emulator.storage_url, "POST", moved, body={}).status == 200
    assert (folder / "c").is_dir() and names(bucket) == ["c/", "d/"]
    generation = bucket.get_blob("c/").generation
    assert names(bucket) == ["c/", "d/"] and bucket.get_blob("c/").generation == generation
    bucket.copy_blob(bucket.blob("a/"), bucket, "a/", source_generation=first)
    assert (folder / "a").is_dir()
    for source, target in (("a/", "file"), ("file", "again/")):
        bucket.rename_blob(bucket.blob(source), target)
    assert (folder / "again").is_dir() and names(bucket) == ["again/", "c/", "d/"]


def test_a_deleted_folder_is_restored(bucket: Any, folder: Path) -> None:
    for name in ("a/", "a/x"):
        bucket.blob(name).upload_from_string(b"")
    generation = bucket.get_blob("a/").generation
    bucket.delete_blobs(["a/", "a/x"])
    assert list(folder.iterdir()) == []
    bucket.restore_blob("a/", generation=generation)
    assert names(bucket) == ["a/"] and (folder / "a").is_dir()
    assert bucket.blob("a/").download_as_bytes() == b""


_NOT_RECORDED = ("make folders", "link file", "record object")
_MOVES = (*_NOT_RECORDED, "remove file", "remove moved file")
"""Steps at which a move can be interrupted in this process, which otherwise removes the new file."""


@pytest.mark.parametrize("versions", [False, True])
@pytest.mark.parametrize("step", [*_MOVES, "put file", "keep file"])
def test_a_kill_at_a_step_of_the_store(tmp_path: Path, step: str, versions: bool) -> None:
    """Interrupt uploads, deletions and moves, as if the process had died, and start the emulator twice."""
    steps = Steps()
    old = {"over/", "deleted/", "moved/", "to-file/", "empty"}
    with running(tmp_path, step_hook=steps) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.bucket("kills")
        bucket.versioning_enabled = versions
        bucket.soft_delete_policy.retention_duration_seconds = 0
        client.create_bucket(bucket)
        for name in old:
            bucket.blob(name).upload_from_string(b"")
        store = daemon.storage.object_store
        acts: list[Callable[[], object]] = [
            lambda: put(store, "over/"),
            lambda: put(store, "new/deep/"),
            lambda: store.remove(store.get("kills", "deleted/"), keep_version=versions),
        ]
        if step in _MOVES:
            acts += [
                lambda: move(store, "moved/", "moved/below/"),
                lambda: move(store, "to-file/", "file"),
                lambda: move(store, "empty", "folder/"),
            ]
        with steps.killing_at(step):
            for act in acts:
                with suppress(Killed):
                    act()
    expected = {"over/", "new/deep/"}
    expected |= {"moved/below/", "file", "folder/"} if step in _MOVES else old - {"deleted/"}
    if step in _NOT_RECORDED:
        expected = old - {"deleted/"} | ({"new/deep/"} if step == "link file" else set())
    if step == "remove file" and not versions:
        expected.add("deleted/")
    for _ in range(2):
        with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
            assert names(client.bucket("kills")) == sorted(expected)
            kept = [each for each in client.list_blobs("kills", versions=True) if each.time_deleted]
            assert [each.download_as_bytes() for each in kept] == [b""] * len(kept)
            assert list(daemon.folder.incoming.iterdir()) == []
            assert len(list(daemon.folder.aside.iterdir())) == len(kept)


def put(object_store: ObjectStore, name: str) -> None:
    incoming = Incoming(object_store.files.new_incoming())
    content = Content(path=incoming.path, state=incoming.finish(), sums=incoming.sums)
    object_store.put("kills", name, content, settings={}, preconditions=Preconditions())


def move(object_store: ObjectStore, name: str, target: str) -> None:
    object_store.move(object_store.get("kills", name), target, settings={}, preconditions=Preconditions())


def test_a_restart_makes_missing_folders(tmp_path: Path) -> None:
    """Start again after changes of a replica, then with a folder object whose folder is missing."""
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.create_bucket("old")
        for name in ("console/", "implicit/b/x"):
            bucket.blob(name).upload_from_string(b"")
        folder = daemon.folder.buckets / "old"
    (folder / "by-replica").mkdir()
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert names(client.bucket("old")) == ["by-replica/", "console/", "implicit/b/x"]
        aside = daemon.folder.aside / ("0" * 64)
        database = daemon.folder.database
    aside.touch()
    (folder / "console").rmdir()
    connection = connect(database)
    connection.execute("UPDATE storage_objects SET aside = ? WHERE name = 'console/'", (aside.name,))
    connection.close()
    for _ in range(2):
        with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
            assert names(client.bucket("old")) == ["by-replica/", "console/", "implicit/b/x"]
            assert (folder / "console").is_dir() and not aside.exists()
