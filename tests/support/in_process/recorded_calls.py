"""The calls of providers in an operation, by the real engine and by the one in the test's process.

Values that differ between two runs of the same operation are replaced: ids and times by a number, in the
order of first appearance, and the engine's address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_UNSTABLE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|\+00:00)"  # a time
    r"|\b[0-9a-f]{16}(?=-\d+\b|\b)"  # the identity of a run
    r"|(?<=-\d-)[0-9a-f]{4}(?=/)"  # the suffix of the directory of a second job with the same key
    r"|(?<=/customJobs/)\d+|\b\d{15,}\b"  # an id that the service chose
    r"|127\.0\.0\.1:\d+|no engine"
    r"|(?<=\bFault )\d+(?=:)"  # the number of a fault; kills of the real engine set some, too
)


@dataclass(kw_only=True)
class Call:
    """A call of a provider's method. `has_ended` is False if it failed or a kill cut it off."""

    provider: str
    method: str
    args: Any
    result: Any = None
    error: str | None = None
    has_ended: bool = False


def read(file: Path) -> list[Call]:
    """Return the calls that `hold/sitecustomize.py` wrote into the file, in the order in which they began."""
    calls: dict[str, Call] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        entry = json.loads(line)
        if "method" in entry:
            calls[entry["number"]] = Call(
                provider=entry["provider"], method=entry["method"], args=entry["args"]
            )
            continue
        call = calls[entry["number"]]
        call.error, call.result, call.has_ended = entry.get("error"), entry.get("result"), "result" in entry
    return list(calls.values())


_NOT_COMPARED = ("__provider", "asked_by", "lookups", "__declaration", "__found", "__key")
"""Keys that the real program hands over beside the inputs; the small engine does not."""


class Normaliser:
    """Replace values that differ between two histories; each history has its own instance."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def calls(self, calls: Iterable[Call]) -> list[dict[str, Any]]:
        return [self._value(vars(call)) for call in calls]

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: "<engine>" if key == "asked_by" else self._value(item)
                for key, item in sorted(value.items())
                if not (item is None and key != "error") and key not in _NOT_COMPARED
            }
        if isinstance(value, (list, tuple)):
            return [self._value(item) for item in value]
        if isinstance(value, str):
            return _UNSTABLE.sub(lambda match: self._number(match[0]), value)
        return value

    def _number(self, text: str) -> str:
        return self._numbers.setdefault(text, f"<{len(self._numbers) + 1}>")
