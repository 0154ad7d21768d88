"""Requests that an HMAC key signs in their headers, as DuckDB and clients of S3 do."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from support.emulated.emulator import Answer, ask, call
from support.tables import every_row
from vertex_emulator.daemon.daemon import Daemon


class Form(NamedTuple):
    """A way to sign: the text before the secret, the prefix of headers, and the end of the scope."""

    name: str
    prefix: str
    scope: str


AWS4 = Form("AWS4", "x-amz-", "us-east-1/s3/aws4_request")
DUCKDB = Form("AWS4", "x-amz-", "/s3/aws4_request")
GOOG4 = Form("GOOG4", "x-goog-", "auto/storage/goog4_request")


class Signer:
    """The HMAC key of an emulator."""

    def __init__(self, emulator: Daemon) -> None:
        self._url = emulator.url
        path = ask(emulator, "GET", "/_local/service-account").json()["path"]
        self._key = json.loads(Path(path).read_text())

    def send(
        self,
        method: str,
        path: str,
        *,
        form: Form = AWS4,
        query: str = "",
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        unsigned: dict[str, str] | None = None,
        now: datetime | None = None,
        secret: str | None = None,
        payload: str = "UNSIGNED-PAYLOAD",
    ) -> Answer:
        moment = f"{now or datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
        sent = {
            "host": urlsplit(self._url).netloc,
            f"{form.prefix}date": moment,
            f"{form.prefix}content-sha256": payload,
            **(headers or {}),
        }
        names = ";".join(sorted(sent))
        lines = "".join(f"{name}:{sent[name]}\n" for name in sorted(sent))
        request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}"
        scope = f"{moment[:8]}/{form.scope}"
        digest = hashlib.sha256(request.encode()).hexdigest()
        key = f"{form.name}{secret or self._key['hmac_secret']}".encode()
        for step in scope.split("/"):
            key = hmac.digest(key, step.encode(), "sha256")
        message = f"{form.name}-HMAC-SHA256\n{moment}\n{scope}\n{digest}"
        signature = hmac.digest(key, message.encode(), "sha256").hex()
        sent["authorization"] = (
            f"{form.name}-HMAC-SHA256 Credential={self._key['hmac_access_id']}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}"
        )
        target = f"{path}?{query}" if query else path
        return call(self._url, method, target, body=body or None, headers={**sent, **(unsigned or {})})


@pytest.fixture(scope="module")
def signer(emulator: Daemon) -> Signer:
    return Signer(emulator)


@pytest.mark.parity(
    "Cloud Storage: requests signed with an HMAC key",
    own_way="both forms, with the emulator's one key; the hash of a body is not compared with the body",
)
@pytest.mark.parametrize("form", [AWS4, DUCKDB, GOOG4], ids=["AWS4", "no-region", "GOOG4"])
def test_a_signed_request_is_accepted(signer: Signer, bucket: Any, form: Form) -> None:
    path = f"/{bucket.name}/a%20b.txt"
    meta = {f"{form.prefix}meta-kind": "x"}
    assert signer.send("PUT", path, form=form, body=b"hello", headers=meta).status == 200
    assert signer.send("GET", path, form=form).body == b"hello"
    assert bucket.get_blob("a b.txt").metadata == {"kind": "x"}
    listed = signer.send("GET", f"/{bucket.name}", form=form, query="list-type=2&prefix=a%20")
    assert b"<Key>a b.txt</Key>" in listed.body
    copied = signer.send(
        "PUT",
        f"/{bucket.name}/copy",
        form=form,
        headers={f"{form.prefix}copy-source": f"/{bucket.name}/a%20b.txt"},
    )
    assert (copied.status, bucket.blob("copy").download_as_bytes()) == (200, b"hello")
    assert signer.send("DELETE", path, form=form).status == 204


@pytest.mark.parity("Cloud Storage: requests signed with an HMAC key")
@every_row(
    "options, status, code",
    [
        ({"secret": "x"}, 403, b"SignatureDoesNotMatch"),
        ({"late": 20}, 403, b"RequestTimeTooSkewed"),
        ({"late": -20}, 403, b"RequestTimeTooSkewed"),
        ({"unsigned": {"x-amz-meta-a": "b"}}, 400, b"MalformedSecurityHeader"),
        ({"payload": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}, 400, b"NotImplemented"),
        ({"unsigned": {"authorization": "AWS4-HMAC-SHA256 Signature=00"}}, 400, b"InvalidArgument"),
        ({"path": "/storage/v1/b", "query": "project=local"}, 401, b"Authorization"),
        ({"path": "/v2/"}, 401, b""),
    ],
)
def test_every_other_request_is_refused(
    signer: Signer, options: dict[str, Any], status: int, code: bytes
) -> None:
    options = {"path": "/bucket/o", **options}
    if late := options.pop("late", 0):
        options["now"] = datetime.now(timezone.utc) + timedelta(minutes=late)
    answer = signer.send("GET", **options)
    assert answer.status == status and code in answer.body, answer
