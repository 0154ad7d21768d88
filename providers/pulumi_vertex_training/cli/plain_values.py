"""What a text may become: limits that JSON and YAML have in common, and what is wrong with a text.

Everything after this boundary can walk the values without fear: at most `MAX_DEPTH` deep, at most
`MAX_VALUES` of them even where aliases repeat them, no NaN, no infinity, no half characters.
"""

from __future__ import annotations

import math
import re

MAX_DEPTH = 100
MAX_VALUES = 50_000

_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER = 100


class TextError(Exception):
    """What is wrong with a text, and where: line and column count from 1, 0 where there is no place.

    `syntax`: the text is not in the language at all, so that it may be in another one.
    """

    def __init__(self, message: str, *, line: int = 0, column: int = 0, syntax: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.syntax = syntax


def number(text: str) -> int | float:
    """A decimal number. Raises ValueError, with what to do, for one that JSON cannot hold."""
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text)} digits; no field takes one, write a shorter one or quotes")
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    value = float(text)
    if math.isinf(value) or math.isnan(value):
        raise ValueError(f"{text} is no number that JSON can hold; write a finite one")
    return value


def has_half_characters(text: str) -> bool:
    """Whether there is a surrogate in it: one half of a character, which UTF-8 cannot hold."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def too_deep() -> str:
    return f"lists and mappings are more than {MAX_DEPTH} deep; a job is less than 20"


def too_many() -> str:
    return f"more than {MAX_VALUES:,} values; a job has far fewer"


def given_twice(key: str) -> str:
    return f"the key {shown(key)} is given twice in one mapping; keep one"


def shown(text: str) -> str:
    """A text in quotes on one line, cut when it is long."""
    return repr(text) if len(text) <= 60 else repr(text[:60]) + "..."
