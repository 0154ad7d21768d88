"""The XML API, batches and odd names beside it: what clients rely on when things go wrong."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from support.disk import largest_file
from support.emulated.emulator import Answer, call, running, storage_client
from support.emulated.services.storage import BUCKETS, ask, path_of
from support.services.steps import Steps
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon

SURROGATE = urlsafe_b64encode(b'["\\ud800", 5]').decode()
NAME = urlsafe_b64encode(b'"\\ud800"').decode()
PART = "<Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>"
LIST = f"<CompleteMultipartUpload>{PART}</CompleteMultipartUpload>"


def found(answer: Answer, element: str) -> list[str]:
    return re.findall(f"<{element}>([^<]*)</{element}>", answer.body.decode())


def begin(daemon: Daemon, path: str) -> str:
    """Begin a multipart upload, and return its id."""
    (upload,) = found(ask(daemon, "POST", f"{path}?uploads", b""), "UploadId")
    return upload


def send(daemon: Daemon, path: str, upload: str, data: bytes = b"x") -> Answer:
    return ask(daemon, "PUT", f"{path}?uploadId={upload}&partNumber=1", data)


def complete(daemon: Daemon, path: str, upload: str, etag: str, **headers: str) -> Answer:
    return ask(daemon, "POST", f"{path}?uploadId={upload}", LIST.format(etag).encode(), headers=headers)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", f"{BUCKETS}/a%00b/o/x", id="get an object"),
        pytest.param("DELETE", f"{BUCKETS}/a%00b", id="delete a bucket"),
        pytest.param("PATCH", f"{BUCKETS}/a%00b/o/x", id="patch an object"),
        pytest.param("POST", f"{BUCKETS}/a%00b/o/x/moveTo/o/y", id="move"),
        pytest.param("POST", f"{BUCKETS}/a%00b/o/x/copyTo/b/fronts/o/y", id="copy"),
    ],
)
def test_no_bucket_is_called_so(emulator: Daemon, method: str, path: str) -> None:
    assert ask(emulator, method, path, {} if method in ("PATCH", "POST") else None).status == 404


def test_a_path_is_no_bucket(emulator: Daemon, tmp_path: Path) -> None:
    """Use a path as a bucket's name: files outside the buckets' folder stay invisible."""
    (tmp_path / "secret").write_bytes(b"x")
    files = emulator.storage.object_store.files
    assert files.state(str(tmp_path), ("secret",)) is None
    assert list(files.changes(str(tmp_path), "", {}, [])) == []


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(f"{BUCKETS}/{{}}/o?pageToken={SURROGATE}", id="objects"),
        pytest.param(f"{BUCKETS}?project=local&pageToken={NAME}", id="buckets"),
        pytest.param(f"/{{}}?list-type=2&continuation-token={SURROGATE}", id="XML"),
        pytest.param("/{}?versions&marker=o&generation-marker=%C2%B2", id="XML generation"),
    ],
)
def test_a_page_token_that_is_none(emulator: Daemon, bucket: Any, query: str) -> None:
    assert ask(emulator, "GET", query.format(bucket.name)).status == 400


def test_a_marker_that_is_the_prefix_itself(emulator: Daemon, bucket: Any) -> None:
    """List a folder's own object first below its prefix, without ending the listing there."""
    for name in ("a/", "a/x", "a/y/1", "b"):
        bucket.blob(name).upload_from_string("x")
    names, marker = [], ""
    for _ in range(10):
        page = ask(emulator, "GET", f"/{bucket.name}?prefix=a/&delimiter=/&max-keys=1&marker={marker}")
        names += found(page, "Key") + found(page, "Prefix")[1:]
        if found(page, "IsTruncated") == ["false"]:
            break
        (marker,) = found(page, "NextMarker")
    assert names == ["a/", "a/x", "a/y/"]


@pytest.mark.parametrize(("header", "status"), [("If-None-Match", 304), ("If-Match", 200)])
def test_an_etag_of_the_xml_api_is_known_again(
    emulator: Daemon, bucket: Any, header: str, status: int
) -> None:
    path = f"/{bucket.name}/o"
    etag = ask(emulator, "PUT", path, b"x").headers["ETag"]
    assert ask(emulator, "GET", path, headers={header: etag}).status == status


def test_a_put_on_condition_of_an_etag(emulator: Daemon, bucket: Any) -> None:
    path = f"/{bucket.name}/o"
    etag = ask(emulator, "PUT", path, b"x").headers["ETag"]
    assert [ask(emulator, "PUT", path, b"y", headers={"If-Match": etag}).status for _ in range(2)] == [
        200,
        412,
    ]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_kill_once_a_multipart_upload_is_an_object(tmp_path: Path) -> None:
    """Complete an upload again after a lost response: there is still one object."""
    steps = Steps()
    with running(tmp_path, step_hook=steps) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("kills")
        upload = begin(daemon, "/kills/o")
        etag = send(daemon, "/kills/o", upload).headers["ETag"]
        with steps.killing_at("drop parts"), pytest.raises(ConnectionError):
            complete(daemon, "/kills/o", upload, etag)
        (before,) = client.list_blobs("kills", versions=True)
    with running(tmp_path) as daemon:
        assert list(daemon.folder.parts.iterdir()) == []
        answer = complete(daemon, "/kills/o", upload, etag, **{"x-goog-if-generation-match": "0"})
        assert (answer.status, answer.headers["X-Goog-Generation"]) == (200, str(before.generation))


def test_a_failed_completion_can_be_repeated(emulator: Daemon, bucket: Any) -> None:
    path = f"/{bucket.name}/o"
    upload = begin(emulator, path)
    etag = send(emulator, path, upload).headers["ETag"]
    with largest_file(0):
        assert complete(emulator, path, upload, etag).status == 507
    assert complete(emulator, path, upload, etag).status == 200
    assert bucket.blob("o").download_as_bytes() == b"x"


@pytest.mark.parametrize("chosen", [True, False], ids=["soft", "for good"])
def test_a_deleted_bucket_leaves_no_uploads_on_the_disk(tmp_path: Path, chosen: bool) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.bucket("short-lived")
        if chosen:
            bucket.soft_delete_policy.retention_duration_seconds = 7 * 86400
        client.create_bucket(bucket)
        send(daemon, "/short-lived/o", begin(daemon, "/short-lived/o"))
        ask(daemon, "POST", f"/upload{BUCKETS}/short-lived/o?uploadType=resumable&name=r", {})
        assert any(daemon.folder.parts.iterdir()) and any(daemon.folder.incoming.iterdir())
        bucket.delete()
        assert list(daemon.folder.incoming.iterdir()) == []
        eventually(lambda: not any(daemon.folder.parts.iterdir()))


def test_a_reset_leaves_no_uploads_on_the_disk(tmp_path: Path) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("reset")
        send(daemon, "/reset/o", begin(daemon, "/reset/o"))
        ask(daemon, "POST", f"/upload{BUCKETS}/reset/o?uploadType=resumable&name=r", {})
        daemon.storage.object_store.remove_all()
        assert list(daemon.folder.incoming.iterdir()) == []
        eventually(lambda: not any(daemon.folder.parts.iterdir()))


@pytest.mark.parametrize("days", [6, 8])
def test_uploads_are_kept_for_a_week_of_the_emulators_clock(tmp_path: Path, days: int) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("kept")
        upload = begin(daemon, "/kept/o")
        etag = send(daemon, "/kept/o", upload).headers["ETag"]
        assert complete(daemon, "/kept/o", upload, etag).status == 200
        ask(daemon, "POST", f"/upload{BUCKETS}/kept/o?uploadType=resumable&name=r", {})
        advanced = {"seconds": days * 86_400}
        assert (
            call(daemon.url, "POST", "/_local/clock/advance", body=advanced, token=daemon.token).status == 200
        )
    with running(tmp_path) as daemon:
        assert any(daemon.folder.incoming.iterdir()) == (days < 7)
        again = complete(daemon, "/kept/o", upload, etag).status
        assert again == (200 if days < 7 else 404)


def test_a_part_that_comes_when_its_upload_is_gone(tmp_path: Path) -> None:
    """Abort the upload, as a lifecycle rule may at any moment, between the last lookup and the record."""
    steps = Steps()
    with running(tmp_path, step_hook=steps) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("aborted")
        upload = begin(daemon, "/aborted/o")
        with steps.doing("record part", lambda: daemon.storage.multipart_uploads.abort(upload)):
            answer = send(daemon, "/aborted/o", upload)
    assert (answer.status, found(answer, "Code")) == (404, ["NoSuchUpload"])


def test_a_batch_of_very_many_parts_is_not_split(emulator: Daemon) -> None:
    body = b"--a\r\n" * 200_000 + b"--a--"
    headers = {"Content-Type": "multipart/mixed; boundary=a"}
    answer = ask(emulator, "POST", "/batch/storage/v1", body, headers=headers)
    assert (answer.status, "more than 100 calls" in answer.message) == (400, True)


def test_a_rule_spares_what_a_program_has_just_written(tmp_path: Path) -> None:
    """Replace the file between the lifecycle rule's decision and the deletion of the old object."""
    steps = Steps()
    with running(tmp_path, step_hook=steps) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.create_bucket("ruled")
        bucket.blob("o").upload_from_string("old")
        bucket.add_lifecycle_delete_rule(matches_prefix=["o"], matches_storage_class=["STANDARD"])
        file = daemon.folder.buckets / "ruled" / "o"
        with steps.doing("carry out lifecycle action", lambda: file.write_bytes(b"new content")):
            bucket.patch()
            daemon.storage.clock_changed()
            assert file.read_bytes() == b"new content"


def test_a_rule_s_bucket_that_goes_keeps_no_other_from_its_rules(tmp_path: Path) -> None:
    """Delete a bucket, whose folder a program makes again, right before its rules are carried out."""
    steps = Steps()
    with running(tmp_path, step_hook=steps) as daemon, storage_client(daemon.storage_url) as client:
        store = daemon.storage.object_store.store

        def delete_first() -> None:
            if (first := store.find_bucket("rules-1")) is not None:
                with store.locked("rules-1"):
                    daemon.storage.object_store.remove_bucket(first)
                folder = daemon.folder.buckets / "rules-1"
                folder.mkdir()
                (folder / "o").write_bytes(b"x")

        client.create_bucket("rules-1")
        second = client.create_bucket("rules-2")
        second.blob("o").upload_from_string("x")
        with steps.doing("apply lifecycle rules", delete_first):
            for name in ("rules-1", "rules-2"):
                bucket = client.bucket(name)
                bucket.add_lifecycle_delete_rule(age=0)
                bucket.patch()
            daemon.storage.clock_changed()
        assert ask(daemon, "GET", path_of("rules-2", "o")).status == 404
