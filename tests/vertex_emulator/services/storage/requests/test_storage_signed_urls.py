"""Signed URLs: what they open, for how long, and what they do not open."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

import pytest
from google.oauth2 import service_account

from support.emulated.emulator import Answer, ask, call
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.storage.signed_urls import ServiceKey

BROWSER = {"Origin": "https://example.com", "Sec-Fetch-Site": "cross-site"}


@pytest.fixture(scope="module")
def key_file(emulator: Daemon) -> Path:
    return Path(ask(emulator, "GET", "/_local/service-account").json()["path"])


@pytest.fixture(scope="module")
def credentials(key_file: Path) -> Any:
    return service_account.Credentials.from_service_account_file(str(key_file))


@pytest.fixture
def sign(emulator: Daemon, credentials: Any, bucket: Any) -> Any:
    bucket.blob("o").upload_from_string("content")
    bucket.blob("other").upload_from_string("secret")

    def signed(name: str = "o", **options: Any) -> str:
        options = {"version": "v4", "expiration": timedelta(minutes=5), **options}
        return str(
            bucket.blob(name).generate_signed_url(
                credentials=credentials, api_access_endpoint=emulator.url, **options
            )
        )

    return signed


@pytest.fixture
def clock(emulator: Daemon) -> Iterator[Any]:
    """Sets the emulator's clock forward; afterwards it is the machine's again."""

    def advance(seconds: float) -> None:
        path = "/_local/clock"
        ask(emulator, "POST", f"{path}/advance", {"seconds": seconds}).ok()

    yield advance
    ask(emulator, "POST", "/_local/clock/reset", {})


def use(url: str, method: str = "GET", **options: Any) -> Answer:
    parts = urlsplit(url)
    return call(f"{parts.scheme}://{parts.netloc}", method, f"{parts.path}?{parts.query}", **options)


def test_the_key_is_made_once_and_is_private(emulator: Daemon, key_file: Path) -> None:
    again = ask(emulator, "GET", "/_local/service-account").json()["path"]
    assert (Path(again), stat.S_IMODE(key_file.stat().st_mode)) == (key_file, 0o600)


def test_every_value_of_the_key_is_text(key_file: Path) -> None:
    assert {type(value) for value in json.loads(key_file.read_text()).values()} == {str}


def test_the_key_is_secret_without_the_token(emulator: Daemon) -> None:
    assert call(emulator.url, "GET", "/_local/service-account").status == 401
    assert call(emulator.storage_url, "GET", "/_local/service-account").status == 403


@pytest.mark.parity("Cloud Storage: signed URLs", own_way="both versions, with one key of the emulator's own")
def test_it_opens_what_was_signed(sign: Any) -> None:
    assert use(sign()).body == b"content"


def test_a_page_may_use_it(sign: Any) -> None:
    assert use(sign(), headers=BROWSER).body == b"content"


def test_a_page_may_use_nothing_else(emulator: Daemon, bucket: Any, sign: Any) -> None:
    sign()
    answer = ask(emulator, "GET", f"/{bucket.name}/o", headers=BROWSER)
    assert answer.status == 403


def test_another_host_is_refused(sign: Any) -> None:
    assert use(sign(), headers={"Host": "rebound.example"}).status == 403


@pytest.mark.parity("Cloud Storage: signed URLs")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("/o?", "/other?", id="object"),
        pytest.param("X-Goog-Expires=300", "X-Goog-Expires=604800", id="expiry"),
        pytest.param("X-Goog-SignedHeaders=host", "X-Goog-SignedHeaders=host%3Bx", id="headers"),
        pytest.param("&X-Goog-Signature=", "&generation=1&X-Goog-Signature=", id="query"),
        pytest.param("&X-Goog-Signature=", "&X-Goog-Signature=00", id="signature"),
        pytest.param("vertex-training-emulator%40", "somebody%40", id="account"),
    ],
)
def test_a_tampered_one_is_refused(sign: Any, old: str, new: str) -> None:
    answer = use(sign().replace(old, new))
    assert (answer.status, b"<Code>SignatureDoesNotMatch</Code>" in answer.body) == (403, True)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
def test_another_method_is_refused(sign: Any, method: str) -> None:
    assert use(sign(), method).status == 403


def test_the_key_of_another_emulator(sign: Any, emulator: Daemon, bucket: Any, tmp_path: Path) -> None:

    sign()
    other = service_account.Credentials.from_service_account_file(str(ServiceKey(tmp_path / "key").file()))
    url = bucket.blob("o").generate_signed_url(
        version="v4", expiration=60, credentials=other, api_access_endpoint=emulator.url
    )
    assert use(url).status == 403


@pytest.mark.parity("Cloud Storage: signed URLs")
@pytest.mark.parametrize(("later", "status"), [(3000, 200), (3601, 400)])
def test_it_expires_by_the_emulators_clock(sign: Any, clock: Any, later: int, status: int) -> None:
    url = sign(expiration=timedelta(hours=1))
    clock(later)
    assert use(url).status == status


def test_an_expired_one_says_so(sign: Any, clock: Any) -> None:
    url = sign(expiration=1)
    clock(10)
    assert b"<Code>ExpiredToken</Code>" in use(url).body


def test_version_two_expires(sign: Any, clock: Any) -> None:
    url = sign(version="v2")
    clock(301)
    assert b"<Code>ExpiredToken</Code>" in use(url).body


def test_version_two_tampered(sign: Any) -> None:
    assert use(sign(version="v2").replace("/o?", "/other?")).status == 403


def test_a_signed_header_has_to_come(sign: Any) -> None:
    url = sign(headers={"x-goog-meta-a": "b"})
    assert use(url).status in (400, 403)


def test_a_header_that_was_not_signed(sign: Any) -> None:
    answer = use(sign(), headers={"x-goog-if-generation-match": "1"})
    assert b"<Code>MalformedSecurityHeader</Code>" in answer.body


def test_parameters_of_the_answer(sign: Any) -> None:
    answer = use(sign(response_disposition="attachment; filename=x", response_type="text/y"))
    assert (answer.headers["Content-Disposition"], answer.headers["Content-Type"]) == (
        "attachment; filename=x",
        "text/y",
    )


def test_a_missing_parameter(sign: Any) -> None:
    url = sign()
    assert use(url.partition("&X-Goog-Expires")[0] + "&X-Goog-Signature=00").status == 400


@pytest.mark.parametrize("path", ["/storage/v1/b?project=local", "/_local/info?x=1", "/v1/projects/p?x=1"])
def test_a_signature_opens_no_service(emulator: Daemon, sign: Any, path: str) -> None:
    query = urlsplit(sign()).query
    assert call(emulator.url, "GET", f"{path}&{query}").status == 401


def test_the_address_of_an_upload_opens_that_upload_only(emulator: Daemon, sign: Any, bucket: Any) -> None:
    begun = use(sign("new", method="RESUMABLE"), "POST", headers={"x-goog-resumable": "start"})
    query = urlsplit(begun.headers["Location"]).query
    assert call(emulator.url, "PUT", f"/{bucket.name}-x/o?{query}", body=b"x").status == 404
    assert call(emulator.url, "GET", f"/{bucket.name}/o?{query}").status == 401
    assert call(emulator.url, "PUT", f"/{bucket.name}/o?upload_id=guessed", body=b"x").status == 401


def test_signatures_are_not_logged(emulator: Daemon, sign: Any) -> None:
    url = sign()
    use(url)
    signature = url.partition("X-Goog-Signature=")[2]
    log = ask(emulator, "GET", "/_local/requests?last=5")
    assert (b"X-Goog-Signature=..." in log.body, signature.encode() in log.body) == (True, False)


@pytest.mark.parametrize("host", [lambda url: url.netloc, lambda url: url.hostname], ids=["port", "no-port"])
def test_an_hmac_key(
    emulator: Daemon, key_file: Path, bucket: Any, sign: Any, host: Callable[[SplitResult], str]
) -> None:
    """Google's client for Node signs the host without its port."""
    sign()
    key = json.loads(key_file.read_text())
    now = datetime.now(timezone.utc)
    scope = f"{now:%Y%m%d}/auto/storage/goog4_request"
    query = "&".join(
        f"{name}={quote(value, safe='~')}"
        for name, value in (
            ("X-Goog-Algorithm", "GOOG4-HMAC-SHA256"),
            ("X-Goog-Credential", f"{key['hmac_access_id']}/{scope}"),
            ("X-Goog-Date", f"{now:%Y%m%dT%H%M%SZ}"),
            ("X-Goog-Expires", "60"),
            ("X-Goog-SignedHeaders", "host"),
        )
    )
    signed = host(urlsplit(emulator.url))
    request = f"GET\n/{bucket.name}/o\n{query}\nhost:{signed}\n\nhost\nUNSIGNED-PAYLOAD"
    message = "\n".join(
        (
            "GOOG4-HMAC-SHA256",
            f"{now:%Y%m%dT%H%M%SZ}",
            scope,
            hashlib.sha256(request.encode()).hexdigest(),
        )
    )
    secret = f"GOOG4{key['hmac_secret']}".encode()
    for step in scope.split("/"):
        secret = hmac.digest(secret, step.encode(), "sha256")
    signature = hmac.digest(secret, message.encode(), "sha256").hex()
    path = f"/{bucket.name}/o?{query}&X-Goog-Signature="
    assert call(emulator.url, "GET", path + signature).body == b"content"
    assert call(emulator.url, "GET", path + "00" * 32).status == 403
