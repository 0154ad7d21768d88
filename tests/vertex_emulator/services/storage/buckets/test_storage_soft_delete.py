"""Soft deletion of objects and buckets, with versions, by the emulator's clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.api_core.exceptions import Conflict, NotFound, PreconditionFailed

from support.emulated.emulator import running, storage_client
from support.emulated.services.storage import BUCKETS, advance, ask, path_of
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.storage.buckets.housekeeper import Housekeeper


def chosen(client: Any, name: str = "chosen", **fields: Any) -> Any:
    """Create a bucket whose owner has chosen soft deletion for 8 days."""
    bucket = client.bucket(name)
    bucket.soft_delete_policy.retention_duration_seconds = 8 * 86400
    for field, value in fields.items():
        setattr(bucket, field, value)
    return client.create_bucket(bucket)


def soft(bucket: Any) -> list[Any]:
    return list(bucket.list_blobs(soft_deleted=True))


def put(bucket: Any, name: str, data: bytes) -> Any:
    blob = bucket.blob(name)
    blob.upload_from_string(data)
    return blob


def test_a_deleted_object_can_be_seen(client: Any) -> None:
    bucket = chosen(client)
    blob = put(bucket, "a/b", b"x")
    blob.delete()
    (found,) = soft(bucket)
    assert (found.name, found.generation) == ("a/b", blob.generation)
    assert (found.hard_delete_time - found.soft_delete_time).days == 8
    assert list(bucket.list_blobs()) == list(bucket.list_blobs(versions=True)) == []
    again = bucket.get_blob("a/b", generation=blob.generation, soft_deleted=True)
    assert again.soft_delete_time == found.soft_delete_time


def test_a_deleted_object_cannot_be_read(client: Any) -> None:
    bucket = chosen(client)
    blob = put(bucket, "a", b"x")
    blob.delete()
    with pytest.raises(NotFound):
        bucket.blob("a", generation=blob.generation).download_as_bytes()


def test_an_overwritten_object_is_soft_deleted(client: Any) -> None:
    bucket = chosen(client)
    first = put(bucket, "a", b"first")
    put(bucket, "a", b"second")
    assert [found.generation for found in soft(bucket)] == [first.generation]


@pytest.mark.parity("Cloud Storage: holds, retention, soft deletion")
def test_restoring(client: Any) -> None:
    bucket = chosen(client)
    blob = bucket.blob("a")
    blob.metadata = {"k": "v"}
    blob.upload_from_string(b"first")
    blob.delete()
    restored = bucket.restore_blob("a", generation=blob.generation)
    assert restored.generation > blob.generation
    assert (restored.metadata, restored.metageneration, restored.soft_delete_time) == ({"k": "v"}, 1, None)
    assert bucket.blob("a").download_as_bytes() == b"first"


def test_restoring_over_an_object(client: Any) -> None:
    bucket = chosen(client)
    first = put(bucket, "a", b"first")
    second = put(bucket, "a", b"second")
    with pytest.raises(PreconditionFailed):
        bucket.restore_blob("a", generation=first.generation, if_generation_match=0)
    bucket.restore_blob("a", generation=first.generation)
    assert bucket.blob("a").download_as_bytes() == b"first"
    assert second.generation in [found.generation for found in soft(bucket)]


def test_restoring_what_is_not_there(daemon: Daemon, client: Any) -> None:
    bucket = chosen(client)
    live = put(bucket, "a", b"x")
    with pytest.raises(NotFound):
        bucket.restore_blob("a", generation=live.generation)
    assert (
        ask(daemon, "POST", path_of("chosen", "a") + "/restore").message == "Required parameter: generation"
    )


def test_its_time_is_over(daemon: Daemon, client: Any) -> None:
    bucket = chosen(client)
    blob = put(bucket, "a", b"x")
    blob.delete()
    advance(daemon, days=7.9)
    assert len(soft(bucket)) == len(list(daemon.folder.aside.iterdir())) == 1
    advance(daemon, days=0.2)
    assert soft(bucket) == []
    assert list(daemon.folder.aside.iterdir()) == []
    with pytest.raises(NotFound):
        bucket.restore_blob("a", generation=blob.generation)


def test_the_policy_of_the_deletion_counts(daemon: Daemon, client: Any) -> None:
    bucket = chosen(client)
    put(bucket, "a", b"x").delete()
    bucket.soft_delete_policy.retention_duration_seconds = 0
    bucket.patch()
    put(bucket, "b", b"x").delete()
    assert [found.name for found in soft(bucket)] == ["a"]
    advance(daemon, days=8.1)
    assert soft(bucket) == []


def test_versions_and_soft_deletion(client: Any) -> None:
    bucket = chosen(client, versioning_enabled=True)
    first, second = put(bucket, "a", b"1"), put(bucket, "a", b"2")
    bucket.blob("a").delete()
    assert [
        (found.generation, found.time_deleted is not None) for found in bucket.list_blobs(versions=True)
    ] == [
        (first.generation, True),
        (second.generation, True),
    ]
    assert soft(bucket) == []
    bucket.blob("a", generation=first.generation).delete()
    assert [found.generation for found in soft(bucket)] == [first.generation]
    assert [found.generation for found in bucket.list_blobs(versions=True)] == [second.generation]


def test_a_live_generation_that_is_deleted_by_its_number(client: Any) -> None:
    bucket = chosen(client, versioning_enabled=True)
    blob = put(bucket, "a", b"1")
    bucket.blob("a", generation=blob.generation).delete()
    assert list(bucket.list_blobs(versions=True)) == []
    assert [found.generation for found in soft(bucket)] == [blob.generation]


def test_it_outlives_the_emulator(tmp_path: Path) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        blob = put(chosen(client), "a", b"x")
        blob.delete()
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.bucket("chosen")
        bucket.restore_blob("a", generation=blob.generation)
        assert bucket.blob("a").download_as_bytes() == b"x"


# --- what nobody has asked for


def test_the_default_policy_is_kept_within_bounds(daemon: Daemon, client: Any) -> None:
    unasked, asked = client.create_bucket("unasked"), chosen(client)
    for number in range(4):
        for bucket in (unasked, asked):
            put(bucket, str(number), b"x" * 1000).delete()
    Housekeeper(daemon.storage.object_store, kept_by_default=2500).tidy()
    assert [found.name for found in soft(unasked)] == ["2", "3"], "the latest are kept"
    assert len(soft(asked)) == 4
    assert len(list(daemon.folder.aside.iterdir())) == 6


@pytest.mark.parity("Cloud Storage: holds, retention, soft deletion")
def test_deleting_a_bucket_that_nobody_wants_back(daemon: Daemon, client: Any) -> None:
    bucket = client.create_bucket("unasked")
    put(bucket, "a", b"x").delete()
    bucket.delete()
    assert list(daemon.folder.aside.iterdir()) == list(daemon.folder.buckets.iterdir()) == []
    assert list(client.list_buckets(soft_deleted=True)) == []


@pytest.mark.parametrize("chosen_later", [True, False])
def test_a_choice_made_later(client: Any, chosen_later: bool) -> None:
    bucket = client.create_bucket("later")
    bucket.soft_delete_policy.retention_duration_seconds = (9 if chosen_later else 7) * 86400
    bucket.patch()
    bucket.delete()
    found = [each.name for each in client.list_buckets(soft_deleted=True)]
    assert found == (["later"] if chosen_later else [])


# --- buckets


@pytest.mark.parity("Cloud Storage: holds, retention, soft deletion")
def test_a_bucket_comes_back_with_its_objects(daemon: Daemon, client: Any) -> None:
    bucket = chosen(client, labels={"a": "b"})
    generation = bucket.generation
    blob = put(bucket, "a", b"x")
    with pytest.raises(Conflict, match="not empty"):
        bucket.delete()
    blob.delete()
    bucket.delete()
    assert list(client.list_buckets()) == list(daemon.folder.buckets.iterdir()) == []
    (found,) = client.list_buckets(soft_deleted=True)
    assert (found.name, found.generation) == ("chosen", generation)
    assert (found.hard_delete_time - found.soft_delete_time).days == 8
    read = client.get_bucket("chosen", soft_deleted=True, generation=generation)
    assert read.soft_delete_time == found.soft_delete_time
    restored = client.restore_bucket("chosen", generation=generation)
    assert (restored.labels, restored.generation) == ({"a": "b"}, generation)
    bucket.restore_blob("a", generation=blob.generation)
    assert bucket.blob("a").download_as_bytes() == b"x"
    assert list(client.list_buckets(soft_deleted=True)) == []


def test_a_new_bucket_of_the_same_name(client: Any) -> None:
    bucket = chosen(client)
    put(bucket, "a", b"x").delete()
    bucket.delete()
    new = chosen(client)
    assert soft(new) == []
    with pytest.raises(Conflict, match="already"):
        client.restore_bucket("chosen", generation=bucket.generation)
    new.delete()
    client.restore_bucket("chosen", generation=bucket.generation)
    assert [found.name for found in soft(client.bucket("chosen"))] == ["a"]


def test_a_bucket_whose_time_is_over(daemon: Daemon, client: Any) -> None:
    bucket = chosen(client)
    put(bucket, "a", b"x").delete()
    bucket.delete()
    advance(daemon, days=8.1)
    with pytest.raises(NotFound):
        client.restore_bucket("chosen", generation=bucket.generation)
    assert list(daemon.folder.aside.iterdir()) == []


@pytest.mark.parametrize("name", ["chosen%23{}", "chosen#{}"])
def test_no_path_leads_to_a_soft_deleted_bucket(daemon: Daemon, client: Any, name: str) -> None:
    bucket = chosen(client)
    bucket.delete()
    assert ask(daemon, "GET", f"{BUCKETS}/{name.format(bucket.generation)}").status in (400, 404)
