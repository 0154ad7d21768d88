"""Regular expressions that requests bring, in RE2's syntax as on Google Cloud.

RE2 takes time in proportion to pattern and text, whatever they are, and lets other threads run meanwhile.
Python's own engine tries one way after the other, for ever with a pattern made for that, while the whole
emulator stands still.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import re2  # type: ignore[import-untyped]

MAX_PROGRAM = 2000
"""Steps of a pattern's program: a thousand letters, 250 times any character. At this size the worst of
patterns takes a few seconds for a text of 256 KiB, the largest that an entry can have."""

_CACHED = 64


class PatternError(ValueError):
    """The text is no pattern, or too large a one; the message says why."""


@functools.lru_cache(maxsize=_CACHED)
def compiled(pattern: str) -> Callable[[str], bool]:
    """Whether the pattern is found anywhere in a text. Raises `PatternError`."""
    options = re2.Options()
    options.log_errors = False
    try:
        program = re2.compile(_whole(pattern), options)
    except re2.error as error:
        words = error.args[0] if error.args else ""
        raise PatternError(
            words.decode(errors="replace") if isinstance(words, bytes) else str(words)
        ) from None
    if program.programsize > MAX_PROGRAM:
        raise PatternError(
            f"it stands for {program.programsize} steps, more than {MAX_PROGRAM}; repeat less, or look for "
            "a part of it"
        )
    return lambda text: program.search(_whole(text)) is not None


def _whole(text: str) -> str:
    """The text with U+FFFD for each half of a character, which UTF-8 cannot hold, and the halves of one put
    together."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
