"""Signed URLs: what was signed opens, and nothing that differs from it by anything."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from google.cloud import storage as gcs
from google.oauth2 import service_account
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support.emulated.emulator import Answer, call
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon

FEW = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BUCKET = "signed-urls"
CHANGES = st.sampled_from(
    [
        *("path", "other object", "method", "drop", "double", "add", "value", "expires", "signature", "host"),
        *("encoded slash", "dots", "header"),
    ]
)


@pytest.fixture(scope="module")
def credentials(emulator: Daemon) -> Any:
    return service_account.Credentials.from_service_account_file(str(emulator.storage.key.file()))


@pytest.fixture(scope="module")
def bucket(storage: Any) -> Any:
    found = storage.create_bucket(BUCKET)
    for name in ("o", "p", "a/b"):
        found.blob(name).upload_from_string("content")
    return found


def signed(emulator: Daemon, credentials: Any, name: str, version: str) -> tuple[str, list[str]]:
    """Path and parameters of a URL that opens GET of an object for an hour."""
    blob = gcs.Client(project="local", credentials=credentials).bucket(BUCKET).blob(name)
    url = blob.generate_signed_url(
        expiration=timedelta(hours=1), version=version, method="GET", api_access_endpoint=emulator.url
    )
    return urlsplit(url).path, urlsplit(url).query.split("&")


def ask(emulator: Daemon, method: str, path: str, query: list[str], **headers: str) -> Answer:
    return call(emulator.url, method, f"{path}?{'&'.join(query)}", headers=headers)


@pytest.mark.parametrize("version", ["v2", "v4"])
@pytest.mark.parametrize("name", ["o", "a/b"])
def test_what_was_signed_opens(
    emulator: Daemon, bucket: Any, credentials: Any, name: str, version: str
) -> None:
    answer = ask(emulator, "GET", *signed(emulator, credentials, name, version))
    assert (answer.status, answer.body) == (200, b"content")


@pytest.mark.parametrize("version", ["v2", "v4"])
@FEW
@given(change=CHANGES, at=st.integers(0, 10), word=st.text("abcXYZ0189%2F/.", min_size=1, max_size=6))
def test_a_change_closes_it(
    emulator: Daemon, bucket: Any, credentials: Any, version: str, change: str, at: int, word: str
) -> None:
    path, query = signed(emulator, credentials, "a/b", version)
    method, headers, index = "GET", {}, at % len(query)
    match change:
        case "path":
            path += word
        case "other object":
            path = f"/{BUCKET}/o"
        case "method":
            method = ("PUT", "DELETE", "POST")[at % 3]
        case "drop":
            del query[index]
        case "double":
            query.append(query[index].partition("=")[0] + "=" + word)
        case "add" if version == "v4":
            query.append(f"generation={word}")
        case "value":
            query[index] += word
        case "expires":
            query = [each.replace("Expires=", "Expires=9") for each in query]
        case "signature":
            query = [
                each[:-2] + ("00" if each[-2:] != "00" else "11") if "Signature" in each else each
                for each in query
            ]
        case "host":
            headers["Host"] = "localhost"
            assume(version != "v2")  # which signs no host
        case "encoded slash":
            path = f"/{BUCKET}%2Fa/b"
        case "dots":
            path = f"/{BUCKET}/./a/b"
        case _:
            headers["x-goog-meta-a"] = word
    answer = ask(emulator, method, path, query, **headers)
    assert 400 <= answer.status < 500, (method, path, query, answer.body)


@pytest.mark.parametrize("version", ["v2", "v4"])
@pytest.mark.parametrize(
    "path",
    [
        "/v1/projects/local/locations",
        "/v2/",
        "/_local/info",
        "/storage/v1/b/signed-urls/o",
        "/s/x/signed-urls/o",
    ],
)
def test_it_opens_no_other_service(
    emulator: Daemon, bucket: Any, credentials: Any, version: str, path: str
) -> None:
    _, query = signed(emulator, credentials, "o", version)
    assert ask(emulator, "GET", path, query).status in (400, 401, 403)


def test_no_secret_of_it_is_logged(emulator: Daemon, bucket: Any, credentials: Any) -> None:
    for version in ("v2", "v4"):
        path, query = signed(emulator, credentials, "o", version)
        ask(emulator, "GET", path, query)
        (signature,) = (each.partition("=")[2] for each in query if "Signature=" in each)
        assert signature not in str(emulator._server.requests.entries())
