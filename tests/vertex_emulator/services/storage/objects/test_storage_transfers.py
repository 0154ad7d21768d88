"""Objects made of objects: composed, rewritten, copied, moved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import google_crc32c
import pytest
from google.api_core.exceptions import NotFound, PreconditionFailed
from hypothesis import given
from hypothesis import strategies as st

from support.emulated.services.storage import ask, path_of
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.storage.disk.checksums import combined


def crc(data: bytes) -> str:
    import base64

    return base64.b64encode(google_crc32c.Checksum(data).digest()).decode()


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_checksums_of_pieces_make_that_of_the_whole(pieces: list[bytes]) -> None:
    sums = crc(pieces[0])
    for piece in pieces[1:]:
        sums = combined(sums, crc(piece), len(piece))
    assert sums == crc(b"".join(pieces))


def put(bucket: Any, name: str, data: bytes, **fields: Any) -> Any:
    blob = bucket.blob(name)
    for field, value in fields.items():
        setattr(blob, field, value)
    blob.upload_from_string(data)
    return blob


# --- compose


@pytest.mark.parity("Cloud Storage: buckets and objects")
def test_components_one_after_the_other(bucket: Any, folder: Path) -> None:
    parts = [os.urandom(size) for size in (100_000, 0, 3_000_001)]
    whole = bucket.blob("whole")
    whole.content_type = "text/x"
    whole.compose([put(bucket, f"part/{n}", part) for n, part in enumerate(parts)])
    assert (folder / "whole").read_bytes() == b"".join(parts)
    read = bucket.get_blob("whole")
    assert read.crc32c == crc(b"".join(parts))
    assert (read.md5_hash, read.component_count, read.content_type) == (None, 3, "text/x")
    assert read.download_as_bytes() == b"".join(parts)


def test_components_of_components_are_counted(bucket: Any) -> None:
    a, b = put(bucket, "a", b"1"), put(bucket, "b", b"2")
    bucket.blob("ab").compose([a, b])
    bucket.blob("a").compose([bucket.blob("ab"), a])  # an object may be composed into itself
    read = bucket.get_blob("a")
    assert (read.component_count, read.download_as_bytes()) == (3, b"121")


def test_component_of_a_generation(bucket: Any) -> None:
    bucket.versioning_enabled = True
    bucket.patch()
    old = put(bucket, "a", b"old")
    put(bucket, "a", b"new")
    bucket.blob("c").compose([bucket.blob("a", generation=old.generation), bucket.blob("a")])
    assert bucket.blob("c").download_as_bytes() == b"oldnew"


@pytest.mark.parametrize("match", [pytest.param(1, id="another"), pytest.param(0, id="none")])
def test_condition_on_a_component(bucket: Any, match: int) -> None:
    a = put(bucket, "a", b"1")
    with pytest.raises(PreconditionFailed):
        bucket.blob("c").compose([a], if_source_generation_match=[match])
    assert not bucket.blob("c").exists()


def test_a_composition_has_the_content_type_that_it_is_given(emulator: Daemon, bucket: Any) -> None:
    put(bucket, "a", b"a")
    path = path_of(bucket.name, "c") + "/compose"
    sources = {"sourceObjects": [{"name": "a"}]}
    assert "contentType" not in ask(emulator, "POST", path, sources).json()
    typed = ask(emulator, "POST", path, {**sources, "destination": {"contentType": "text/x"}}).json()
    assert typed["contentType"] == "text/x"


def test_condition_on_the_composed(bucket: Any) -> None:
    a = put(bucket, "a", b"1")
    with pytest.raises(PreconditionFailed):
        a.compose([a, a], if_generation_match=0)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        pytest.param({}, 400, "sourceObjects", id="no sources"),
        pytest.param({"sourceObjects": []}, 400, "sourceObjects", id="empty"),
        pytest.param({"sourceObjects": [{"name": "a"}] * 33}, 400, "exceeds the maximum (32)", id="33"),
        pytest.param({"sourceObjects": [{}]}, 400, "sourceObjects[0].name", id="no name"),
        pytest.param({"sourceObjects": [7]}, 400, "sourceObjects[0]", id="a number"),
        pytest.param({"sourceObjects": [{"name": "x"}]}, 404, "No such object", id="missing"),
        pytest.param({"sourceObjects": [{"name": "a"}], "destination": 7}, 400, "object", id="destination"),
    ],
)
def test_compositions_that_are_refused(
    emulator: Daemon, bucket: Any, body: Any, status: int, says: str
) -> None:
    put(bucket, "a", b"1")
    answer = ask(emulator, "POST", path_of(bucket.name, "c") + "/compose", body)
    assert answer.status == status
    assert says in answer.message


# --- rewrite, copy


@pytest.mark.parity("Cloud Storage: buckets and objects")
def test_a_rewrite_copies_content_and_fields(storage: Any, bucket: Any) -> None:
    other = storage.create_bucket(f"{bucket.name}-other")
    source = put(bucket, "a/b", b"data" * 1000, metadata={"k": "v"}, cache_control="no-store")
    token, written, total = other.blob("c/d").rewrite(source)
    assert (token, written, total) == (None, 4000, 4000)
    read = other.get_blob("c/d")
    assert (read.metadata, read.cache_control) == ({"k": "v"}, "no-store")
    assert (read.md5_hash, read.crc32c) == (source.md5_hash, source.crc32c)
    assert read.download_as_bytes() == b"data" * 1000


def test_fields_that_are_given_stand_for_all(bucket: Any) -> None:
    source = put(bucket, "a", b"x", metadata={"k": "v"}, cache_control="no-store")
    target = bucket.blob("b")
    target.metadata = {"new": "1"}
    target.rewrite(source)
    read = bucket.get_blob("b")
    assert (read.metadata, read.cache_control) == ({"new": "1"}, None)


def test_a_rewrite_changes_the_class_of_an_object(bucket: Any) -> None:
    blob = put(bucket, "a", b"x", metadata={"k": "v"})
    blob.update_storage_class("COLDLINE")
    read = bucket.get_blob("a")
    assert (read.storage_class, read.metadata, read.download_as_bytes()) == ("COLDLINE", {"k": "v"}, b"x")


def test_a_rewrite_in_several_calls(emulator: Daemon, bucket: Any) -> None:
    put(bucket, "a", b"x" * (5 << 19))
    path = f"{path_of(bucket.name, 'a')}/rewriteTo/b/{bucket.name}/o/b?maxBytesRewrittenPerCall={1 << 20}"
    seen, token = [], ""
    for _ in range(3):
        answer = ask(emulator, "POST", path + token, {}).json()
        seen.append((answer["done"], answer["totalBytesRewritten"], bucket.blob("b").exists()))
        token = f"&rewriteToken={answer.get('rewriteToken')}"
    assert seen == [
        (False, str(1 << 20), False),
        (False, str(2 << 20), False),
        (True, str(5 << 19), True),
    ]


def test_a_token_of_another_rewrite(emulator: Daemon, bucket: Any) -> None:
    put(bucket, "a", b"x" * (2 << 20))
    begin = path_of(bucket.name, "a")
    most = f"maxBytesRewrittenPerCall={1 << 20}"
    token = ask(emulator, "POST", f"{begin}/rewriteTo/b/{bucket.name}/o/b?{most}", {}).json()["rewriteToken"]
    path = f"{begin}/rewriteTo/b/{bucket.name}/o/c?{most}&rewriteToken="
    for bad in (token, "x", "W10="):
        assert ask(emulator, "POST", path + bad, {}).status == 400
    assert (
        ask(emulator, "POST", f"{begin}/rewriteTo/b/{bucket.name}/o/b?maxBytesRewrittenPerCall=7").status
        == 400
    )


def test_conditions_of_a_rewrite(bucket: Any) -> None:
    source = put(bucket, "a", b"x")
    with pytest.raises(PreconditionFailed):
        bucket.blob("b").rewrite(source, if_source_generation_match=1)
    bucket.blob("b").rewrite(source, if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        bucket.blob("b").rewrite(source, if_generation_match=0)


def test_a_copy(bucket: Any) -> None:
    source = put(bucket, "a", b"x", metadata={"k": "v"})
    copy = bucket.copy_blob(source, bucket, "b")
    assert (copy.metadata, copy.generation > source.generation) == ({"k": "v"}, True)
    assert bucket.blob("b").download_as_bytes() == b"x"


def test_a_copy_of_a_noncurrent_version(bucket: Any) -> None:
    bucket.versioning_enabled = True
    bucket.patch()
    old = put(bucket, "a", b"old")
    put(bucket, "a", b"new")
    bucket.copy_blob(old, bucket, "a", source_generation=old.generation)
    assert bucket.blob("a").download_as_bytes() == b"old"


def test_copies_are_files_of_their_own(bucket: Any, folder: Path) -> None:
    """Write to one of two copies in place: the other one must not change."""
    bucket.copy_blob(put(bucket, "a", b"x" * 10), bucket, "b")
    with (folder / "a").open("r+b") as file:
        file.write(b"changed")
    assert bucket.blob("b").download_as_bytes() == b"x" * 10


def test_a_file_of_a_replica_is_copied(bucket: Any, folder: Path) -> None:
    (folder / "written").write_bytes(b"y" * (9 << 20))
    bucket.copy_blob(bucket.blob("written"), bucket, "copy")
    assert bucket.get_blob("copy").crc32c == crc(b"y" * (9 << 20))


def test_what_is_missing(storage: Any, bucket: Any) -> None:
    with pytest.raises(NotFound, match="No such object"):
        bucket.blob("b").rewrite(bucket.blob("a"))
    source = put(bucket, "a", b"x")
    with pytest.raises(NotFound, match="bucket does not exist"):
        storage.bucket(f"{bucket.name}-none").blob("b").rewrite(source)


# --- move


def test_a_move_is_a_rename(bucket: Any, folder: Path) -> None:
    source = put(bucket, "a/b", b"x", metadata={"k": "v"})
    inode = (folder / "a" / "b").stat().st_ino
    moved = bucket.move_blob(source, "c/d")
    assert (moved.metadata, moved.metageneration, moved.generation > source.generation) == (
        {"k": "v"},
        1,
        True,
    )
    assert (folder / "c" / "d").stat().st_ino == inode
    assert [blob.name for blob in bucket.list_blobs()] == ["c/d"]
    assert [blob.name for blob in bucket.list_blobs(soft_deleted=True)] == []
    assert not (folder / "a").exists()


def test_a_move_over_an_object_soft_deletes_that(bucket: Any) -> None:
    put(bucket, "b", b"old")
    bucket.move_blob(put(bucket, "a", b"new"), "b")
    assert bucket.blob("b").download_as_bytes() == b"new"
    assert [blob.name for blob in bucket.list_blobs(soft_deleted=True)] == ["b"]


@pytest.mark.parametrize("names", [("a//b", "c"), ("a", "c/"), ("a//b", "c//d")])
def test_a_move_of_names_that_no_file_can_have(bucket: Any, names: tuple[str, str]) -> None:
    bucket.move_blob(put(bucket, names[0], b"x"), names[1])
    assert bucket.blob(names[1]).download_as_bytes() == b"x"
    assert [blob.name for blob in bucket.list_blobs()] == [names[1]]


def test_conditions_of_a_move(emulator: Daemon, bucket: Any) -> None:
    source = put(bucket, "a", b"x")
    path = f"{path_of(bucket.name, 'a')}/moveTo/o/b"
    assert ask(emulator, "POST", f"{path}?ifSourceGenerationMatch=1").status == 412
    assert ask(emulator, "POST", f"{path}?ifGenerationMatch=1").status == 412
    assert ask(emulator, "POST", f"{path}?ifSourceGenerationMatch={source.generation}").status == 200
    assert ask(emulator, "POST", path).status == 404


def test_a_move_to_its_own_name(emulator: Daemon, bucket: Any) -> None:
    put(bucket, "a", b"x")
    assert ask(emulator, "POST", f"{path_of(bucket.name, 'a')}/moveTo/o/a").status == 400
    assert bucket.blob("a").download_as_bytes() == b"x"


@pytest.mark.parity("Cloud Storage: buckets and objects")
@pytest.mark.parametrize("call", ["copyTo", "rewriteTo"])
def test_a_body_of_null_changes_nothing(emulator: Daemon, bucket: Any, call: str) -> None:
    """Go's generated client, and with it rclone, sends null for a copy without changes."""
    blob = put(bucket, "a", b"content", content_type="text/x", metadata={"kept": "yes"})
    path = f"{path_of(bucket.name, 'a')}/{call}/b/{bucket.name}/o/b"
    ask(emulator, "POST", path, b"null", headers={"Content-Type": "application/json"}).ok()
    copy = bucket.get_blob("b")
    assert (copy.content_type, copy.metadata, copy.crc32c) == ("text/x", {"kept": "yes"}, blob.crc32c)
