"""Match the expressions that .dockerignore patterns become, in time proportional to pattern and path.

Python's regular expressions try every way to divide a text among several stars, which takes years for a dozen
of them. An automaton follows all ways at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_ANY_FOLDERS = "(.*/)?"
_REPETITION = re.compile(r"\{[0-9]+(,[0-9]*)?\}|\{,[0-9]+\}")
_SET = re.compile(r"\[\^?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]", re.DOTALL)
_FEW_STARS = 2
"""The number of stars up to which `re` is fast."""

_Test = Callable[[str], object]


@dataclass(frozen=True)
class _Place:
    """A state: where one character leads, and where none does, everywhere or only at the start or end."""

    reads: list[tuple[_Test, int]] = field(default_factory=list)
    skips: list[int] = field(default_factory=list)
    at_start: list[int] = field(default_factory=list)
    at_end: list[int] = field(default_factory=list)


def search(expression: str) -> Callable[[str], bool]:
    """Return a predicate of texts: whether the expression, in Python's syntax, is found in one.

    Raises ValueError if it is malformed, or has repetitions in braces together with many stars.
    """
    try:
        found = re.compile(expression, re.ASCII).search
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if expression.count("*") <= _FEW_STARS:
        return lambda text: found(text) is not None
    if _REPETITION.search(expression):
        raise ValueError("a repetition in braces beside many stars")
    return _Automaton(expression).is_in


class _Automaton:
    def __init__(self, expression: str) -> None:
        self._places = [_Place(), _Place()]
        start, self._end = 0, 1
        at = start
        # An expression may begin and end anywhere, unless it says otherwise.
        self._places[start].reads.append((_is_anything, start))
        self._places[self._end].reads.append((_is_anything, self._end))
        first = self._new()
        self._places[start].skips.append(first)
        at, index = first, 0
        while index < len(expression):
            if expression[index] == "|":
                self._places[at].skips.append(self._end)
                at, index = self._new(), index + 1
                self._places[start].skips.append(at)
            else:
                at, index = self._add(expression, index, at)
        self._places[at].skips.append(self._end)

    def is_in(self, text: str) -> bool:
        """Return whether the expression is found in a text."""
        places = self._closed({0}, first=True, last=not text)
        for index, character in enumerate(text):
            if self._end in places:
                return True
            reached = {to for place in places for test, to in self._places[place].reads if test(character)}
            places = self._closed(reached, first=False, last=index + 1 == len(text))
        return self._end in places

    def _add(self, expression: str, index: int, at: int) -> tuple[int, int]:
        """Add the atom at an index after a place. Return the place and the index after it."""
        end = self._new()
        if expression.startswith(_ANY_FOLDERS, index):
            loop = self._new()
            self._places[at].skips.extend([loop, end])
            self._places[loop].reads.extend([(_is_in_line, loop), ("/".__eq__, end)])
            return end, index + len(_ANY_FOLDERS)
        if expression[index] == "^":
            self._places[at].at_start.append(end)
            return end, index + 1
        if expression.startswith(r"\Z", index):
            self._places[at].at_end.append(end)
            return end, index + 2
        atom = _atom(expression, index)
        test = _is_in_line if atom == "." else re.compile(atom, re.ASCII | re.DOTALL).fullmatch
        index += len(atom)
        if expression.startswith("*", index):
            loop = self._new()
            self._places[at].skips.append(loop)
            self._places[loop].reads.append((test, loop))
            self._places[loop].skips.append(end)
            return end, index + 1
        self._places[at].reads.append((test, end))
        return end, index

    def _new(self) -> int:
        self._places.append(_Place())
        return len(self._places) - 1

    def _closed(self, places: set[int], *, first: bool, last: bool) -> set[int]:
        """Return these places with all that are reachable without a character."""
        pending = list(places)
        while pending:
            place = self._places[pending.pop()]
            for to in (*place.skips, *(place.at_start if first else ()), *(place.at_end if last else ())):
                if to not in places:
                    places.add(to)
                    pending.append(to)
        return places


def _atom(expression: str, index: int) -> str:
    """Return the source of the atom at an index: an escape, a set, or one character."""
    if expression[index] == "\\":
        return expression[index : index + 2]
    if expression[index] == "[" and (match := _SET.match(expression, index)):
        return match[0]
    return expression[index]


def _is_anything(_: str) -> bool:
    return True


def _is_in_line(character: str) -> bool:
    return character != "\n"
