"""Regular expressions of filters and globs, which mean the same as in Google's services: RE2.

RE2 takes time in proportion to pattern and text, whatever they are, and lets other threads run meanwhile.
Python's own engine backtracks: a malicious pattern would block the whole emulator for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import re2  # type: ignore[import-untyped]

MAX_PROGRAM = 2000
"""Steps of a pattern's program: a thousand letters, or 250 times any character.

At this size the worst pattern takes a few seconds for a text of 256 KiB, the largest entry.
"""

_CACHED = 64


class PatternError(ValueError):
    """The text is not a pattern, or the pattern is too large; the message says why."""


@functools.lru_cache(maxsize=_CACHED)
def compiled(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern to a predicate: whether it is found anywhere in a text. Raises `PatternError`."""
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
            f"it compiles to {program.programsize} steps, more than {MAX_PROGRAM}. Use fewer "
            "repetitions, or a shorter pattern"
        )
    return lambda text: program.search(_whole(text)) is not None


def _whole(text: str) -> str:
    """Join the halves of characters, and replace single halves, which UTF-8 cannot hold, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
