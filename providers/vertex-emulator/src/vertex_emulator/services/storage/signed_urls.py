"""Tickets, which are signed URLs and addresses of uploads, and the service account's key for signed URLs.

A ticket authenticates a request without the emulator's token. A signed URL is valid for one call until it
expires by the emulator's clock; the address of an upload is valid for that upload.

The key file has the format of Google's keys, so that Google's libraries can sign with it. The key is valid
for this emulator only. `hmac` in the file is an HMAC key of the same account, for tools that sign with such a
key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import threading
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.disk.data_folder import write_private
from vertex_emulator.services.storage import signed_headers
from vertex_emulator.services.storage.xml.documents import XmlError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey


_BITS = 2048
_PROJECT = "local"
_EMAIL = f"vertex-training-emulator@{_PROJECT}.iam.gserviceaccount.com"
_ACCOUNTS = "gserviceaccount.com"
"""The end of the addresses of accounts, all of which sign with the one key."""
_EXCHANGE = "https://oauth2.googleapis.com/token"
"""Through the emulator's proxy, the emulator itself. Google would get an assertion, never the key."""


@dataclass(frozen=True, kw_only=True)
class _Loaded:
    id: str
    private: RSAPrivateKey
    access_id: str
    secret: str


class ServiceKey:
    """The key of one data folder, which is made at its first use."""

    email = _EMAIL

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def file(self) -> Path:
        """Return the key file, and make it if it is missing."""
        with self._lock:
            if not self._path.exists():
                write_private(self._path, json.dumps(_new(), indent=2).encode("ascii") + b"\n")
            return self._path

    def signed_by_rsa(self, email: str, message: bytes, signature: bytes) -> bool:
        """Return whether the account with this address signed the message (PKCS #1 v1.5, SHA-256)."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        loaded = self._key()
        if loaded is None or not email.endswith(_ACCOUNTS):
            return False
        try:
            loaded.private.public_key().verify(signature, message, PKCS1v15(), SHA256())
        except InvalidSignature:
            return False
        return True

    def sign(self, message: bytes) -> tuple[str, bytes]:
        """Return the id of the key, and its signature of a message (PKCS #1 v1.5, SHA-256)."""
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        self.file()
        loaded = self._key()
        if loaded is None:
            raise ValueError(f"{self._path} has no key")
        return loaded.id, loaded.private.sign(message, PKCS1v15(), SHA256())

    def signed_by_hmac(
        self, access_id: str, scope: str, message: bytes, signature: bytes, *, form: str = "GOOG4"
    ) -> bool:
        """Return whether the HMAC key with this id signed the message. `scope` has the steps to its key."""
        loaded = self._key()
        if loaded is None or not hmac.compare_digest(access_id.encode(), loaded.access_id.encode()):
            return False
        key = f"{form}{loaded.secret}".encode()
        for step in scope.split("/"):
            key = hmac.digest(key, step.encode(), "sha256")
        return hmac.compare_digest(hmac.digest(key, message, "sha256"), signature)

    def _key(self) -> _Loaded | None:
        """Return the key, or None if it was not made yet or its file is damaged."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._path)
            return self._loaded


def _load(path: Path) -> _Loaded | None:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        value = json.loads(path.read_text(encoding="ascii"))
        private = load_pem_private_key(value["private_key"].encode("ascii"), password=None)
        access_id, secret = value["hmac_access_id"], value["hmac_secret"]
        identifier = str(value["private_key_id"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if (
        not isinstance(private, RSAPrivateKey)
        or not isinstance(access_id, str)
        or not isinstance(secret, str)
    ):
        return None
    return _Loaded(id=identifier, private=private, access_id=access_id, secret=secret)


def _new() -> dict[str, str]:
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem = generate_private_key(public_exponent=65537, key_size=_BITS).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    return {
        "type": "service_account",
        "project_id": _PROJECT,
        "private_key_id": hashlib.sha256(pem).hexdigest()[:40],
        "private_key": pem.decode("ascii"),
        "client_email": _EMAIL,
        "client_id": str(10**20 + secrets.randbelow(9 * 10**20)),
        "token_uri": _EXCHANGE,
        # All values are text, as in Google's key files: Prefect hashes them.
        "hmac_access_id": f"GOOG1E{secrets.token_hex(28).upper()[:55]}",
        "hmac_secret": secrets.token_urlsafe(30),
    }


MAX_EXPIRES = 604_800
"""The longest validity of a signed URL of version 4 in seconds: seven days."""

_AHEAD = timedelta(minutes=15)
_UPLOAD_PATH = re.compile(r"/(?:resumable/)?upload/storage/v1/b/[^/]+/o")
_SERVICE_PATH = re.compile(
    r"/(?:(?:upload|resumable/upload|download|batch)/)?storage/v1(?:/.*)?|/v[0-9]+/.*|/_.*"
)
_SCOPE = re.compile(r"(.+)/([0-9]{8})/([a-z0-9-]+)/storage/goog4_request")
_ALGORITHMS = ("GOOG4-RSA-SHA256", "GOOG4-HMAC-SHA256")
_V2_SUBRESOURCES = frozenset({"acl", "cors", "location", "partNumber", "uploadId", "uploads", "upload_id"})

Query = Mapping[str, list[str]]


@dataclass(frozen=True)
class SignedParameters:
    """The query parameters of a signed URL, by lower-case names."""

    fields: Mapping[str, str]

    def get(self, name: str) -> str:
        """Return a required parameter. Raises `XmlError`."""
        value = self.fields.get(name, "")
        if not value:
            raise _bad("AuthenticationRequired", f"The signed URL lacks the parameter {name}.", status=400)
        return value


class Tickets:
    """The check of tickets for `auth.Authenticator`."""

    def __init__(self, key: ServiceKey, clock: Clock, *, is_upload: Callable[[str], bool]) -> None:
        self._key = key
        self._clock = clock
        self._is_upload = is_upload

    def accept(self, method: str, path: str, query: Query, headers: Mapping[str, str]) -> bool:
        """Return whether the request carries a ticket. Raises `XmlError` for an invalid signature."""
        if "upload_id" in query and method in ("PUT", "POST", "DELETE"):
            identifier = query["upload_id"][-1]
            if (_UPLOAD_PATH.fullmatch(path) or not _SERVICE_PATH.fullmatch(path)) and self._is_upload(
                identifier
            ):
                return True
        if _SERVICE_PATH.fullmatch(path):
            return False
        if signed_headers.is_signed(headers):
            self._check_header(method, path, query, headers)
            return True
        names = {name.lower() for name in query}
        if "x-goog-signature" in names or "x-goog-algorithm" in names:
            self._check_v4(method, path, query, headers)
            return True
        if "GoogleAccessId" in query and "Signature" in query:
            self._check_v2(method, path, query, headers)
            return True
        return False

    def _check_header(self, method: str, path: str, query: Query, headers: Mapping[str, str]) -> None:
        signed = signed_headers.read(headers)
        request = _canonical_request(method, path, query, headers, signed.names, payload=signed.payload)
        digest = hashlib.sha256(request.encode("utf-8", "surrogateescape")).hexdigest()
        message = "\n".join((signed.algorithm, signed.moment, signed.scope, digest)).encode()
        if not self._key.signed_by_hmac(
            signed.access_id, signed.scope, message, signed.signature, form=signed.algorithm.partition("-")[0]
        ):
            raise _mismatch(request)
        _check_headers(headers, signed.names, prefix=signed.prefix)
        signed_headers.check_time(_moment(signed.moment), self._clock.moment())

    def _check_v4(self, method: str, path: str, query: Query, headers: Mapping[str, str]) -> None:
        signed = SignedParameters({name.lower(): values[-1] for name, values in query.items()})
        algorithm = signed.get("x-goog-algorithm")
        if algorithm not in _ALGORITHMS:
            raise _bad("InvalidArgument", f"X-Goog-Algorithm must be one of {', '.join(_ALGORITHMS)}.")
        scope = _SCOPE.fullmatch(signed.get("x-goog-credential"))
        moment = _moment(signed.get("x-goog-date"))
        if scope is None or scope[2] != moment.strftime("%Y%m%d"):
            raise _bad(
                "InvalidArgument", "X-Goog-Credential must be ACCOUNT/DATE/auto/storage/goog4_request."
            )
        names = signed.get("x-goog-signedheaders").split(";")
        signature = _unhex(signed.get("x-goog-signature"))

        def is_signed(request: str) -> bool:
            message = "\n".join(
                (
                    algorithm,
                    signed.get("x-goog-date"),
                    signed.get("x-goog-credential").partition("/")[2],
                    hashlib.sha256(request.encode("utf-8", "surrogateescape")).hexdigest(),
                )
            ).encode("utf-8", "surrogateescape")
            if algorithm == "GOOG4-RSA-SHA256":
                return self._key.signed_by_rsa(scope[1], message, signature)
            steps = f"{scope[2]}/auto/storage/goog4_request"
            return self._key.signed_by_hmac(scope[1], steps, message, signature)

        request = _canonical_request(method, path, query, headers, names)
        # Google's client for Node signs the host without its port.
        host = headers.get("host", "").rpartition(":")[0]
        if not is_signed(request) and not (
            host and is_signed(_canonical_request(method, path, query, {**headers, "host": host}, names))
        ):
            raise _mismatch(request)
        _check_headers(headers, names)
        self._check_time(moment, _seconds(signed.get("x-goog-expires")))

    def _check_v2(self, method: str, path: str, query: Query, headers: Mapping[str, str]) -> None:
        signed = SignedParameters({name.lower(): values[-1] for name, values in query.items()})
        expires = signed.get("expires")
        if not (expires.isascii() and expires.isdigit() and len(expires) <= 12):
            raise _bad("InvalidArgument", f"Expires must be seconds since 1970, not {expires!r}.")
        custom = sorted(name for name in headers if name.startswith("x-goog-") and name in headers)
        lines = [f"{name}:{_folded(headers[name])}\n" for name in custom if "encryption-key" not in name]
        parameters = [
            f"{name}={query[name][-1]}" if query[name][-1] else name
            for name in sorted(query)
            if name in _V2_SUBRESOURCES
        ]
        resource = path + ("?" + "&".join(parameters) if parameters else "")
        message = (
            f"{method}\n{headers.get('content-md5', '')}\n{headers.get('content-type', '')}\n{expires}\n"
            f"{''.join(lines)}{resource}"
        )
        try:
            signature = b64decode(signed.get("signature"), validate=True)
        except ValueError as error:
            raise _mismatch(message) from error
        data = message.encode("utf-8", "surrogateescape")
        candidates = [data, data.replace(b"HEAD\n", b"GET\n", 1)] if method == "HEAD" else [data]
        if not any(
            self._key.signed_by_rsa(signed.get("googleaccessid"), each, signature) for each in candidates
        ):
            raise _mismatch(message)
        if int(expires) * 1_000_000 < self._clock.microseconds():
            raise _expired(expires)

    def _check_time(self, moment: datetime, seconds: int) -> None:
        now = self._clock.moment()
        if moment > now + _AHEAD:
            raise _bad("RequestNotYetValid", "X-Goog-Date is in the future.", status=403)
        if moment + timedelta(seconds=seconds) < now:
            raise _expired((moment + timedelta(seconds=seconds)).isoformat())


def _canonical_request(
    method: str,
    path: str,
    query: Query,
    headers: Mapping[str, str],
    names: list[str],
    *,
    payload: str | None = None,
) -> str:
    """Return the text that was signed ("Canonical requests")."""
    pairs = sorted(
        (_encoded(name), _encoded(value))
        for name, values in query.items()
        if name.lower() != "x-goog-signature"
        for value in values
    )
    return "\n".join(
        (
            method,
            quote(unquote_to_bytes(path), safe="/~"),
            "&".join(f"{name}={value}" for name, value in pairs),
            "".join(f"{name}:{_folded(headers.get(name, ''))}\n" for name in names),
            ";".join(names),
            payload or headers.get("x-goog-content-sha256", "UNSIGNED-PAYLOAD"),
        )
    )


def _check_headers(headers: Mapping[str, str], names: list[str], *, prefix: str = "x-goog-") -> None:
    if "host" not in names:
        raise _bad("MalformedSecurityHeader", "The signed headers must include the header host.")
    for name in names:
        if name not in headers:
            raise _bad("MalformedSecurityHeader", f"The signed header {name} is not in the request.")
    for name in headers:
        if name.startswith(prefix) and name not in names:
            raise _bad("MalformedSecurityHeader", f"The header {name} of the request was not signed.")


def _encoded(text: str) -> str:
    return quote(text, safe="~", errors="surrogateescape")


def _folded(value: str) -> str:
    return re.sub(r"\s+", " ", value).strip()


def _moment(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise _bad("InvalidArgument", f"X-Goog-Date must be like 20260131T120000Z, not {text!r}.") from error


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= MAX_EXPIRES):
        raise _bad(
            "InvalidArgument", f"X-Goog-Expires must be from 1 to {MAX_EXPIRES} seconds, not {text!r}."
        )
    return int(text)


def _unhex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise _bad("SignatureDoesNotMatch", "X-Goog-Signature is not hexadecimal.", status=403) from error


def _bad(code: str, message: str, *, status: int = 400) -> XmlError:
    return XmlError(status, code, message)


def _mismatch(request: str) -> XmlError:
    return XmlError(
        403,
        "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. Check your key and "
        "signing method. Sign URLs with the key of `vertex-emulator env`.",
        details=request,
    )


def _expired(when: str) -> XmlError:
    return XmlError(
        400,
        "ExpiredToken",
        "The provided token has expired.",
        details=f"Request signature expired at: {when}",
    )
