"""The patterns of `matchGlob` ("List objects and prefixes using glob"), and the errors of Cloud Storage.

`*` matches any characters except a slash, `**` any characters, `**/` any folders or none, `?` one character
except a slash, `[a-z]` and `[!a-z]` one character of a set, and `{a,b}` one of several patterns. A backslash
escapes a character. A pattern must match the whole name.

The messages and rules are answers of the real service (fsouza/fake-gcs-server, pull request 2344). Indexes
count bytes of UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from vertex_emulator.server.rpc import patterns
from vertex_emulator.services.storage.errors import StorageError, invalid

MAX_LENGTH = 1024
MAX_DEPTH = 8
"""Bounds of the emulator. Names of objects have at most 1,024 bytes."""

_SPECIAL = frozenset("*?[{\\")
_NOTHING = r"[^\x00-\x{10FFFF}]"


def compiled(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern to a predicate: whether a name matches. Raises `StorageError` 400."""
    if len(pattern) > MAX_LENGTH:
        raise _error(f"Invalid glob pattern: it is longer than {MAX_LENGTH} characters.")
    parser = _Parser(pattern)
    expression = parser.sequence(depth=0)
    if parser.at < len(pattern):
        raise parser.closing_brace()
    try:
        return patterns.compiled(rf"(?s)\A(?:{expression})\z")
    except patterns.PatternError as error:
        raise _error(f"Invalid glob pattern: {error}.") from error


def literal_prefix(pattern: str) -> str:
    """Return the literal text that all matching names begin with."""
    for index, character in enumerate(pattern):
        if character in _SPECIAL:
            return pattern[:index]
    return pattern


def _error(message: str) -> StorageError:
    return invalid(message, location="matchGlob")


class _Parser:
    """Translates a pattern to RE2's syntax, from left to right. `at` is the index of the next character."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def sequence(self, *, depth: int) -> str:
        """Return the expression up to the end, a `}`, or inside braces a `,`."""
        parts: list[str] = []
        while (character := self._next) and character != "}" and not (depth and character == ","):
            match character:
                case "*":
                    parts.append(self._stars())
                case "?":
                    self.at += 1
                    parts.append("[^/]")
                case "[":
                    parts.append(self._class(in_braces=depth > 0))
                case "]":
                    raise _error(
                        f"Glob pattern had closing character class ']' at index {self._index(self.at)} "
                        "without any previous opening '['. Either add an opening '[' or use '\\]' to match "
                        "']'."
                    )
                case "{":
                    parts.append(self._choices(depth=depth + 1))
                case _:
                    parts.append(re.escape(self._character()))
        return "".join(parts)

    def closing_brace(self) -> StorageError:
        """Return the error for a closing brace at `at` that was not opened."""
        return _error(
            f"Glob pattern brace expansion closing '}}' at index {self._index(self.at)} has no previous "
            "opening '{'. Use '\\}' to match a literal '}'."
        )

    @property
    def _next(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _character(self) -> str:
        """Read one character, after a backslash or without one. A backslash at the end is one itself."""
        escaped = self._next == "\\" and self.at + 1 < len(self._pattern)
        character = self._pattern[self.at + escaped]
        self.at += 1 + escaped
        return character

    def _index(self, at: int) -> int:
        return len(self._pattern[:at].encode("utf-8", "surrogatepass"))

    def _stars(self) -> str:
        start = self.at
        while self._next == "*":
            self.at += 1
        if self.at - start == 1:
            return "[^/]*"
        if self._next == "/" and (start == 0 or self._pattern[start - 1] == "/"):
            self.at += 1
            return "(?:.*/)?"
        return ".*"

    def _choices(self, *, depth: int) -> str:
        if depth > MAX_DEPTH:
            raise _error(f"Invalid glob pattern: its braces are nested deeper than {MAX_DEPTH}.")
        start = self.at
        choices: list[str] = []
        while self._next != "}":
            self.at += 1
            choices.append(self.sequence(depth=depth))
            if not self._next:
                raise _error(
                    f"Glob pattern brace expansion opening '{{' at index {self._index(start)} has no closing "
                    "'}'. Use '\\{' to match a literal '{'."
                )
        self.at += 1
        return f"(?:{'|'.join(choices)})"

    def _class(self, *, in_braces: bool) -> str:
        start = self.at
        self.at += 1
        negated = self._next in ("!", "^") and self._next != ""
        self.at += negated
        ranges = list(self._ranges(start, in_braces=in_braces))
        if not ranges:
            raise _error(
                f"Glob pattern character class at index {self._index(start)} must have at least one "
                "character in it."
            )
        self.at += 1
        inside = "".join(_without_slash(first, last) for first, last in ranges)
        return f"[^/{inside}]" if negated else f"[{inside}]" if inside else _NOTHING

    def _ranges(self, start: int, *, in_braces: bool) -> Iterator[tuple[str, str]]:
        """Yield the first and the last character of each range of a class, up to its `]`."""
        while self._next != "]":
            first = self._member(start, in_braces=in_braces)
            if self._next != "-" or self._pattern[self.at + 1 : self.at + 2] in ("", "]"):
                yield first, first
                continue
            self.at += 1
            last = self._member(start, in_braces=in_braces)
            if first > last:
                raise _error(f"Invalid range '{first}-{last}' in glob pattern character class.")
            yield first, last

    def _member(self, start: int, *, in_braces: bool) -> str:
        character = self._next
        if character == "[":
            raise _error(
                "Glob pattern character class does not support the unescaped '[' at index "
                f"{self._index(self.at)}. Use '\\[' to match '['."
            )
        if character == "}" and not in_braces:
            raise self.closing_brace()
        is_last = self._pattern[self.at :] == "\\"
        if character in ("", "{", "}") or (character == "," and in_braces) or is_last:
            raise _error(
                "Glob pattern character class has no closing ']' for opening '[' at index "
                f"{self._index(start)}. Either add a closing ']' or use '\\[' to match a literal '['."
            )
        return self._character()


def _without_slash(first: str, last: str) -> str:
    """Return a range as in a regular expression: a class never matches a slash, which RE2 cannot exclude."""
    parts = ((first, last),) if not first <= "/" <= last else ((first, "."), ("0", last))
    return "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in parts if low <= high)
