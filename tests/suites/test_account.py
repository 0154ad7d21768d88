"""The account of suites: Google's client gets the emulator's token for its key, and signs with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import requests
from google.auth.exceptions import RefreshError
from google.auth.transport.requests import Request
from google.cloud import storage
from google.oauth2.service_account import Credentials

from suites.account import key_file
from support.emulated.emulator import PROJECT, running
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.storage.signed_urls import ServiceKey

SCOPES = ["https://www.googleapis.com/auth/devstorage.full_control"]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def key(emulator: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with key_file(emulator, tmp_path_factory.mktemp("key")) as file:
        yield file


def test_a_client_with_the_key_writes_and_signs(emulator: Daemon, key: Path) -> None:
    credentials = Credentials.from_service_account_file(str(key))  # type: ignore[no-untyped-call]
    client = storage.Client(
        project=PROJECT, credentials=credentials, client_options={"api_endpoint": emulator.url}
    )
    blob = client.create_bucket("data").blob("model")
    blob.upload_from_string(b"weights")
    url = blob.generate_signed_url(
        version="v4", expiration=timedelta(minutes=1), api_access_endpoint=emulator.url
    )
    assert requests.get(url, timeout=30).content == b"weights"


def test_another_key_gets_no_token(key: Path, tmp_path: Path) -> None:
    ours = Credentials.from_service_account_file(str(key), scopes=SCOPES)  # type: ignore[no-untyped-call]
    other = Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
        str(ServiceKey(tmp_path / "key.json").file()), scopes=SCOPES
    )
    other._token_uri = ours._token_uri
    with pytest.raises(RefreshError, match="invalid_grant"):
        other.refresh(Request())


def test_only_the_owner_reads_the_key(key: Path) -> None:
    assert key.stat().st_mode & 0o777 == 0o600
