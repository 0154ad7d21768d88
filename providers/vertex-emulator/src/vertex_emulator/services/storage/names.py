"""Names of buckets and objects, and page tokens."""

from __future__ import annotations

import json
import re
from base64 import b64decode, urlsafe_b64encode
from typing import Any
from urllib.parse import unquote

from vertex_emulator.server.http.messages import Request, parse_json
from vertex_emulator.services.storage.errors import StorageError, invalid

MAX_OBJECT_NAME = 1024
_PART = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?")
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def decode(segment: str) -> str:
    """Decode a percent-encoded path segment. Raises `StorageError` if it is not UTF-8."""
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise invalid("The path is not percent-encoded UTF-8.") from error


def check_bucket_name(name: str) -> None:
    """Check a bucket's name. Raises `StorageError` 400 with the rule that it breaks."""
    if rule := _broken_rule(name):
        raise StorageError(400, "invalid", f"Invalid bucket name: '{name}': {rule}.")


def _broken_rule(name: str) -> str | None:
    if not 3 <= len(name) <= 222:
        return "it must have 3 to 63 characters (222 with dots)"
    if "." not in name and len(name) > 63:
        return "it must have at most 63 characters if it has no dots"
    if not all(_PART.fullmatch(part) for part in name.split(".")):
        return (
            "it may have lower-case letters, digits, '-', '_' and '.'; each part between dots must begin and "
            "end with a letter or digit and have at most 63 characters"
        )
    if _ADDRESS.fullmatch(name):
        return "it must not look like an IP address"
    if name.startswith("goog") or "google" in name:
        return "it must not begin with 'goog' or contain 'google'"
    return None


def check_object_name(name: str) -> None:
    """Check an object's name. Raises `StorageError` 400 with the rule that it breaks."""
    if not name:
        raise StorageError(400, "required", "Required")
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise invalid("Invalid object name: it is not valid Unicode.") from error
    if size > MAX_OBJECT_NAME:
        raise invalid(f"Invalid object name: it has {size} bytes in UTF-8; the limit is {MAX_OBJECT_NAME}.")
    if "\r" in name or "\n" in name:
        raise invalid("Invalid object name: it must not contain carriage return or line feed.")
    if name in (".", ".."):
        raise invalid(f"Invalid object name: it must not be '{name}'.")
    if name.startswith(".well-known/acme-challenge/"):
        raise invalid("Invalid object name: it must not begin with '.well-known/acme-challenge/'.")


def after_prefix(prefix: str) -> str | None:
    """Return the least string above all strings that begin with `prefix`, or None if it does not exist."""
    while prefix:
        last = ord(prefix[-1])
        if last < 0x10FFFF:
            return prefix[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        prefix = prefix[:-1]
    return None


def encode_token(position: object) -> str:
    """Return the token of a JSON value, such as the position of a listing."""
    return urlsafe_b64encode(json.dumps(position).encode("ascii")).decode("ascii")


def decode_token(request: Request) -> Any:
    """Return the JSON value of the request's page token, or None without one. Raises `StorageError` 400."""
    token = request.parameter("pageToken")
    return read_token(token, parameter="pageToken") if token else None


def read_token(token: str, *, parameter: str) -> Any:
    """Return the JSON value of a token in `parameter`. Raises `StorageError` 400."""
    try:
        return parse_json(b64decode(token.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, RecursionError) as error:
        what = "page token" if parameter == "pageToken" else parameter
        raise invalid(f"Invalid {what}.", location=parameter) from error
