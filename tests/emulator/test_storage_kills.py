"""Kills in the middle of moves, soft deletions and the removal of buckets: nothing is lost or there twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.emulator import running, storage_client
from vertex_training.emulator.storage.catalog import Catalog
from vertex_training.emulator.storage.files import ObjectFiles
from vertex_training.emulator.storage.preconditions import Preconditions


class Killed(BaseException):
    """Stands for SIGKILL in this process: nothing handles it."""


def dies(monkeypatch: pytest.MonkeyPatch, owner: type, method: str) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise Killed

    monkeypatch.setattr(owner, method, die)


@pytest.mark.parametrize("name", ["b", "b/"], ids=["to a file", "to a name of no file"])
@pytest.mark.parametrize(
    ("owner", "method"),
    [(ObjectFiles, "link_out"), (Catalog, "_exchange"), (Catalog, "_move_in"), (Catalog, "_remove_file")],
    ids=["before the link", "before the record", "after the record", "before the old file goes"],
)
def test_a_kill_in_a_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, method: str, name: str
) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("kills").blob("a").upload_from_string("x")
        catalog = daemon.storage.catalog
        with monkeypatch.context() as patch, pytest.raises(Killed):
            dies(patch, owner, method)
            # The clean-up of an exception would not happen in a kill.
            patch.setattr(Path, "unlink", lambda *_, **__: None)
            stored = catalog.get("kills", "a")
            catalog.move(stored, name, settings=stored.settings, preconditions=Preconditions())
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        (found,) = client.list_blobs("kills")
        recorded = method in ("_move_in", "_remove_file")
        assert found.name == (name if recorded else "a")
        assert found.download_as_bytes() == b"x"
        assert list(daemon.folder.incoming.iterdir()) == []


@pytest.mark.parametrize("method", ["keep", "remove"])
def test_a_kill_in_a_soft_deletion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        blob = client.create_bucket("kills").blob("a")
        blob.upload_from_string("x")
        catalog = daemon.storage.catalog
        with monkeypatch.context() as patch, pytest.raises(Killed):
            dies(patch, ObjectFiles, method)
            catalog.remove(catalog.get("kills", "a"), keep_version=False)
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert list(client.list_blobs("kills")) == []
        bucket = client.bucket("kills")
        bucket.restore_blob("a", generation=blob.generation)
        assert bucket.blob("a").download_as_bytes() == b"x"


@pytest.mark.parametrize("chosen", [True, False], ids=["soft", "for good"])
def test_a_kill_in_the_removal_of_a_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: bool
) -> None:
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.bucket("kills")
        if chosen:
            bucket.soft_delete_policy.retention_duration_seconds = 7 * 86400
        client.create_bucket(bucket)
        bucket.blob("a").upload_from_string("x")
        bucket.blob("a").delete()
        generation = client.get_bucket("kills").generation
        with monkeypatch.context() as patch:
            dies(patch, ObjectFiles, "remove_bucket")
            with pytest.raises(Killed):
                store = daemon.storage.catalog.store
                found = store.bucket("kills")
                if chosen:
                    moment = store.clock.now()
                    from dataclasses import replace

                    store.rename_bucket(found, replace(found, soft_deleted=moment, hard_delete="9999"))
                    daemon.storage.catalog.files.remove_bucket("kills")
                else:
                    daemon.storage.catalog.remove_bucket(found)
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert list(client.list_buckets()) == []
        assert len(list(daemon.folder.aside.iterdir())) == int(chosen)
        if chosen:
            client.restore_bucket("kills", generation=generation)
            assert len(list(client.list_blobs("kills", soft_deleted=True))) == 1
        else:
            client.create_bucket("kills")
            assert list(client.list_blobs("kills")) == []
