"""Buckets and objects against a scripted service: what the emulator never answers."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import google_crc32c
import pytest

from pulumi_vertex_training.cloud import errors, objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.scripted_service import Answer, Asked, Service, refusal

BUCKET = {"name": "b", "location": "US-CENTRAL1", "metageneration": "3", "projectNumber": "7"}
NOT_EMPTY = refusal(409, "ALREADY_EXISTS", "The bucket you tried to delete is not empty.")


def crc32c(content: bytes) -> str:
    return base64.b64encode(google_crc32c.value(content).to_bytes(4, "big")).decode()


def stored(content: bytes, *, generation: int = 1, **more: object) -> dict[str, object]:
    return {
        "bucket": "b",
        "name": "a/o",
        "size": str(len(content)),
        "generation": str(generation),
        "crc32c": crc32c(content),
        **more,
    }


@pytest.mark.parametrize("trouble", [refusal(503, "UNAVAILABLE", "later"), Answer(drop=True)])
def test_a_bucket_is_created_once(service: Service, endpoint: Endpoint, trouble: Answer) -> None:
    service.script(trouble)
    with pytest.raises(errors.Unavailable):
        buckets.create(endpoint, {"name": "b"})
    assert len(service.asked) == 1


def test_a_bucket_goes_out_and_comes_back_as_json(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document=BUCKET))
    wire = {"name": "b", "location": "us-central1", "labels": {"a": "b"}}
    record = buckets.create(endpoint, wire)
    (asked,) = service.asked
    assert (asked.method, asked.path, asked.query) == ("POST", "/storage/v1/b", {"project": ["local"]})
    assert asked.body == wire
    assert (record.name, record.location, record.metageneration) == ("b", "US-CENTRAL1", 3)
    assert (record.project_number, record.url, record.wire) == ("7", "gs://b", BUCKET)


def test_a_patch_removes_by_null_and_may_insist_on_a_generation(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document=BUCKET))
    buckets.patch(endpoint, "b", {"labels": {"old": None}}, if_metageneration_match=3)
    assert service.asked[0].query == {"ifMetagenerationMatch": ["3"]}
    assert service.asked[0].body == {"labels": {"old": None}}
    service.script(refusal(412, "FAILED_PRECONDITION", "At least one of the pre-conditions did not hold."))
    with pytest.raises(errors.Conflict):
        buckets.patch(endpoint, "b", {}, if_metageneration_match=3)


def test_a_full_bucket_is_kept_and_the_remedy_said(service: Service, endpoint: Endpoint) -> None:
    service.script(NOT_EMPTY)
    with pytest.raises(
        errors.FailedPrecondition, match=r"is not empty\. Delete its objects, or set force_destroy"
    ):
        buckets.delete(endpoint, "b")
    assert [asked.method for asked in service.asked] == ["DELETE"]


def test_a_bucket_that_something_writes_to_is_given_up(service: Service, endpoint: Endpoint) -> None:
    def answer(asked: Asked) -> Answer:
        return NOT_EMPTY if asked.path == "/storage/v1/b/b" else Answer(document={})

    service.script(answer)
    with pytest.raises(errors.FailedPrecondition, match="Something is writing to it"):
        buckets.delete(endpoint, "b", force=True)
    assert [asked.path for asked in service.asked if asked.method == "DELETE"] == ["/storage/v1/b/b"] * 3


def test_emptying_deletes_every_version_of_every_page_and_survives_what_is_gone(
    service: Service, endpoint: Endpoint
) -> None:
    def answer(asked: Asked) -> Answer:
        if asked.method == "DELETE":
            gone = asked.path.endswith("/gone")
            return refusal(404, "NOT_FOUND", "No such object") if gone else Answer(status=204)
        if "pageToken" in asked.query:
            return Answer(document={"items": [{"name": "gone", "generation": "9"}]})
        items = [{"name": "dir/o 1?#", "generation": str(number)} for number in range(40)]
        return Answer(document={"items": items, "nextPageToken": "dir/o"})

    service.script(answer)
    reported: list[int] = []
    buckets.delete(endpoint, "b", force=True, tell=reported.append)
    deleted = [asked for asked in service.asked if asked.method == "DELETE" and "/o/" in asked.path]
    assert len(deleted) == 41
    assert {asked.path for asked in deleted} == {
        "/storage/v1/b/b/o/dir%2Fo%201%3F%23",
        "/storage/v1/b/b/o/gone",
    }
    assert {asked.query["generation"][0] for asked in deleted if "gone" not in asked.path} == {
        str(number) for number in range(40)
    }
    assert reported == [41]
    assert service.asked[-1].path == "/storage/v1/b/b"


def test_what_cannot_be_deleted_stops_the_emptying(service: Service, endpoint: Endpoint) -> None:
    def answer(asked: Asked) -> Answer:
        if asked.method == "DELETE":
            return refusal(403, "PERMISSION_DENIED", "does not have storage.objects.delete access")
        return Answer(document={"items": [{"name": "kept", "generation": "1"}]})

    service.script(answer)
    with pytest.raises(errors.PermissionDenied, match="gs://b/kept"):
        buckets.delete(endpoint, "b", force=True)


@pytest.mark.parametrize("metadata", [{}, {"sha256": "abc"}])
def test_what_is_there_is_not_sent(
    service: Service, endpoint: Endpoint, tmp_path: Path, metadata: dict[str, str]
) -> None:
    file = tmp_path / "archive"
    file.write_bytes(b"content")
    service.script(Answer(document=stored(b"content", metadata=metadata)))
    for source in (file, b"content", io.BytesIO(b"content")):
        ensured = objects.ensure(endpoint, "b", "a/o", source, sha256="abc")
        assert not ensured.sent
        assert ensured.record.uri == "gs://b/a/o"
    assert {(asked.method, asked.path) for asked in service.asked} == {("GET", "/storage/v1/b/b/o/a%2Fo")}


@pytest.mark.parametrize(
    "there",
    [
        stored(b"contenT", generation=5),
        stored(b"content and more", generation=5),
        stored(b"content", generation=5, metadata={"sha256": "of something else"}),
    ],
)
def test_what_differs_is_replaced_only_in_that_generation(
    service: Service, endpoint: Endpoint, there: dict[str, object]
) -> None:
    service.script(Answer(document=there), Answer(document=stored(b"content", generation=6)))
    ensured = objects.ensure(endpoint, "b", "a/o", b"content", sha256="abc")
    assert ensured.sent
    assert ensured.record.generation == 6
    upload = service.asked[1]
    assert upload.path == "/upload/storage/v1/b/b/o"
    assert upload.query["ifGenerationMatch"] == ["5"]


def test_a_race_for_an_object_is_settled_by_looking_again(service: Service, endpoint: Endpoint) -> None:
    lost = refusal(412, "FAILED_PRECONDITION", "At least one of the pre-conditions did not hold.")
    missing = refusal(404, "NOT_FOUND", "No such object: b/a/o")
    service.script(missing, lost, Answer(document=stored(b"content")))
    ensured = objects.ensure(endpoint, "b", "a/o", b"content")
    assert not ensured.sent
    assert service.asked[1].query["ifGenerationMatch"] == ["0"]
    service.script(missing, lost, missing, lost)
    with pytest.raises(errors.Conflict):
        objects.ensure(endpoint, "b", "a/o", b"content")


@pytest.mark.parametrize("trouble", [Answer(drop=True), refusal(503, "UNAVAILABLE", "later")])
def test_an_upload_whose_answer_was_lost_is_found(
    service: Service, endpoint: Endpoint, trouble: Answer
) -> None:
    missing = refusal(404, "NOT_FOUND", "No such object: b/a/o")
    already = refusal(412, "FAILED_PRECONDITION", "At least one of the pre-conditions did not hold.")
    service.script(missing, trouble, already, Answer(document=stored(b"content")))
    assert objects.ensure(endpoint, "b", "a/o", b"content").record.generation == 1
    assert [asked.method for asked in service.asked] == ["GET", "POST", "POST", "GET"]


def test_a_missing_file_is_said_as_such(endpoint: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        objects.ensure(endpoint, "b", "o", tmp_path / "missing")


def test_a_damaged_download_leaves_no_file(service: Service, endpoint: Endpoint, tmp_path: Path) -> None:
    def answer(content: bytes) -> Answer:
        checksum = {"X-Goog-Hash": f"crc32c={crc32c(b'content')}"}
        return Answer(text=content.decode(), content_type="application/octet-stream", headers=checksum)

    target = tmp_path / "file"
    service.script(answer(b"contenT"))
    with pytest.raises(errors.DataLoss):
        objects.download(endpoint, "b", "a/o", target)
    assert list(tmp_path.iterdir()) == []
    service.script(answer(b"content"))
    objects.download(endpoint, "b", "a/o", target)
    assert target.read_bytes() == b"content"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
