"""The patterns of `matchGlob` ("List objects and prefixes using glob").

`*` matches any characters except a slash, `**` any characters, `**/` any folders or none, `?` one character
except a slash, `[a-z]` and `[!a-z]` one character of a set, and `{a,b}` one of several patterns. A backslash
escapes a character. A pattern must match the whole name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from vertex_emulator.storage.errors import StorageError, invalid

_MAX_LENGTH = 1024
_MAX_STARS = 32
_MAX_DEPTH = 8
_FEW = 2
"""The number of stars up to which a regular expression is fast."""
_SPECIAL = frozenset("*?[{\\")


@dataclass(frozen=True)
class _One:
    """One character that matches a regular expression."""

    expression: str


@dataclass(frozen=True)
class _Any:
    """Any number of characters, with or without slashes; with `folder`, nothing or all up to a slash."""

    slashes: bool
    folder: bool = False

    @property
    def expression(self) -> str:
        return "(?:.*/)?" if self.folder else (".*" if self.slashes else "[^/]*")


@dataclass(frozen=True)
class _Choice:
    """One of several sequences."""

    sequences: tuple[tuple[_Node, ...], ...]


_Node: TypeAlias = "_One | _Any | _Choice"


class Glob:
    """A compiled pattern. The time for a name is at most proportional to the product of both lengths.

    Python's regular expressions backtrack, and block all other threads meanwhile. They are used only for
    patterns with few alternatives.
    """

    def __init__(self, nodes: Sequence[_Node]) -> None:
        self._fast: re.Pattern[str] | None = None
        self._slow: _Machine | None = None
        if sum(isinstance(node, _Any) for node in nodes) <= _FEW and not any(
            isinstance(node, _Choice) for node in nodes
        ):
            expression = "".join(node.expression for node in nodes if not isinstance(node, _Choice))
            self._fast = re.compile(expression, re.DOTALL)
        else:
            self._slow = _Machine(nodes)

    def fullmatch(self, name: str) -> bool:
        if self._fast is not None:
            return self._fast.fullmatch(name) is not None
        return self._slow is not None and self._slow.matches(name)


class _Machine:
    """A nondeterministic automaton, which tracks the set of all states reached."""

    def __init__(self, nodes: Sequence[_Node]) -> None:
        self._reads: list[list[tuple[Callable[[str], object], int]]] = [[]]
        self._skips: list[list[int]] = [[]]
        self._end = self._add(nodes, 0)
        self._start = self._reached({0})

    def matches(self, name: str) -> bool:
        places = self._start
        for character in name:
            found = {to for place in places for accepts, to in self._reads[place] if accepts(character)}
            if not found:
                return False
            places = self._reached(found)
        return self._end in places

    def _add(self, nodes: Sequence[_Node], at: int) -> int:
        """Add a sequence that begins at a state. Return the state at its end."""
        for node in nodes:
            end = self._place()
            match node:
                case _One(expression):
                    self._reads[at].append((re.compile(expression, re.DOTALL).fullmatch, end))
                case _Any(slashes, folder):
                    loop = self._place()
                    self._skips[at] += [loop, end] if folder else [loop]
                    self._reads[loop].append((_is_any if slashes else _is_no_slash, loop))
                    if folder:
                        self._reads[loop].append((_is_slash, end))
                    else:
                        self._skips[loop].append(end)
                case _Choice(sequences):
                    for sequence in sequences:
                        self._skips[self._add(sequence, self._branch(at))].append(end)
            at = end
        return at

    def _place(self) -> int:
        self._reads.append([])
        self._skips.append([])
        return len(self._reads) - 1

    def _branch(self, at: int) -> int:
        place = self._place()
        self._skips[at].append(place)
        return place

    def _reached(self, places: set[int]) -> set[int]:
        """Return these states with all that are reachable without reading a character."""
        pending = list(places)
        while pending:
            for place in self._skips[pending.pop()]:
                if place not in places:
                    places.add(place)
                    pending.append(place)
        return places


def _is_any(_: str) -> bool:
    return True


def _is_slash(character: str) -> bool:
    return character == "/"


def _is_no_slash(character: str) -> bool:
    return character != "/"


def compiled(pattern: str) -> Glob:
    """Compile a pattern. Raises `StorageError` 400."""
    if len(pattern) > _MAX_LENGTH:
        raise _invalid(f"it is longer than {_MAX_LENGTH} characters")
    if len(re.findall(r"\*+", pattern)) > _MAX_STARS:
        raise _invalid(f"it has more than {_MAX_STARS} stars")
    nodes, end = _sequence(pattern, 0, depth=0)
    if end != len(pattern):
        raise _invalid(f"a {pattern[end]!r} was not opened")
    try:
        return Glob(nodes)
    except re.error as error:
        raise _invalid(str(error)) from error


def literal_prefix(pattern: str) -> str:
    """Return the literal text that all matching names begin with."""
    for index, character in enumerate(pattern):
        if character in _SPECIAL:
            return pattern[:index]
    return pattern


def _sequence(pattern: str, at: int, *, depth: int) -> tuple[tuple[_Node, ...], int]:
    """Parse the nodes up to the end, or inside braces up to `,` or `}`."""
    nodes: list[_Node] = []
    while at < len(pattern):
        character = pattern[at]
        if depth and character in ",}":
            break
        node: _Node
        if character == "*":
            node, at = _stars(pattern, at)
        elif character == "?":
            node, at = _One("[^/]"), at + 1
        elif character == "[":
            node, at = _set(pattern, at)
        elif character == "{":
            node, at = _choices(pattern, at, depth=depth + 1)
        elif character == "\\" and at + 1 < len(pattern):
            node, at = _One(re.escape(pattern[at + 1])), at + 2
        else:
            node, at = _One(re.escape(character)), at + 1
        nodes.append(node)
    return tuple(nodes), at


def _stars(pattern: str, at: int) -> tuple[_Node, int]:
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    if end - at == 1:
        return _Any(slashes=False), end
    if pattern[end : end + 1] == "/" and (at == 0 or pattern[at - 1] == "/"):
        return _Any(slashes=True, folder=True), end + 1
    return _Any(slashes=True), end


def _set(pattern: str, at: int) -> tuple[_Node, int]:
    start = at + 1
    negated = pattern[start : start + 1] in ("!", "^") and pattern[start : start + 1] != ""
    start += negated
    end = pattern.find("]", start + 1)
    if end < 0:
        raise _invalid("a [ is not closed")
    inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", pattern[start:end])
    return _One(f"[^/{inside}]" if negated else f"(?!/)[{inside}]"), end + 1


def _choices(pattern: str, at: int, *, depth: int) -> tuple[_Node, int]:
    if depth > _MAX_DEPTH:
        raise _invalid("its braces are nested too deeply")
    choices: list[tuple[_Node, ...]] = []
    while True:
        choice, at = _sequence(pattern, at + 1, depth=depth)
        choices.append(choice)
        if at >= len(pattern):
            raise _invalid("a { is not closed")
        if pattern[at] == "}":
            return _Choice(tuple(choices)), at + 1


def _invalid(why: str) -> StorageError:
    return invalid(f"Invalid glob pattern: {why}.", location="matchGlob")
