"""The service account that signs URLs for this emulator: its key file and the checks of what it signed.

The file has the form of Google's keys, so that Google's libraries sign with it. It is good for this emulator
only. `hmac` in it is an HMAC key of the same account, for tools that sign with one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vertex_emulator.kernel.data_folder import write_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

_BITS = 2048
_PROJECT = "local"
_EMAIL = f"vertex-training-emulator@{_PROJECT}.iam.gserviceaccount.com"


@dataclass(frozen=True, kw_only=True)
class _Loaded:
    public: RSAPublicKey
    access_id: str
    secret: str


class ServiceKey:
    """The key of one data folder, made when it is first asked for."""

    email = _EMAIL

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def file(self) -> Path:
        """The key file, made where it is missing."""
        with self._lock:
            if not self._path.exists():
                write_private(self._path, json.dumps(_new(), indent=2).encode("ascii") + b"\n")
            return self._path

    def signed_by_rsa(self, email: str, message: bytes, signature: bytes) -> bool:
        """Whether the account of that address signed the message (PKCS #1 v1.5, SHA-256)."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        loaded = self._key()
        if loaded is None or email != _EMAIL:
            return False
        try:
            loaded.public.verify(signature, message, PKCS1v15(), SHA256())
        except InvalidSignature:
            return False
        return True

    def signed_by_hmac(self, access_id: str, moment: datetime, message: bytes, signature: bytes) -> bool:
        """Whether the HMAC key of that id signed the message on the day of `moment`."""
        loaded = self._key()
        if loaded is None or not hmac.compare_digest(access_id.encode(), loaded.access_id.encode()):
            return False
        key = f"GOOG4{loaded.secret}".encode()
        for step in (moment.strftime("%Y%m%d"), "auto", "storage", "goog4_request"):
            key = hmac.digest(key, step.encode(), "sha256")
        return hmac.compare_digest(hmac.digest(key, message, "sha256"), signature)

    def _key(self) -> _Loaded | None:
        """None while nobody asked for the key, or when its file was spoilt."""
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
        access_id, secret = value["hmac"]["access_id"], value["hmac"]["secret"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if (
        not isinstance(private, RSAPrivateKey)
        or not isinstance(access_id, str)
        or not isinstance(secret, str)
    ):
        return None
    return _Loaded(public=private.public_key(), access_id=access_id, secret=secret)


def _new() -> dict[str, Any]:
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
        # Nothing listens there: whoever takes this for a key of Google's does not send it to Google.
        "auth_uri": "http://127.0.0.1:9/auth",
        "token_uri": "http://127.0.0.1:9/token",
        "hmac": {
            "access_id": f"GOOG1E{secrets.token_hex(28).upper()[:55]}",
            "secret": secrets.token_urlsafe(30),
        },
    }
