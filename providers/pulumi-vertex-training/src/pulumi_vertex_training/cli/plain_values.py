"""Limits that JSON and YAML texts have in common, and the messages about them.

Code that receives the values can rely on them: at most `MAX_DEPTH` levels, at most `MAX_VALUES` values even
where aliases repeat them, no NaN, no infinity, no half characters.
"""

from __future__ import annotations

import math
import re

MAX_DEPTH = 100
MAX_VALUES = 50_000

_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER = 100


class TextError(Exception):
    """A fault in a text. Line and column count from 1; both are 0 if the fault has no position.

    `syntax` means that the text is not in the language at all, so it may be in another one.
    """

    def __init__(self, message: str, *, line: int = 0, column: int = 0, syntax: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.syntax = syntax


def number(text: str) -> int | float:
    """Parse a decimal number. Raises ValueError, with the remedy, for one that JSON cannot hold."""
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(
            f"a number of {len(text)} digits is too long; write a shorter one, or put it in quotes"
        )
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    value = float(text)
    if math.isinf(value) or math.isnan(value):
        raise ValueError(f"{text} is not a number in JSON; write a finite one")
    return value


def has_half_characters(text: str) -> bool:
    """Return whether the text has a surrogate: one half of a character, which UTF-8 cannot hold."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def too_deep() -> str:
    """Return the message for too many levels."""
    return f"lists and mappings are more than {MAX_DEPTH} levels deep; a job has fewer than 20 levels"


def too_many() -> str:
    """Return the message for too many values."""
    return f"more than {MAX_VALUES:,} values; a job has far fewer"


def given_twice(key: str) -> str:
    """Return the message for a duplicate key."""
    return f"the key {shown(key)} is given twice in one mapping; keep one"


def shown(text: str) -> str:
    """Return a text in quotes on one line, shortened if it is long."""
    return repr(text) if len(text) <= 60 else repr(text[:60]) + "..."
