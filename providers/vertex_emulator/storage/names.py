"""The names of buckets and objects in paths, and page tokens."""

from __future__ import annotations

import json
import re
from base64 import b64decode, urlsafe_b64encode
from typing import Any
from urllib.parse import unquote

from vertex_emulator.http.messages import Request, parse_json
from vertex_emulator.storage.errors import StorageError, invalid

MAX_OBJECT_NAME = 1024
_PART = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?")
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def decode(segment: str) -> str:
    """A path segment without its percent-encoding. Raises `StorageError` when it is not UTF-8."""
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise invalid("The path is not percent-encoded UTF-8.") from error


def check_bucket_name(name: str) -> None:
    """Raises `StorageError` 400 with the rule that the name breaks."""
    if rule := _broken_rule(name):
        raise StorageError(400, "invalid", f"Invalid bucket name: '{name}': {rule}.")


def _broken_rule(name: str) -> str | None:
    if not 3 <= len(name) <= 222:
        return "it must have 3 to 63 characters (222 with dots)"
    if "." not in name and len(name) > 63:
        return "it must have at most 63 characters when it has no dots"
    if not all(_PART.fullmatch(part) for part in name.split(".")):
        return (
            "it may have lower-case letters, digits, '-', '_' and '.', and each part between dots begins and "
            "ends with a letter or digit and has at most 63 characters"
        )
    if _ADDRESS.fullmatch(name):
        return "it must not look like an IP address"
    if name.startswith("goog") or "google" in name:
        return "it must not begin with 'goog' nor contain 'google'"
    return None


def check_object_name(name: str) -> None:
    """Raises `StorageError` 400 with the rule that the name breaks."""
    if not name:
        raise StorageError(400, "required", "Required")
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise invalid("Invalid object name: it is not valid Unicode.") from error
    if size > MAX_OBJECT_NAME:
        raise invalid(f"Invalid object name: it has {size} bytes in UTF-8; the most is {MAX_OBJECT_NAME}.")
    if "\r" in name or "\n" in name:
        raise invalid("Invalid object name: it must not contain carriage return or line feed.")
    if name in (".", ".."):
        raise invalid(f"Invalid object name: it must not be '{name}'.")
    if name.startswith(".well-known/acme-challenge/"):
        raise invalid("Invalid object name: it must not begin with '.well-known/acme-challenge/'.")


def after_prefix(prefix: str) -> str | None:
    """The least name above all names that begin with `prefix`; None when there is none."""
    while prefix:
        last = ord(prefix[-1])
        if last < 0x10FFFF:
            return prefix[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        prefix = prefix[:-1]
    return None


def encode_token(place: object) -> str:
    """The token of a JSON value."""
    return urlsafe_b64encode(json.dumps(place).encode("ascii")).decode("ascii")


def decode_token(request: Request) -> Any:
    """The JSON value of the request's page token, None without one. Raises `StorageError` 400."""
    token = request.parameter("pageToken")
    return read_token(token, parameter="pageToken") if token else None


def read_token(token: str, *, parameter: str) -> Any:
    """The JSON value of a token that a parameter gave. Raises `StorageError` 400."""
    try:
        return parse_json(b64decode(token.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, RecursionError) as error:
        what = "page token" if parameter == "pageToken" else parameter
        raise invalid(f"Invalid {what}.", location=parameter) from error
