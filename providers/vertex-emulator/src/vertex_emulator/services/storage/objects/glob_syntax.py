"""The syntax of `matchGlob`, and the errors of Google Cloud Storage.

The messages and rules are answers of the real service (fsouza/fake-gcs-server, pull request 2344). Indexes
count bytes of UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from vertex_emulator.services.storage.errors import StorageError, invalid

MAX_LENGTH = 1024
MAX_STARS = 32
MAX_DEPTH = 8
"""Bounds of the emulator. Names of objects have at most 1,024 bytes."""


@dataclass(frozen=True)
class One:
    """One character that matches a regular expression."""

    expression: str


@dataclass(frozen=True)
class Any:
    """Any number of characters, with or without slashes; with `folder`, nothing or all up to a slash."""

    slashes: bool
    folder: bool = False

    @property
    def expression(self) -> str:
        return "(?:.*/)?" if self.folder else (".*" if self.slashes else "[^/]*")


@dataclass(frozen=True)
class Choice:
    """One of several sequences."""

    sequences: tuple[tuple[Node, ...], ...]


Node: TypeAlias = "One | Any | Choice"


def parse(pattern: str) -> tuple[Node, ...]:
    """Parse a pattern. Raises `StorageError` 400."""
    if len(pattern) > MAX_LENGTH:
        raise error(f"Invalid glob pattern: it is longer than {MAX_LENGTH} characters.")
    if len(re.findall(r"\*+", pattern)) > MAX_STARS:
        raise error(f"Invalid glob pattern: it has more than {MAX_STARS} stars.")
    parser = _Parser(pattern)
    nodes = parser.sequence(depth=0)
    if parser.at < len(pattern):
        raise parser.closing_brace()
    return nodes


def error(message: str) -> StorageError:
    """Return the error for a pattern."""
    return invalid(message, location="matchGlob")


class _Parser:
    """Reads a pattern from left to right. `at` is the index of the next character."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def sequence(self, *, depth: int) -> tuple[Node, ...]:
        """Return the nodes up to the end, a `}`, or inside braces a `,`."""
        nodes: list[Node] = []
        while (character := self._next) and character != "}" and not (depth and character == ","):
            match character:
                case "*":
                    nodes.append(self._stars())
                case "?":
                    self.at += 1
                    nodes.append(One("[^/]"))
                case "[":
                    nodes.append(self._class(in_braces=depth > 0))
                case "]":
                    raise error(
                        f"Glob pattern had closing character class ']' at index {self._index(self.at)} "
                        "without any previous opening '['. Either add an opening '[' or use '\\]' to match "
                        "']'."
                    )
                case "{":
                    nodes.append(self._choices(depth=depth + 1))
                case _:
                    nodes.append(One(re.escape(self._character())))
        return tuple(nodes)

    def closing_brace(self) -> StorageError:
        """Return the error for a closing brace at `at` that was not opened."""
        return error(
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

    def _stars(self) -> Node:
        start = self.at
        while self._next == "*":
            self.at += 1
        if self.at - start == 1:
            return Any(slashes=False)
        if self._next == "/" and (start == 0 or self._pattern[start - 1] == "/"):
            self.at += 1
            return Any(slashes=True, folder=True)
        return Any(slashes=True)

    def _choices(self, *, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise error(f"Invalid glob pattern: its braces are nested deeper than {MAX_DEPTH}.")
        start = self.at
        choices: list[tuple[Node, ...]] = []
        while self._next != "}":
            self.at += 1
            choices.append(self.sequence(depth=depth))
            if not self._next:
                raise error(
                    f"Glob pattern brace expansion opening '{{' at index {self._index(start)} has no closing "
                    "'}'. Use '\\{' to match a literal '{'."
                )
        self.at += 1
        return Choice(tuple(choices))

    def _class(self, *, in_braces: bool) -> Node:
        start = self.at
        self.at += 1
        negated = self._next in ("!", "^") and self._next != ""
        self.at += negated
        inside = "".join(self._ranges(start, in_braces=in_braces))
        if not inside:
            raise error(
                f"Glob pattern character class at index {self._index(start)} must have at least one "
                "character in it."
            )
        self.at += 1
        return One(f"[^/{inside}]" if negated else f"(?!/)[{inside}]")

    def _ranges(self, start: int, *, in_braces: bool) -> Iterator[str]:
        """Yield the characters and ranges of a class, as in a regular expression, up to its `]`."""
        while self._next != "]":
            first = self._member(start, in_braces=in_braces)
            if self._next != "-" or self._pattern[self.at + 1 : self.at + 2] in ("", "]"):
                yield re.escape(first)
                continue
            self.at += 1
            last = self._member(start, in_braces=in_braces)
            if first > last:
                raise error(f"Invalid range '{first}-{last}' in glob pattern character class.")
            yield f"{re.escape(first)}-{re.escape(last)}"

    def _member(self, start: int, *, in_braces: bool) -> str:
        character = self._next
        if character == "[":
            raise error(
                "Glob pattern character class does not support the unescaped '[' at index "
                f"{self._index(self.at)}. Use '\\[' to match '['."
            )
        if character == "}" and not in_braces:
            raise self.closing_brace()
        is_last = self._pattern[self.at :] == "\\"
        if character in ("", "{", "}") or (character == "," and in_braces) or is_last:
            raise error(
                "Glob pattern character class has no closing ']' for opening '[' at index "
                f"{self._index(start)}. Either add a closing ']' or use '\\[' to match a literal '['."
            )
        return self._character()
