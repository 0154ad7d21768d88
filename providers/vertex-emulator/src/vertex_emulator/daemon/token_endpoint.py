"""Tokens for programs with the emulator's key file, and signatures for programs without it.

Google's libraries sign an assertion (RFC 7523) with the key of GOOGLE_APPLICATION_CREDENTIALS. They send it
as a token, or exchange it for one at oauth2.googleapis.com. Programs without a key let
iamcredentials.googleapis.com sign. The emulator has one key, with which all accounts sign.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from vertex_emulator.kernel import machine_clock
from vertex_emulator.server.http.auth import EXCHANGE
from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.server.metadata_server import LIFETIME_SECONDS
from vertex_emulator.services.storage.signed_urls import ServiceKey

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_SIGN = r"/v1/projects/[^/]+/serviceAccounts/([^/:]+):signBlob"
_SKEW = 300
_LONGEST = 4096
_REMEMBERED = 256


class Assertions:
    """The check of assertions. A valid one is remembered, because checking one takes longer than a call."""

    def __init__(self, key: ServiceKey) -> None:
        self._key = key
        self._lock = threading.Lock()
        self._valid: dict[bytes, float] = {}

    def accept(self, token: str) -> bool:
        """Return whether a token is an assertion of the emulator's key that has not expired."""
        if token.count(".") != 2 or len(token) > _LONGEST:
            return False
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        until = self._valid.get(digest)
        if until is None:
            until = self._expiry(token)
            with self._lock:
                if len(self._valid) >= _REMEMBERED:
                    self._valid.clear()
                if until:
                    self._valid[digest] = until
        return until > machine_clock.unix_nanoseconds() / 1e9

    def _expiry(self, token: str) -> float:
        """Return when an assertion expires, or 0 for one that is not signed with the emulator's key."""
        signed, _, signature = token.rpartition(".")
        try:
            head, claims = (_document(part) for part in signed.split("."))
            if head.get("alg") != "RS256" or "target_audience" in claims:
                return 0
            issued, expires = float(claims["iat"]), float(claims["exp"])
            message = signed.encode("ascii")
            if not self._key.signed_by_rsa(str(claims["iss"]), message, _decoded(signature)):
                return 0
        except (ValueError, KeyError, TypeError):
            return 0
        return expires if expires - issued <= LIFETIME_SECONDS + _SKEW else 0


def token_routes(assertions: Assertions, key: ServiceKey, token: str) -> Sequence[Route]:
    """Return the routes. `token` is what an assertion is exchanged for."""

    def exchange(request: Request, _: re.Match[str]) -> Response:
        fields = _fields(request)
        if fields.get("grant_type") != _GRANT or not assertions.accept(fields.get("assertion", "")):
            why = (
                "The emulator's token endpoint takes only assertions of the emulator's own key, for access "
                "tokens. For the path of the key, see GOOGLE_APPLICATION_CREDENTIALS of `vertex-emulator "
                "env --proxy`."
            )
            return json_response({"error": "invalid_grant", "error_description": why}, 400)
        return json_response(
            {"access_token": token, "expires_in": LIFETIME_SECONDS, "token_type": "Bearer"},
            headers={"Cache-Control": "no-store"},
        )

    def sign(request: Request, _: re.Match[str]) -> Response:
        payload = str(body_of(request, "payload", "delegates").get("payload"))
        try:
            data = base64.b64decode(payload, validate=True)
        except ValueError as error:
            raise HttpError(400, "", "payload must be bytes in base64.") from error
        key_id, signature = key.sign(data)
        return json_response({"keyId": key_id, "signedBlob": base64.b64encode(signature).decode("ascii")})

    return (
        Route("POST", EXCHANGE, exchange),
        Route("POST", _SIGN, sign, "IAMCredentials.SignBlob"),
    )


def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form, or of the JSON document that Node sends."""
    data = request.body.read().decode("utf-8", "replace")
    if data.lstrip().startswith("{"):
        try:
            found = json.loads(data)
        except ValueError:
            return {}
        return {name: str(value) for name, value in found.items()}
    return {name: values[-1] for name, values in parse_qs(data).items()}


def _document(part: str) -> dict[str, Any]:
    found = json.loads(_decoded(part))
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _decoded(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
