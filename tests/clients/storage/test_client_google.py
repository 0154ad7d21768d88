"""google-cloud-storage with transfer_manager, batches and signed URLs."""

from __future__ import annotations

import io
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from google.api_core.exceptions import BadRequest
from google.cloud.storage import Client, transfer_manager
from google.oauth2 import service_account

from vertex_emulator.daemon.daemon import Daemon

MEBI = 1024 * 1024


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large"
    path.write_bytes(os.urandom(11 * MEBI + 7))
    return path


@pytest.mark.parity(
    "Cloud Storage: clients", same="they work unchanged, through `vertex-training emulator env`"
)
def test_a_client_needs_nothing_but_the_environment(bucket: Any) -> None:
    with_environment = Client()
    try:
        assert with_environment.get_bucket(bucket.name).location == "US-CENTRAL1"
    finally:
        with_environment.close()


def test_upload_in_chunks_at_once(bucket: Any, large: Path) -> None:
    blob = bucket.blob("dir/large é.bin")
    transfer_manager.upload_chunks_concurrently(
        str(large), blob, chunk_size=5 * MEBI, max_workers=4, worker_type=transfer_manager.THREAD
    )
    assert blob.download_as_bytes() == large.read_bytes()


def test_upload_in_chunks_keeps_metadata(bucket: Any, large: Path) -> None:
    blob = bucket.blob("with-metadata")
    blob.metadata, blob.cache_control = {"step": "3"}, "no-store"
    transfer_manager.upload_chunks_concurrently(
        str(large), blob, chunk_size=6 * MEBI, worker_type=transfer_manager.THREAD, content_type="text/x"
    )
    found = bucket.get_blob("with-metadata")
    assert (found.metadata, found.cache_control, found.content_type) == ({"step": "3"}, "no-store", "text/x")


def test_download_in_chunks_at_once(bucket: Any, large: Path, tmp_path: Path) -> None:
    bucket.blob("large").upload_from_filename(str(large))
    transfer_manager.download_chunks_concurrently(
        bucket.blob("large"),
        str(tmp_path / "back"),
        chunk_size=2 * MEBI,
        worker_type=transfer_manager.THREAD,
    )
    assert (tmp_path / "back").read_bytes() == large.read_bytes()


@pytest.mark.parity("Cloud Storage: clients")
def test_upload_many_and_download_many(bucket: Any, tmp_path: Path) -> None:
    pairs = [(io.BytesIO(b"%d" % number), bucket.blob(f"many/{number}")) for number in range(30)]
    transfer_manager.upload_many(pairs, worker_type=transfer_manager.THREAD, raise_exception=True)
    transfer_manager.download_many_to_path(
        bucket,
        [blob.name for _, blob in pairs],
        destination_directory=str(tmp_path),
        worker_type=transfer_manager.THREAD,
        raise_exception=True,
    )
    assert [(tmp_path / f"many/{n}").read_bytes() for n in range(30)] == [b"%d" % n for n in range(30)]


@pytest.mark.parity("Cloud Storage: clients")
def test_a_batch_deletes(client: Any, bucket: Any) -> None:
    for name in ("a", "b", "c/d é"):
        bucket.blob(name).upload_from_string("x")
    with client.batch():
        for name in ("a", "c/d é"):
            bucket.blob(name).delete()
    assert [blob.name for blob in bucket.list_blobs()] == ["b"]


def test_a_batch_patches(client: Any, bucket: Any) -> None:
    bucket.blob("a").upload_from_string("x")
    with client.batch():
        blob = bucket.blob("a")
        blob.metadata = {"k": "v"}
        blob.patch()
    assert bucket.get_blob("a").metadata == {"k": "v"}


def test_match_glob(bucket: Any) -> None:
    for name in ("a/1.txt", "a/2.csv", "b/c/3.txt"):
        bucket.blob(name).upload_from_string("x")
    assert [blob.name for blob in bucket.list_blobs(match_glob="**/*.txt")] == ["a/1.txt", "b/c/3.txt"]


def test_the_projects_service_account(client: Any) -> None:
    assert client.get_service_account_email().endswith("@gs-project-accounts.iam.gserviceaccount.com")


@pytest.mark.parity("Cloud Storage: notifications", not_done="lists are empty, and creation is refused")
def test_there_are_no_notifications(bucket: Any) -> None:
    assert list(bucket.list_notifications()) == []
    with pytest.raises(BadRequest, match="it has no Pub/Sub"):
        bucket.notification("changes", topic_project="local").create()


def test_a_resumable_upload_of_unknown_size(bucket: Any) -> None:
    with bucket.blob("stream").open("wb", chunk_size=256 * 1024) as stream:
        for _ in range(5):
            stream.write(b"x" * 200_000)
    assert bucket.get_blob("stream").size == 1_000_000


@pytest.mark.parametrize("version", ["v2", "v4"])
class TestSignedUrls:
    """Signed with the emulator's key by Google's library, used by something that has no token."""

    @pytest.fixture
    def sign(self, emulator: Daemon, key_file: Path, bucket: Any, version: str) -> Any:
        credentials = service_account.Credentials.from_service_account_file(str(key_file))

        def signed(name: str, method: str = "GET", **options: Any) -> str:
            return str(
                bucket.blob(name).generate_signed_url(
                    version=version,
                    method=method,
                    expiration=timedelta(minutes=5),
                    credentials=credentials,
                    api_access_endpoint=emulator.url,
                    **options,
                )
            )

        return signed

    def test_get(self, sign: Any, bucket: Any) -> None:
        bucket.blob("a b/é.txt").upload_from_string("content")
        assert requests.get(sign("a b/é.txt"), timeout=10).content == b"content"

    def test_put(self, sign: Any, bucket: Any) -> None:
        url = sign("new", "PUT", content_type="text/x")
        requests.put(url, data=b"new", headers={"Content-Type": "text/x"}, timeout=10).raise_for_status()
        assert bucket.get_blob("new").content_type == "text/x"

    def test_delete(self, sign: Any, bucket: Any) -> None:
        bucket.blob("old").upload_from_string("x")
        requests.delete(sign("old", "DELETE"), timeout=10).raise_for_status()
        assert not bucket.blob("old").exists()

    def test_a_resumable_upload(self, sign: Any, bucket: Any) -> None:
        begun = requests.post(sign("resumed", "RESUMABLE"), headers={"x-goog-resumable": "start"}, timeout=10)
        requests.put(begun.headers["Location"], data=b"all of it", timeout=10).raise_for_status()
        assert bucket.blob("resumed").download_as_bytes() == b"all of it"

    def test_with_the_address_of_the_environment(
        self, settings: dict[str, str], key_file: Path, bucket: Any, version: str
    ) -> None:
        bucket.blob("x").upload_from_string("content")
        url = bucket.blob("x").generate_signed_url(
            version=version,
            expiration=timedelta(minutes=5),
            credentials=service_account.Credentials.from_service_account_file(str(key_file)),
        )
        assert url.startswith(settings["STORAGE_EMULATOR_HOST"])
        assert requests.get(url, timeout=10).content == b"content"
