"""Objects through Google's client, and what only a bare request can ask."""

from __future__ import annotations

import base64
import hashlib
import io
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import google_crc32c
import pytest
from google.api_core.exceptions import (
    BadRequest,
    NotFound,
    NotModified,
    PreconditionFailed,
    RequestRangeNotSatisfiable,
)

from support.emulated.emulator import Answer, call
from vertex_emulator.daemon.daemon import Daemon

HOSTILE = [
    "../../../etc/passwd",
    "..",
    "a/../../../../outside",
    "./a",
    "a/./b",
    "/absolute",
    "a//b",
    "trailing/",
    "/",
    "a\0b",
    "x" * 300,
    "deep/" * 200 + "x",
    "%2e%2e%2fescape",
    "..%2f..%2fescape",
    "näme/ünï☃/🦊",
    " spaces and\ttabs ",
    "back\\slash",
    "q?u=e&r#y",
    "~/.ssh/id_rsa",
    "-rf",
    "$(touch pwned)",
    "con",
    "a:b",
    "dir/name.",
    "\ufeffbom",
    "e\u0301",
    "\u00e9",
]


def path_of(bucket: str, name: str) -> str:
    from urllib.parse import quote

    return f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}"


def ask(emulator: Daemon, method: str, path: str, **options: Any) -> Answer:
    return call(emulator.storage_url, method, path, **options)


@pytest.mark.parametrize("size", [0, 1, 262144, 5_000_000, 8 * 1024 * 1024 + 1])
def test_round_trip(bucket: Any, folder: Path, size: int) -> None:
    data = os.urandom(size)
    blob = bucket.blob("some/object")
    blob.upload_from_string(data, content_type="application/x-test")
    read = bucket.get_blob("some/object")
    assert read.download_as_bytes() == data
    assert read.size == size
    assert read.content_type == "application/x-test"
    assert read.md5_hash == base64.b64encode(hashlib.md5(data).digest()).decode()
    assert read.crc32c == base64.b64encode(google_crc32c.Checksum(data).digest()).decode()
    assert read.storage_class == "STANDARD"
    assert read.metageneration == 1
    assert (folder / "some" / "object").read_bytes() == data


def test_in_pieces_up_and_down(bucket: Any) -> None:
    data = os.urandom(3 * 1024 * 1024 + 17)
    blob = bucket.blob("pieces", chunk_size=1024 * 1024)
    blob.upload_from_file(io.BytesIO(data))
    assert blob.size == len(data)
    assert bucket.blob("pieces", chunk_size=512 * 1024).download_as_bytes() == data


def test_of_unknown_size(bucket: Any) -> None:
    with bucket.blob("stream").open("wb", chunk_size=256 * 1024) as stream:
        for _ in range(7):
            stream.write(b"0123456789" * 10_000)
    assert bucket.blob("stream").download_as_bytes() == b"0123456789" * 70_000
    with bucket.blob("stream").open("rb") as reader:
        reader.seek(5)
        assert reader.read(10) == b"5678901234"


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_works_and_stays_inside(emulator: Daemon, bucket: Any, name: str) -> None:
    if name == "..":
        with pytest.raises(BadRequest, match="must not be"):
            bucket.blob(name).upload_from_string("x")
        return
    outside = set(emulator.folder.root.parent.iterdir())
    blob = bucket.blob(name)
    blob.upload_from_string(f"content of {name!r}")
    assert bucket.get_blob(name).name == name
    assert blob.download_as_text() == f"content of {name!r}"
    assert [found.name for found in bucket.list_blobs()] == [name]
    for path in (emulator.folder.buckets / bucket.name).rglob("*"):
        assert not path.is_symlink()
        assert path.resolve().is_relative_to(emulator.folder.buckets / bucket.name)
    assert set(emulator.folder.root.parent.iterdir()) == outside
    blob.delete()
    assert list(bucket.list_blobs()) == []


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "Required"),
        (".", "must not be '.'"),
        ("a\nb", "line feed"),
        ("x" * 1025, "1025 bytes"),
        ("ü" * 513, "1026 bytes"),
        (".well-known/acme-challenge/x", "acme-challenge"),
    ],
)
def test_names_that_the_service_refuses(emulator: Daemon, bucket: Any, name: str, rule: str) -> None:
    answer = ask(
        emulator,
        "POST",
        f"/upload/storage/v1/b/{bucket.name}/o?uploadType=resumable",
        body={"name": name},
    )
    assert answer.status == 400
    assert rule in answer.message


def test_names_that_are_not_unicode(emulator: Daemon, bucket: Any) -> None:
    upload = f"/upload/storage/v1/b/{bucket.name}/o?uploadType="
    assert ask(emulator, "POST", f"{upload}media&name=%ff", body=b"x").status == 400
    answer = ask(emulator, "POST", f"{upload}resumable", body=b'{"name": "\\ud800"}', headers=json_type())
    assert answer.status == 400
    assert "Unicode" in answer.message
    assert ask(emulator, "GET", f"/storage/v1/b/{bucket.name}/o/%ff").status == 400


def json_type() -> dict[str, str]:
    return {"Content-Type": "application/json"}


def test_a_file_and_a_folder_of_one_name(bucket: Any, folder: Path) -> None:
    for name in ("a", "a/b", "a/b/c", "d/e", "d"):
        bucket.blob(name).upload_from_string(name)
    assert [blob.name for blob in bucket.list_blobs()] == ["a", "a/b", "a/b/c", "d", "d/e"]
    for name in ("a", "a/b", "a/b/c", "d/e", "d"):
        assert bucket.blob(name).download_as_text() == name
    assert (folder / "a").read_text() == "a"
    assert (folder / "d" / "e").read_text() == "d/e"
    for name in ("a", "d/e"):
        bucket.blob(name).delete()
    assert not (folder / "a").exists()
    bucket.blob("a/b").upload_from_string("again")
    assert (folder / "a" / "b").read_text() == "again", "once it can, it goes to its natural place"
    assert [blob.name for blob in bucket.list_blobs()] == ["a/b", "a/b/c", "d"]
    assert bucket.blob("a/b/c").download_as_text() == "a/b/c"


def test_overwriting_and_deleting(bucket: Any, folder: Path) -> None:
    blob = bucket.blob("x/y/z")
    blob.upload_from_string("one")
    first = blob.generation
    blob.upload_from_string("two")
    assert blob.generation > first
    assert blob.download_as_text() == "two"
    with pytest.raises(NotFound):
        bucket.blob("x/y/z", generation=first).download_as_bytes()
    blob.delete()
    assert not (folder / "x").exists(), "folders that are empty go with the last object"
    with pytest.raises(NotFound, match=f"No such object: {bucket.name}/x/y/z"):
        blob.reload()
    with pytest.raises(NotFound):
        blob.delete()


def test_generation_conditions(bucket: Any) -> None:
    blob = bucket.blob("o")
    with pytest.raises(PreconditionFailed):
        blob.upload_from_string("x", if_generation_match=5)
    blob.upload_from_string("x", if_generation_match=0)
    generation = blob.generation
    for size in (1, 9 * 1024 * 1024):
        with pytest.raises(PreconditionFailed, match="pre-conditions"):
            bucket.blob("o").upload_from_string(b"y" * size, if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        blob.download_as_bytes(if_generation_match=generation + 1)
    with pytest.raises(NotModified):
        blob.reload(if_generation_not_match=generation)
    with pytest.raises(PreconditionFailed):
        blob.delete(if_generation_match=generation + 1)
    with pytest.raises(PreconditionFailed):
        blob.delete(if_metageneration_match=2)
    assert blob.download_as_bytes(if_generation_match=generation, if_metageneration_match=1) == b"x"
    bucket.blob("o").upload_from_string("z", if_generation_match=generation)
    with pytest.raises(NotFound):
        blob.delete(if_generation_match=generation)


def test_etags_as_conditions(emulator: Daemon, bucket: Any) -> None:
    blob = bucket.blob("o")
    blob.upload_from_string("x")
    path = path_of(bucket.name, "o")
    etag = ask(emulator, "GET", path).json()["etag"]
    assert ask(emulator, "GET", path, headers={"If-None-Match": etag}).status == 304
    assert ask(emulator, "GET", path, headers={"If-Match": etag}).status == 200
    assert ask(emulator, "GET", path, headers={"If-Match": '"other"'}).status == 412


def test_metadata(bucket: Any) -> None:
    blob = bucket.blob("o")
    blob.metadata = {"sha256": "abc", "grün": "ü"}
    blob.cache_control = "no-store"
    blob.content_disposition = "attachment"
    blob.content_language = "de"
    blob.custom_time = datetime(2026, 1, 2, tzinfo=timezone.utc)
    blob.upload_from_string("x", content_type="text/x")
    read = bucket.get_blob("o")
    assert read.metadata == {"sha256": "abc", "grün": "ü"}
    assert read.cache_control == "no-store"
    assert read.content_disposition == "attachment"
    assert read.content_language == "de"
    assert read.custom_time == datetime(2026, 1, 2, tzinfo=timezone.utc)

    read.metadata = {"sha256": None, "new": "1"}
    read.content_type = "text/y"
    read.cache_control = None
    read.patch()
    again = bucket.get_blob("o")
    assert again.metadata == {"grün": "ü", "new": "1"}
    assert (again.content_type, again.cache_control, again.metageneration) == ("text/y", None, 2)
    assert again.generation == read.generation
    assert again.etag != blob.etag
    with pytest.raises(PreconditionFailed):
        again.patch(if_metageneration_match=1)
    again.custom_time = datetime(2025, 1, 1, tzinfo=timezone.utc)
    with pytest.raises(BadRequest, match="customTime"):
        again.patch()


def test_a_custom_time_keeps_its_microseconds(bucket: Any) -> None:
    blob = bucket.blob("o")
    blob.custom_time = datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=timezone.utc)
    blob.upload_from_string("x")
    read = bucket.get_blob("o")
    assert read.custom_time == blob.custom_time
    read.custom_time -= timedelta(microseconds=1)
    with pytest.raises(BadRequest, match="customTime"):
        read.patch()
    read.reload()
    read.custom_time += timedelta(microseconds=4)
    read.patch()
    assert bucket.get_blob("o").custom_time.microsecond == 123460


@pytest.mark.parametrize("content", ["x", "x" * (9 << 20)], ids=["multipart", "resumable"])
def test_a_key_of_cloud_kms_is_recorded(bucket: Any, content: str) -> None:
    key = "projects/p/locations/us/keyRings/r/cryptoKeys/k"
    bucket.blob("o", kms_key_name=key).upload_from_string(content)
    assert bucket.get_blob("o").kms_key_name == f"{key}/cryptoKeyVersions/1"
    with pytest.raises(BadRequest, match="cryptoKeys"):
        bucket.blob("p", kms_key_name="k").upload_from_string("x")
    assert bucket.get_blob("p") is None


def test_parameters_that_no_call_has_are_ignored(emulator: Daemon, bucket: Any) -> None:
    path = f"/storage/v1/b/{bucket.name}/o"
    assert ask(emulator, "GET", f"{path}?force=true").status == 200
    assert ask(emulator, "GET", f"{path}?rewriteToken=x").status == 400


@pytest.mark.parity(
    "Cloud Storage: buckets and objects", same="the fields that it does not support are refused by name"
)
def test_what_is_not_supported_is_refused_by_name(emulator: Daemon, bucket: Any) -> None:
    blob = bucket.blob("o")
    blob.upload_from_string("x")
    answer = ask(emulator, "PATCH", path_of(bucket.name, "o"), body={"contexts": {"custom": {}}})
    assert (answer.status, "'contexts'" in answer.message) == (400, True)
    for call_ in (lambda: bucket.blob("k", encryption_key=b"0" * 32).upload_from_string("x"),):
        with pytest.raises(BadRequest, match="The emulator does not support"):
            call_()
    assert not bucket.blob("k").exists()


def test_checksums_are_verified(emulator: Daemon, bucket: Any) -> None:
    upload = f"/upload/storage/v1/b/{bucket.name}/o?uploadType=media&name=o"
    crc = base64.b64encode(google_crc32c.Checksum(b"data").digest()).decode()
    md5 = base64.b64encode(hashlib.md5(b"data").digest()).decode()
    other = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    for header, status in (
        (f"crc32c={crc}", 200),
        (f"crc32c={crc},md5={md5}", 200),
        ("crc32c=AAAAAA==", 400),
        (f"md5={other}", 400),
        ("md5=short", 400),
        ("sha1=x", 400),
    ):
        answer = ask(emulator, "POST", upload, body=b"data", headers={"X-Goog-Hash": header})
        assert answer.status == status, header
    assert ask(emulator, "POST", upload, body=b"data", headers={"Content-MD5": other}).status == 400
    bad = bucket.blob("bad")
    bad.crc32c = "AAAAAA=="
    with pytest.raises(BadRequest, match="doesn't match calculated CRC32C"):
        bad.upload_from_string("data", checksum=None)
    assert not bad.exists()
    assert list(emulator.folder.incoming.iterdir()) == []


def test_ranges(emulator: Daemon, bucket: Any) -> None:
    bucket.blob("o").upload_from_string("0123456789")
    path = path_of(bucket.name, "o") + "?alt=media"
    for header, status, body, content_range in (
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=5-", 206, b"56789", "bytes 5-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=5-3", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ):
        answer = ask(emulator, "GET", path, headers={"Range": header})
        assert (answer.status, answer.headers.get("Content-Range")) == (status, content_range), header
        assert body is None or answer.body == body
    with pytest.raises(RequestRangeNotSatisfiable):
        bucket.blob("o").download_as_bytes(start=10)


def test_headers_of_the_content(emulator: Daemon, bucket: Any) -> None:
    blob = bucket.blob("o")
    blob.upload_from_string("data", content_type="text/plain")
    direct = ask(emulator, "GET", path_of(bucket.name, "o") + "?alt=media")
    download = ask(emulator, "GET", "/download" + path_of(bucket.name, "o") + "?alt=media")
    head = ask(emulator, "HEAD", "/download" + path_of(bucket.name, "o") + "?alt=media")
    assert direct.body == download.body == b"data"
    assert head.body == b""
    for answer in (direct, download, head):
        assert answer.headers["Content-Type"] == "text/plain"
        assert answer.headers["Content-Length"] == "4"
        assert answer.headers["X-Goog-Generation"] == str(blob.generation)
        assert answer.headers["X-Goog-Hash"] == f"crc32c={blob.crc32c},md5={blob.md5_hash}"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_header_injection(emulator: Daemon, bucket: Any) -> None:
    upload = f"/upload/storage/v1/b/{bucket.name}/o?uploadType=resumable"
    body = {"name": "o", "contentType": "text/html\r\nX-Evil: 1"}
    answer = ask(emulator, "POST", upload, body=body)
    assert answer.status == 400
    assert "control characters" in answer.message


def test_links_carry_the_prefix_by_which_they_were_asked(emulator: Daemon, bucket: Any) -> None:
    blob = bucket.blob("o")
    blob.upload_from_string("x")
    assert blob.media_link.startswith(emulator.storage_url + "/download/")
    by_token = call(emulator.url, "GET", path_of(bucket.name, "o"), token=emulator.token)
    assert by_token.json()["mediaLink"].startswith(emulator.url + "/download/")
    assert emulator.storage_url.rpartition("/")[2] not in by_token.body.decode()
    assert emulator.storage_url.rpartition("/")[2] not in blob.self_link


def test_a_slash_has_to_be_encoded(emulator: Daemon, bucket: Any) -> None:
    bucket.blob("a/b").upload_from_string("x")
    answer = ask(emulator, "GET", f"/storage/v1/b/{bucket.name}/o/a/b")
    assert answer.status == 404
    assert "%2F" in answer.message


def test_content_types_that_are_no_header(emulator: Daemon, bucket: Any) -> None:
    bucket.blob("o").upload_from_string("x")
    blob = bucket.get_blob("o")
    blob.content_type = "text/\u00e9\u65e5"
    blob.patch()
    answer = ask(emulator, "GET", f"/storage/v1/b/{bucket.name}/o/o?alt=media")
    assert (answer.status, answer.body, answer.headers["Content-Type"]) == (200, b"x", "text/??")
    assert bucket.get_blob("o").content_type == "text/\u00e9\u65e5"
    parts = b'--B\nContent-Type: application/json\n\n{"name":"cr"}\n'
    parts += b"--B\nContent-Type: text/html\rX-Other: 1\n\nx\n--B--\n"
    path = f"/upload/storage/v1/b/{bucket.name}/o?uploadType=multipart"
    kind = {"Content-Type": "multipart/related; boundary=B"}
    assert ask(emulator, "POST", path, body=parts, headers=kind).status == 200
    answer = ask(emulator, "GET", f"/storage/v1/b/{bucket.name}/o/cr?alt=media")
    assert "X-Other" not in answer.headers


def test_half_a_surrogate_pair_does_not_spoil_the_list(emulator: Daemon, bucket: Any) -> None:
    parts = b'--B\r\nContent-Type: application/json\r\n\r\n{"name":"o","contentType":"\\ud800"}\r\n'
    parts += b"--B\r\nContent-Type: text/plain\r\n\r\nx\r\n--B--\r\n"
    path = f"/upload/storage/v1/b/{bucket.name}/o?uploadType=multipart"
    kind = {"Content-Type": "multipart/related; boundary=B"}
    assert ask(emulator, "POST", path, body=parts, headers=kind).status == 400
    assert list(bucket.list_blobs()) == []
