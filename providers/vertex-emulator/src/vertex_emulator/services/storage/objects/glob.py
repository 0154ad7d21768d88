"""The patterns of `matchGlob` ("List objects and prefixes using glob").

`*` matches any characters except a slash, `**` any characters, `**/` any folders or none, `?` one character
except a slash, `[a-z]` and `[!a-z]` one character of a set, and `{a,b}` one of several patterns. A backslash
escapes a character. A pattern must match the whole name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from vertex_emulator.services.storage.objects.glob_syntax import Any, Choice, Node, One, error, parse

_SPECIAL = frozenset("*?[{\\")

_MOST_WORK = 1_000_000
"""Places that one pattern may visit, over all names: half a second. Ordinary patterns visit some hundred."""
_MOST_KEPT = 200_000
"""Places in all kept states: some 20 MB. Beyond it, the states are found again."""


class Glob:
    """A compiled pattern: a nondeterministic automaton.

    A state is the set of all places reached; its successors are kept. So a character costs one lookup, unless
    it leads to a state that was not met before. Python's regular expressions backtrack, and block all other
    threads meanwhile.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._reads: list[list[tuple[Callable[[str], object], int]]] = [[]]
        self._skips: list[list[int]] = [[]]
        self._end = self._add(nodes, 0)
        self._start = frozenset(self._reached({0}))
        self._next: dict[frozenset[int], dict[str, frozenset[int]]] = {}
        self._kept = self._work = 0

    def fullmatch(self, name: str) -> bool:
        """Return whether a name matches. Raises `StorageError` 400 if the pattern takes too much work."""
        places = self._start
        successors = self._of(places)
        for character in name:
            following = successors.get(character)
            if following is None:
                following = self._step(places, character)
                self._of(places)[character] = following
            if not following:
                return False
            places, successors = following, self._of(following)
        return self._end in places

    def _of(self, places: frozenset[int]) -> dict[str, frozenset[int]]:
        """Return the known successors of a state by character."""
        following = self._next.get(places)
        if following is None:
            if self._kept > _MOST_KEPT:
                self._next.clear()
                self._kept = 0
            self._kept += len(places)
            following = self._next[places] = {}
        return following

    def _step(self, places: frozenset[int], character: str) -> frozenset[int]:
        """Return the state after a character; an empty one for no match."""
        targets = {to for place in places for accepts, to in self._reads[place] if accepts(character)}
        reached = frozenset(self._reached(targets))
        self._kept += 1
        self._work += len(places) + len(reached)
        if self._work > _MOST_WORK:
            raise error(
                "Invalid glob pattern: it takes too much work for the names of this bucket. Use fewer '*' "
                "and braces, or list with a prefix."
            )
        return reached

    def _add(self, nodes: Sequence[Node], at: int) -> int:
        """Add a sequence that begins at a place. Return the place at its end."""
        for node in nodes:
            end = self._place()
            match node:
                case One(expression):
                    self._reads[at].append((re.compile(expression, re.DOTALL).fullmatch, end))
                case Any(slashes, folder):
                    loop = self._place()
                    self._skips[at] += [loop, end] if folder else [loop]
                    self._reads[loop].append((_is_any if slashes else _is_no_slash, loop))
                    if folder:
                        self._reads[loop].append((_is_slash, end))
                    else:
                        self._skips[loop].append(end)
                case Choice(sequences):
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
        """Return these places with all that are reachable without reading a character."""
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
    return Glob(parse(pattern))


def literal_prefix(pattern: str) -> str:
    """Return the literal text that all matching names begin with."""
    for index, character in enumerate(pattern):
        if character in _SPECIAL:
            return pattern[:index]
    return pattern
