"""A bucket with everything that can stand against its deletion, in the emulator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pulumi_vertex_training.cloud import clients, objects, rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.kinds.staging_bucket import emptying
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets

NAME = "to-be-emptied"


@pytest.fixture
def bucket(emulator: Endpoint) -> Iterator[str]:
    buckets.create(emulator, {"name": NAME, "location": "us-central1", "versioning": {"enabled": True}})
    yield NAME
    try:
        buckets.patch(emulator, NAME, {"retentionPolicy": None, "defaultEventBasedHold": False})
        buckets.delete(emulator, NAME, force=True, release_holds=True)
    except NotFound:
        return


def patch_object(endpoint: Endpoint, name: str, body: dict[str, object]) -> None:
    rest.call(endpoint, "PATCH", f"{clients.storage_url(endpoint)}/storage/v1/b/{NAME}/o/{name}", body=body)


def start_upload(endpoint: Endpoint, path: str) -> None:
    url = f"{clients.storage_url(endpoint)}/{NAME}/{path}?uploads"
    assert clients.session(endpoint).post(url, timeout=10).status_code == 200


def test_noncurrent_versions_go_too(emulator: Endpoint, bucket: str) -> None:
    for content in (b"1", b"2", b"3"):
        objects.upload(emulator, bucket, "x", content)
    assert emptying.empty(emulator, bucket) == 3


def test_an_empty_bucket_is_empty(emulator: Endpoint, bucket: str) -> None:
    assert emptying.empty(emulator, bucket) == 0


@pytest.mark.parametrize("kind", ["temporaryHold", "eventBasedHold"])
def test_a_hold_keeps_everything(emulator: Endpoint, bucket: str, kind: str) -> None:
    objects.upload(emulator, bucket, "free", b"x")
    objects.upload(emulator, bucket, "kept", b"x")
    patch_object(emulator, "kept", {kind: True})
    with pytest.raises(emptying.HeldError):
        buckets.delete(emulator, bucket, force=True)
    assert [one.name for one in objects.list_objects(emulator, bucket)] == ["free", "kept"]


@pytest.mark.parametrize("kind", ["temporaryHold", "eventBasedHold"])
def test_a_hold_is_taken_off_on_request(emulator: Endpoint, bucket: str, kind: str) -> None:
    objects.upload(emulator, bucket, "kept", b"x")
    patch_object(emulator, "kept", {kind: True})
    buckets.delete(emulator, bucket, force=True, release_holds=True)
    with pytest.raises(NotFound):
        buckets.get(emulator, bucket)


def test_retention_that_begins_with_the_end_of_a_hold_says_until_when(
    emulator: Endpoint, bucket: str
) -> None:
    buckets.patch(emulator, bucket, {"retentionPolicy": {"retentionPeriod": "86400"}})
    objects.upload(emulator, bucket, "kept", b"x")
    patch_object(emulator, "kept", {"eventBasedHold": True})
    with pytest.raises(emptying.RetainedError, match="kept until 20"):
        emptying.empty(emulator, bucket, release_holds=True)


def test_all_that_is_retained_is_counted(emulator: Endpoint, bucket: str) -> None:
    for name in ("kept", "kept too"):
        objects.upload(emulator, bucket, name, b"x")
    buckets.patch(emulator, bucket, {"retentionPolicy": {"retentionPeriod": "86400"}})
    with pytest.raises(emptying.RetainedError) as refused:
        emptying.empty(emulator, bucket)
    assert refused.value.count == 2


def test_unfinished_uploads_are_aborted(emulator: Endpoint, bucket: str) -> None:
    for path in ("a%26b/c", "plain"):
        start_upload(emulator, path)
    found = list(emptying.unfinished_uploads(emulator, bucket))
    assert sorted(one.name for one in found) == ["a&b/c", "plain"]
    emptying.empty(emulator, bucket)
    assert list(emptying.unfinished_uploads(emulator, bucket)) == []
