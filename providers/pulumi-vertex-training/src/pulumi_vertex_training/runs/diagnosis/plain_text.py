"""The output of a program, made safe for another terminal: no escapes, no endless lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

LINE_LENGTH = 1000
"""The most characters of a line that are shown."""

LINES_OF_ONE_ENTRY = 100
"""The most lines of one log entry that are shown: some programs log a whole table at once."""

# CSI sequences such as colours and cursor moves, OSC sequences such as titles and links, and the shorter ones
# (ECMA-48). If one is cut off at the end of an entry, at least its introducer is removed.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]).{0,2000}?(?:\x1b\\|\x07|\x9c)"
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)


def plain(line: str) -> str:
    """Return a line without terminal escape sequences; other control characters become escapes.

    A progress bar, which rewrites its line, keeps its last state.
    """
    text = drawn(_ESCAPES.sub("", line).rstrip("\r\n")).expandtabs(4)
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode("ascii")
        for each in text
    )


def drawn(line: str) -> str:
    """Return the last state of a line that carriage returns and backspaces rewrite, as on a terminal."""
    text = line.rstrip("\r").rpartition("\r")[2]
    if "\b" not in text:
        return text
    cells: list[str] = []
    at = 0
    for character in text:
        if character == "\b":
            at = max(0, at - 1)
        else:
            cells[at : at + 1] = [character]
            at += 1
    return "".join(cells).rstrip()


def lines_of(entry: str, *, length: int = LINE_LENGTH, most: int = LINES_OF_ONE_ENTRY) -> Iterator[str]:
    """Yield the lines of a log entry, plain and bounded, and a line that counts the omitted ones."""
    lines = entry.rstrip("\n").split("\n")
    for line in lines[:most]:
        # Cut before the search for escapes: a hostile line makes that slow.
        yield shortened(plain(drawn(line)[: 8 * length]), length)
    if len(lines) > most:
        yield f"... and {len(lines) - most} more lines of this entry"


def shortened(text: str, length: int) -> str:
    """Return the beginning of a text that is too long, with the number of missing characters."""
    return text if len(text) <= length else f"{text[:length]}... (+{len(text) - length} characters)"
