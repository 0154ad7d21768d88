"""Page tokens: where the last page ended, opaque to clients. They stay valid when objects come and go."""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from typing import Any

from vertex_emulator.http.messages import Request, parse_json
from vertex_emulator.storage.errors import invalid


def encode(place: object) -> str:
    """The token of a JSON value."""
    return urlsafe_b64encode(json.dumps(place).encode("ascii")).decode("ascii")


def decode(request: Request) -> Any:
    """The JSON value of the request's page token, None without one. Raises `StorageError` 400."""
    token = request.parameter("pageToken")
    return read(token, parameter="pageToken") if token else None


def read(token: str, *, parameter: str) -> Any:
    """The JSON value of a token that a parameter gave. Raises `StorageError` 400."""
    try:
        return parse_json(b64decode(token.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, RecursionError) as error:
        what = "page token" if parameter == "pageToken" else parameter
        raise invalid(f"Invalid {what}.", location=parameter) from error
