"""Requests that an HMAC key signs in their Authorization header, as DuckDB and clients of S3 send them.

The service accepts two forms, which differ in the names of headers and in the text before the secret
("Authenticate requests to the XML API"). The body may be unsigned. If its hash is signed, the hash is not
compared with the body: a request that somebody has changed does not reach an emulator on this machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from vertex_emulator.services.storage.xml.documents import XmlError

_FORMS: Mapping[str, tuple[str, str]] = {
    "AWS4-HMAC-SHA256": ("x-amz-", "aws4_request"),
    "GOOG4-HMAC-SHA256": ("x-goog-", "goog4_request"),
}
_CREDENTIAL = re.compile(r"([^/]+)/([0-9]{8}/[a-z0-9-]*/[a-z0-9]+/(?:aws4|goog4)_request)")
"""The key and the scope. DuckDB leaves the region empty, which the service ignores."""
_PAYLOAD = re.compile(r"[0-9a-f]{64}|UNSIGNED-PAYLOAD")
AHEAD = timedelta(minutes=15)
"""How far the time of a signed request may be from the service's."""


@dataclass(frozen=True, kw_only=True)
class SignedHeader:
    """The parts of an Authorization header. `scope` is DATE/REGION/SERVICE/TERMINATOR."""

    algorithm: str
    access_id: str
    scope: str
    names: list[str]
    signature: bytes
    moment: str
    payload: str
    prefix: str


def is_signed(headers: Mapping[str, str]) -> bool:
    """Return whether the Authorization header has a signature."""
    return headers.get("authorization", "").partition(" ")[0] in _FORMS


def read(headers: Mapping[str, str]) -> SignedHeader:
    """Return the parts of a signed request's header. Raises `XmlError` 400, 403."""
    algorithm, _, rest = headers["authorization"].partition(" ")
    prefix, terminator = _FORMS[algorithm]
    parts = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    credential = _CREDENTIAL.fullmatch(parts.get("Credential", ""))
    if credential is None or not credential[2].endswith(terminator):
        raise _bad("InvalidArgument", f"Credential must be KEY/DATE/REGION/SERVICE/{terminator}.")
    payload = headers.get(f"{prefix}content-sha256", "UNSIGNED-PAYLOAD")
    if not _PAYLOAD.fullmatch(payload):
        raise _bad(
            "NotImplemented",
            f"{prefix}content-sha256: {payload!r} is not supported. Send the hash of the body, or "
            "UNSIGNED-PAYLOAD.",
        )
    moment = headers.get(f"{prefix}date", "")
    if not moment.startswith(credential[2][:8]):
        raise _bad(
            "InvalidArgument", f"{prefix}date must be a time of the day in Credential, not {moment!r}."
        )
    try:
        signature = bytes.fromhex(parts.get("Signature", ""))
    except ValueError as error:
        raise _bad("SignatureDoesNotMatch", "Signature is not hexadecimal.", status=403) from error
    return SignedHeader(
        algorithm=algorithm,
        access_id=credential[1],
        scope=credential[2],
        names=parts.get("SignedHeaders", "").split(";"),
        signature=signature,
        moment=moment,
        payload=payload,
        prefix=prefix,
    )


def check_time(moment: datetime, now: datetime) -> None:
    """Raise `XmlError` 403 if a request was signed more than 15 minutes before or after `now`."""
    if abs(moment - now) > AHEAD:
        raise _bad(
            "RequestTimeTooSkewed",
            f"The request was signed at {moment.isoformat()}, but the emulator's time is {now.isoformat()}.",
            status=403,
        )


def _bad(code: str, message: str, *, status: int = 400) -> XmlError:
    return XmlError(status, code, message)
