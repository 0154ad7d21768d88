"""The headers by which the XML API says what the JSON API says in resources and parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import format_datetime
from typing import Any

from vertex_emulator.http.messages import Headers, Request
from vertex_emulator.storage.disk.preconditions import Preconditions
from vertex_emulator.storage.disk.records import StoredObject
from vertex_emulator.storage.xml.errors import invalid_argument, not_there

_FIELDS: Mapping[str, str] = {
    "cache-control": "cacheControl",
    "content-disposition": "contentDisposition",
    "content-encoding": "contentEncoding",
    "content-language": "contentLanguage",
    "content-type": "contentType",
    "x-goog-custom-time": "customTime",
    "x-goog-encryption-kms-key-name": "kmsKeyName",
    "x-goog-storage-class": "storageClass",
}
_CONDITIONS: Mapping[str, str] = {
    "x-goog-if-generation-match": "ifGenerationMatch",
    "x-goog-if-generation-not-match": "ifGenerationNotMatch",
    "x-goog-if-metageneration-match": "ifMetagenerationMatch",
    "x-goog-if-metageneration-not-match": "ifMetagenerationNotMatch",
}
_META = "x-goog-meta-"
_REFUSED: Mapping[str, str] = {
    "x-goog-copy-source": "Use the JSON API's rewriteTo.",
    "x-goog-encryption-key": "Send no key.",
    "x-goog-encryption-algorithm": "Send no key.",
}
_WHOLE = re.compile(r"[0-9]{1,18}")


def resource(headers: Headers) -> dict[str, Any]:
    """The fields of an object's resource that the headers of a request give. Raises `XmlError` 501."""
    for name, remedy in _REFUSED.items():
        if name in headers:
            raise not_there(f"the header {name}", remedy)
    found: dict[str, Any] = {
        field: headers[header] for header, field in _FIELDS.items() if headers.get(header)
    }
    found["storageClass"] = found["storageClass"].upper() if "storageClass" in found else None
    if metadata := {name[len(_META) :]: headers[name] for name in headers if name.startswith(_META)}:
        found["metadata"] = metadata
    return {name: value for name, value in found.items() if value is not None}


def conditions(headers: Headers) -> dict[str, list[str]]:
    """The parameters of the JSON API that say what the conditions in the headers say."""
    return {name: [headers[header]] for header, name in _CONDITIONS.items() if header in headers}


def preconditions(headers: Headers) -> Preconditions:
    """The conditions in the headers. Raises `XmlError` 400."""
    numbers = {name: _whole(header, headers.get(header)) for header, name in _CONDITIONS.items()}
    return Preconditions(
        generation_match=numbers["ifGenerationMatch"],
        generation_not_match=numbers["ifGenerationNotMatch"],
        metageneration_match=numbers["ifMetagenerationMatch"],
        metageneration_not_match=numbers["ifMetagenerationNotMatch"],
        etag_match=headers.get("if-match"),
        etag_none_match=headers.get("if-none-match"),
    )


def of_object(stored: StoredObject) -> dict[str, str]:
    """What every answer about an object tells of it."""
    found = {
        "ETag": etag(stored),
        "Last-Modified": http_date(stored.updated),
        "X-Goog-Generation": str(stored.generation),
        "X-Goog-Metageneration": str(stored.metageneration),
        "X-Goog-Hash": hashes(stored.crc32c, stored.md5),
        "X-Goog-Storage-Class": stored.settings.get("storageClass", "STANDARD"),
        "X-Goog-Stored-Content-Encoding": stored.settings.get("contentEncoding", "identity"),
        "X-Goog-Stored-Content-Length": str(stored.size),
    }
    for key, value in stored.settings.get("metadata", {}).items():
        if re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", key):
            found[f"{_META}{key}"] = value
    return found


def hashes(crc32c: str, md5: str | None) -> str:
    """The value of X-Goog-Hash; both in base64."""
    return f"crc32c={crc32c},md5={md5}" if md5 else f"crc32c={crc32c}"


def etag(stored: StoredObject) -> str:
    """The MD5 of the content where it is known, as the XML API has it."""
    return f'"{stored.xml_etag}"'


def http_date(moment: str) -> str:
    """A time of RFC 3339 as HTTP headers have it."""
    return format_datetime(datetime.fromisoformat(moment.replace("Z", "+00:00")), usegmt=True)


def number(request: Request, name: str, *, default: int, most: int) -> int:
    """A parameter that is a whole number; more than `most` means `most`. Raises `XmlError` 400."""
    value = _whole(name, request.parameter(name))
    return default if value is None else min(value, most)


def _whole(name: str, value: str | None) -> int | None:
    if value is None or value == "":
        return None
    if not _WHOLE.fullmatch(value):
        raise invalid_argument(f"{name} has to be a whole number, not {value!r}.")
    return int(value)
