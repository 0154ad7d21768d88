"""Kills at any moment: what is listed afterwards is whole."""

from __future__ import annotations

import base64
import itertools
import os
import threading
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import pytest
from google.api_core.exceptions import GoogleAPIError
from requests.exceptions import RequestException

from support.emulated.emulator import call, kill, running, storage_client
from support.services.steps import Killed, Steps
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher
from vertex_emulator.services.storage.disk.object_store import Content, ObjectStore
from vertex_emulator.services.storage.disk.preconditions import Preconditions
from vertex_emulator.services.storage.uploads.incoming import Incoming

GRAIN = 256 * 1024


@pytest.mark.parametrize("versions", [False, True])
@pytest.mark.parametrize("step", ["put file", "keep file", "remove file"])
def test_a_kill_between_record_and_file(tmp_path: Path, step: str, versions: bool) -> None:
    """Interrupt the store at a step as if the process had died there, and start the emulator again."""
    steps = Steps()
    with running(tmp_path, step_hook=steps) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.bucket("kills")
        bucket.versioning_enabled = versions
        bucket.soft_delete_policy.retention_duration_seconds = 0
        client.create_bucket(bucket)
        for name in ("overwritten", "deleted"):
            blob = bucket.blob(name)
            blob.metadata = {"which": "first"}
            blob.upload_from_string(f"first {name}")
        object_store = daemon.storage.object_store
        deaths = 0
        with steps.killing_at(step):
            for act in (
                lambda: put(object_store, "kills", "overwritten", b"second"),
                lambda: put(object_store, "kills", "fresh", b"second"),
                lambda: object_store.remove(object_store.get("kills", "deleted"), keep_version=versions),
            ):
                try:
                    act()
                except Killed:
                    deaths += 1
        assert deaths == {"put file": 2, "keep file": 2 if versions else 0, "remove file": 1}[step]
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        bucket = client.bucket("kills")
        found = {blob.name: blob.download_as_bytes() for blob in bucket.list_blobs()}
        assert found["overwritten"] == b"second", "the record was committed, so the new content is there"
        assert found["fresh"] == b"second"
        assert found.get("deleted", b"first deleted") == b"first deleted"
        history = [(blob.name, blob.download_as_bytes()) for blob in bucket.list_blobs(versions=True)]
        assert (("overwritten", b"first overwritten") in history) == versions
        if versions:
            assert ("deleted", b"first deleted") in history
        assert bucket.get_blob("overwritten").metadata == {"which": "second"}
        assert list(daemon.folder.incoming.iterdir()) == []
        kept = {blob.generation for blob in bucket.list_blobs(versions=True) if blob.time_deleted}
        assert len(list(daemon.folder.aside.iterdir())) == len(kept)


def put(object_store: ObjectStore, bucket: str, name: str, data: bytes) -> None:
    incoming = Incoming(object_store.files.new_incoming())
    incoming.write(data)
    content = Content(path=incoming.path, state=incoming.finish(), sums=incoming.sums)
    settings = {"contentType": "text/plain", "metadata": {"which": data.decode()}}
    object_store.put(bucket, name, content, settings=settings, preconditions=Preconditions())


def test_a_resumable_upload_goes_on_after_a_kill(
    start: Callable[..., launcher.Emulator], tmp_path: Path
) -> None:
    first = start()
    data = os.urandom(2 * GRAIN + 5)
    with storage_client(first.storage_url) as client:
        client.create_bucket("resumed")
    path = "/upload/storage/v1/b/resumed/o?uploadType=resumable&name=o"
    location = call(first.storage_url, "POST", path, body={}).headers["Location"]
    assert location.startswith(first.storage_url)
    session = location[len(first.storage_url) :]
    headers = {"Content-Range": f"bytes 0-{GRAIN - 1}/*"}
    assert call(first.storage_url, "PUT", session, body=data[:GRAIN], headers=headers).status == 308

    kill(first.pid)
    second = start()
    headers = {"Content-Range": f"bytes */{len(data)}"}
    status = call(second.storage_url, "PUT", session, body=b"", headers=headers)
    assert (status.status, status.headers["Range"]) == (308, f"bytes=0-{GRAIN - 1}")
    headers = {"Content-Range": f"bytes {GRAIN}-{len(data) - 1}/{len(data)}"}
    answer = call(second.storage_url, "PUT", session, body=data[GRAIN:], headers=headers)
    assert answer.json()["crc32c"] == base64.b64encode(google_crc32c.Checksum(data).digest()).decode()
    with storage_client(second.storage_url) as client:
        assert client.bucket("resumed").blob("o").download_as_bytes() == data


def test_sigkill_while_objects_are_stored(start: Callable[..., launcher.Emulator]) -> None:
    """Several clients store, overwrite and delete; the daemon is killed again and again."""
    data_dir = start().data_dir
    with storage_client(start().storage_url) as client:
        client.create_bucket("busy")
    acknowledged: dict[str, bytes] = {}
    for round_ in range(4):
        emulator = start()
        ends = threading.Event()
        workers = [
            threading.Thread(target=store_until, args=(emulator, f"r{round_}w{n}", acknowledged, ends))
            for n in range(3)
        ]
        for worker in workers:
            worker.start()
        enough = len(acknowledged) + 10 + 3 * round_
        eventually(lambda enough=enough: len(acknowledged) >= enough)  # type: ignore[misc]
        kill(emulator.pid)
        ends.set()
        for worker in workers:
            worker.join()
    emulator = start()
    with storage_client(emulator.storage_url) as client:
        found = {blob.name: blob for blob in client.list_blobs("busy")}
        for name, blob in found.items():
            content = blob.download_as_bytes(checksum="crc32c")
            assert blob.crc32c == base64.b64encode(google_crc32c.Checksum(content).digest()).decode()
            assert content == content[:1] * len(content), f"{name} is torn"
            assert blob.metadata == {"letter": content[:1].decode()}, "content and metadata belong together"
        assert len(acknowledged) > 10, "the test has to store something before each kill"
        assert acknowledged.keys() <= found.keys(), "what was acknowledged is there"
    assert list((data_dir / "objects-incoming").iterdir()) == []


def store_until(
    emulator: launcher.Emulator, prefix: str, acknowledged: dict[str, bytes], ends: threading.Event
) -> None:
    with storage_client(emulator.storage_url) as client:
        bucket = client.bucket("busy")
        for number in itertools.count():
            letter = b"abcdefgh"[number % 8 : number % 8 + 1]
            name = f"{prefix}/{number % 5}" if number % 2 else f"{prefix}/new-{number}"
            blob = bucket.blob(name)
            blob.metadata = {"letter": letter.decode()}
            try:
                blob.upload_from_string(letter * (1000 + 70_000 * (number % 3)), retry=None)
            except (GoogleAPIError, RequestException):
                assert ends.wait(TIMEOUT)
                return
            acknowledged[name] = letter


def test_a_start_after_a_program_replaced_the_folder_of_a_bucket(tmp_path: Path) -> None:
    steps = Steps()
    with running(tmp_path, step_hook=steps) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("kills")
        with steps.killing_at("put file"), pytest.raises(Killed):
            put(daemon.storage.object_store, "kills", "o", b"whole")
        folder = daemon.folder.buckets / "kills"
        folder.rmdir()
        folder.write_text("a file")
    with running(tmp_path) as daemon, storage_client(daemon.storage_url) as client:
        assert client.bucket("kills").blob("o").download_as_text() == "whole"
