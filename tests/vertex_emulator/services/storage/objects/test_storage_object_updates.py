"""Updates of objects as whole resources, what is not looked at in them, and large files of replicas."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, PreconditionFailed

from support.emulated.emulator import running, storage_client
from support.emulated.services.storage import ask, path_of
from support.services.steps import Steps
from vertex_emulator.daemon.daemon import Daemon


def made(bucket: Any, **fields: Any) -> Any:
    blob = bucket.blob("o")
    for field, value in fields.items():
        setattr(blob, field, value)
    blob.upload_from_string("x", content_type="text/x")
    return blob


def test_an_update_keeps_what_it_sends(bucket: Any) -> None:
    blob = made(bucket, metadata={"a": "1", "b": "2"}, cache_control="no-store")
    blob.metadata = {"c": "3"}
    blob.update()
    read = bucket.get_blob("o")
    assert (read.metadata, read.cache_control, read.content_type) == ({"c": "3"}, "no-store", "text/x")
    assert (read.metageneration, read.generation) == (2, blob.generation)


def test_an_update_removes_what_it_leaves_out(emulator: Daemon, bucket: Any) -> None:
    made(bucket, metadata={"a": "1"}, cache_control="no-store", temporary_hold=True)
    after = ask(emulator, "PUT", path_of(bucket.name, "o"), {"contentType": "text/y"}).json()
    assert after["contentType"] == "text/y"
    assert after.keys().isdisjoint({"metadata", "cacheControl", "temporaryHold"})
    assert after["storageClass"] == "STANDARD"


def test_conditions_of_an_update(bucket: Any) -> None:
    blob = made(bucket)
    with pytest.raises(PreconditionFailed):
        blob.update(if_metageneration_match=2)


def test_the_class_is_not_changed_in_place(bucket: Any) -> None:
    blob = made(bucket)
    blob._patch_property("storageClass", "COLDLINE")
    with pytest.raises(BadRequest, match="cannot change the storage class"):
        blob.patch()


def test_custom_metadata_has_8_kib(bucket: Any) -> None:
    made(bucket, metadata={"key": "x" * (8192 - 3)})
    with pytest.raises(BadRequest, match="larger than 8192 bytes"):
        made(bucket, metadata={"key": "x" * (8192 - 2)})


def test_what_the_service_makes_is_not_looked_at(emulator: Daemon, bucket: Any) -> None:
    made(bucket)
    path = path_of(bucket.name, "o")
    before = ask(emulator, "GET", path).json()
    sent = {**before, "size": "77", "md5Hash": "x", "updated": "never", "metadata": {"a": "b"}}
    after = ask(emulator, "PATCH", path, sent).json()
    assert (after["size"], after["md5Hash"], after["metadata"]) == ("1", before["md5Hash"], {"a": "b"})


def test_a_large_file_is_read_while_others_use_the_bucket(tmp_path: Path) -> None:
    """Use a bucket while a listing reads a large file of a replica."""
    reading, go_on, steps = threading.Event(), threading.Event(), Steps()

    def wait() -> None:
        reading.set()
        assert go_on.wait(20)

    with running(tmp_path, step_hook=steps) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.create_bucket("large-files")
        with (daemon.folder.buckets / bucket.name / "large").open("wb") as file:
            file.truncate(9 << 20)
        listed: list[str] = []
        thread = threading.Thread(target=lambda: listed.extend(blob.name for blob in bucket.list_blobs()))
        with steps.doing("read large file", wait):
            thread.start()
            try:
                assert reading.wait(10)
                bucket.blob("small").upload_from_string("x")
                assert bucket.blob("small").download_as_bytes() == b"x"
            finally:
                go_on.set()
                thread.join(20)
    assert "large" in listed
