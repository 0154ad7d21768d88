"""Replace what belongs to one account or one run.

The result is compared and shown, so it has no project, no e-mail address, no token and no IP address, and no
value that differs by nature, such as an id or a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

PROJECT, NUMBER, RUN = "PROJECT", "NUMBER", "RUN"

_EMAIL = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
_TOKEN = re.compile(r"ya29\.[\w.-]+|AIza[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]+\.[\w-]+|1//[\w-]{20,}")
_CONSOLE = re.compile(r"https://console\.cloud\.google\.com\S*")
_ADDRESS = re.compile(r"https?://(?:[\w.-]+\.googleapis\.com|127\.0\.0\.1:\d+|localhost:\d+)")
_REGISTRY = re.compile(r"(?:127\.0\.0\.1|localhost):\d+/(?=[\w-]+-docker\.pkg\.dev)")
_IPV4 = re.compile(r"(?<![\d.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?![\d.])")
_IPV6 = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}(?![\w:])")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_HOST = re.compile(r"(workerpool\d+-)[0-9a-f]{6,}(?=-\d)")
_DIGEST_KEYS = {
    "etag": "ETAG",
    "md5Hash": "MD5",
    "crc32c": "CRC32C",
    "uid": "ID",
    "elapsedDuration": "DURATION",
}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_HASH = re.compile(r"(?<![0-9A-Za-z.])(?=\d*[a-f])[0-9a-f]{16}(?:-[0-9a-f]{8})?(?![0-9A-Za-z])")
"""The key of a stack, that of a resource of it, and the name of a run."""
_LONG_NUMBER = re.compile(r"(?<![\w.])\d{10,}(?!\w|\.\d)")


@dataclass(frozen=True, kw_only=True)
class Sanitiser:
    """Sanitises the answers of one side of one run."""

    project: str
    run: str

    def document(self, value: Any, key: str = "") -> Any:
        """Return a JSON value with all strings and long numbers replaced."""
        if isinstance(value, dict):
            return {self.text(name): self.document(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.document(each, key) for each in value]
        if isinstance(value, str):
            return _DIGEST_KEYS.get(key) or self.text(value)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**9:
            return self.text(str(value))
        return value

    def text(self, text: str) -> str:
        """Return a text with everything replaced that belongs to the account or the run."""
        text = _TOKEN.sub("TOKEN", _EMAIL.sub("EMAIL", text))
        text = _ADDRESS.sub("ADDRESS", _REGISTRY.sub("", _CONSOLE.sub("CONSOLE", text)))
        text = _TIME.sub("TIME", text)
        text = _IPV6.sub("IP", _IPV4.sub("IP", text))
        text = text.replace(self.run, RUN)
        text = re.sub(rf"(?<![\w-]){re.escape(self.project)}(?!\w)", PROJECT, text)
        text = re.sub(r"(projects/)\d+", rf"\1{NUMBER}", text)
        text = _HASH.sub("HASH", _DIGEST.sub("DIGEST", _HOST.sub(r"\1HEX", text)))
        return _LONG_NUMBER.sub(_number_or_id, text)


def _number_or_id(found: re.Match[str]) -> str:
    """Return the word for a long number: project numbers have at most 13 digits, ids of resources more."""
    return NUMBER if len(found[0]) <= 13 else "ID"
