"""The service's check of labels, in its words (from a public log)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from vertex_emulator.rpc.methods import Violation

RULE = (
    "There can be no more than 64 labels attached to a single resource. Label keys and values can only "
    "contain lowercase letters, numbers, dashes and underscores. Label keys must start with a letter or "
    "number, must be less than 64 characters in length, and must be less that 128 bytes in length when "
    "encoded in UTF-8. Label values must be less than 64 characters in length, and must be less that 128 "
    "bytes in length when encoded in UTF-8."
)
_MOST = 64
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


def faults(labels: Mapping[str, str], path: str) -> Iterator[Violation]:
    """What is wrong with the labels of a resource."""
    if len(labels) > _MOST or not all(
        _KEY.fullmatch(key) and _VALUE.fullmatch(value) for key, value in labels.items()
    ):
        yield Violation(path, RULE)
