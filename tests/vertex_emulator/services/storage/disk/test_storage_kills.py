"""Kills in the middle of moves, soft deletions and the removal of buckets: nothing is lost or there twice.

The emulator is a process of its own, which kills itself at a step of its store; the next start recovers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from requests.exceptions import ConnectionError as NoAnswer

from support.emulated.emulator import running, storage_client
from support.emulated.services.killed_emulator import killed_before_step

WEEK = 7 * 86400


def killed(data: Path, step: str, request: Callable[[Any], object]) -> None:
    """Make one request, in which the emulator dies just before the step."""
    with (
        killed_before_step(data, at=step) as emulator,
        storage_client(emulator.storage_url) as client,
        pytest.raises(NoAnswer),
    ):
        request(client.bucket("kills"))


@pytest.mark.parametrize("name", ["b", "b/"], ids=["to a file", "to a name of no file"])
@pytest.mark.parametrize(
    ("step", "found"),
    [
        pytest.param("link file", "a", id="before the link"),
        pytest.param("record object", "a", id="before the record"),
        pytest.param("move file in", None, id="after the record"),
        pytest.param("remove moved file", None, id="before the old file goes"),
    ],
)
def test_a_kill_in_a_move(tmp_path: Path, step: str, found: str | None, name: str) -> None:
    """`found`: the object's name afterwards, None for the new one."""
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("kills").blob("a").upload_from_string("x")
    killed(tmp_path, step, lambda bucket: bucket.move_blob(bucket.blob("a"), name, retry=None))
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        (blob,) = client.list_blobs("kills")
        assert blob.name == (found or name)
        assert blob.download_as_bytes() == b"x"
        assert list(daemon.folder.incoming.iterdir()) == []


def test_a_kill_in_the_move_of_a_folder(tmp_path: Path) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("kills").blob("a/").upload_from_string("")
    killed(tmp_path, "move file in", lambda bucket: bucket.move_blob(bucket.blob("a/"), "b/", retry=None))
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert [blob.name for blob in client.list_blobs("kills")] == ["b/"]
        assert [path.name for path in (daemon.folder.buckets / "kills").iterdir()] == ["b"]


@pytest.mark.parametrize("step", ["keep file", "remove file"])
def test_a_kill_in_a_soft_deletion(tmp_path: Path, step: str) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        blob = client.create_bucket("kills").blob("a")
        blob.upload_from_string("x")
    killed(tmp_path, step, lambda bucket: bucket.blob("a").delete(retry=None))
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert list(client.list_blobs("kills")) == []
        bucket = client.bucket("kills")
        bucket.restore_blob("a", generation=blob.generation)
        assert bucket.blob("a").download_as_bytes() == b"x"


@pytest.fixture(params=[True, False], ids=["soft", "for good"])
def can_be_restored(request: pytest.FixtureRequest) -> bool:
    """Return whether the bucket's owner chose soft deletion, so that the bucket can be restored."""
    return bool(request.param)


@pytest.fixture
def generation(tmp_path: Path, can_be_restored: bool) -> int:
    """Create a bucket with one soft-deleted object, and return its generation."""
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.bucket("kills")
        if can_be_restored:
            bucket.soft_delete_policy.retention_duration_seconds = WEEK
        client.create_bucket(bucket)
        bucket.blob("a").upload_from_string("x")
        bucket.blob("a").delete()
        return int(client.get_bucket("kills").generation)


@pytest.mark.usefixtures("generation")
def test_a_kill_before_the_removal_of_a_bucket_is_recorded(tmp_path: Path) -> None:
    killed(tmp_path, "remove bucket record", lambda bucket: bucket.delete(retry=None))
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert [each.name for each in client.list_buckets()] == ["kills"]
        assert len(list(client.list_blobs("kills", soft_deleted=True))) == 1


def test_a_kill_after_the_removal_of_a_bucket_is_recorded(
    tmp_path: Path, can_be_restored: bool, generation: int
) -> None:
    killed(tmp_path, "remove bucket folder", lambda bucket: bucket.delete(retry=None))
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert list(client.list_buckets()) == []
        assert len(list(daemon.folder.aside.iterdir())) == int(can_be_restored)
        if can_be_restored:
            client.restore_bucket("kills", generation=generation)
            assert len(list(client.list_blobs("kills", soft_deleted=True))) == 1
        else:
            client.create_bucket("kills")
            assert list(client.list_blobs("kills")) == []
