"""Kills in the middle of moves, soft deletions and the removal of buckets: nothing is lost or there twice.

A client asks a real emulator, which kills itself at a step of its own code; the next start recovers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from requests.exceptions import ConnectionError as NoAnswer

from support.emulator import running, storage_client
from support.killed_emulator import that_kills_itself

FILES = "vertex_emulator.storage.disk.files:ObjectFiles"
OBJECT_STORE = "vertex_emulator.storage.disk.object_store:ObjectStore"
STORE = "vertex_emulator.storage.disk.store:Store"
WEEK = 7 * 86400


def killed(data: Path, step: str, request: Callable[[Any], object]) -> None:
    """Make one request, in which the emulator dies just before the step."""
    with (
        that_kills_itself(data, at=step) as emulator,
        storage_client(emulator.storage_url) as client,
        pytest.raises(NoAnswer),
    ):
        request(client.bucket("kills"))


@pytest.mark.parametrize("name", ["b", "b/"], ids=["to a file", "to a name of no file"])
@pytest.mark.parametrize(
    ("step", "found"),
    [
        pytest.param(f"{FILES}.link_out", "a", id="before the link"),
        pytest.param(f"{OBJECT_STORE}._exchange", "a", id="before the record"),
        pytest.param(f"{OBJECT_STORE}._move_in", None, id="after the record"),
        pytest.param(f"{OBJECT_STORE}._remove_file", None, id="before the old file goes"),
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


@pytest.mark.parametrize("step", ["keep", "remove"])
def test_a_kill_in_a_soft_deletion(tmp_path: Path, step: str) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        blob = client.create_bucket("kills").blob("a")
        blob.upload_from_string("x")
    killed(tmp_path, f"{FILES}.{step}", lambda bucket: bucket.blob("a").delete(retry=None))
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert list(client.list_blobs("kills")) == []
        bucket = client.bucket("kills")
        bucket.restore_blob("a", generation=blob.generation)
        assert bucket.blob("a").download_as_bytes() == b"x"


@pytest.fixture(params=[True, False], ids=["soft", "for good"])
def can_be_restored(request: pytest.FixtureRequest) -> bool:
    """Whether the bucket's owner chose soft deletion, so that the bucket can be restored."""
    return bool(request.param)


@pytest.fixture
def generation(tmp_path: Path, can_be_restored: bool) -> int:
    """The generation of the bucket, which holds one soft-deleted object."""
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.bucket("kills")
        if can_be_restored:
            bucket.soft_delete_policy.retention_duration_seconds = WEEK
        client.create_bucket(bucket)
        bucket.blob("a").upload_from_string("x")
        bucket.blob("a").delete()
        return int(client.get_bucket("kills").generation)


@pytest.mark.usefixtures("generation")
def test_a_kill_before_the_removal_of_a_bucket_is_recorded(tmp_path: Path, can_be_restored: bool) -> None:
    step = f"{STORE}.{'rename_bucket' if can_be_restored else 'remove_bucket'}"
    killed(tmp_path, step, lambda bucket: bucket.delete(retry=None))
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert [each.name for each in client.list_buckets()] == ["kills"]
        assert len(list(client.list_blobs("kills", soft_deleted=True))) == 1


def test_a_kill_after_the_removal_of_a_bucket_is_recorded(
    tmp_path: Path, can_be_restored: bool, generation: int
) -> None:
    killed(tmp_path, f"{FILES}.remove_bucket", lambda bucket: bucket.delete(retry=None))
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert list(client.list_buckets()) == []
        assert len(list(daemon.folder.aside.iterdir())) == int(can_be_restored)
        if can_be_restored:
            client.restore_bucket("kills", generation=generation)
            assert len(list(client.list_blobs("kills", soft_deleted=True))) == 1
        else:
            client.create_bucket("kills")
            assert list(client.list_blobs("kills")) == []
