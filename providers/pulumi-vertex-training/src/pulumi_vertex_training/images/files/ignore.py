"""Decide which files a .dockerignore file excludes, in time proportional to the names.

Python's regular expressions try every way to divide a text among several stars, which takes years for a dozen
of them. An automaton follows all ways at once.

The rules, oddities included, are from github.com/moby/patternmatcher, which Docker, BuildKit and buildah
use. The last pattern that matches a path or one of its parents decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pulumi_vertex_training.images.files import go_path
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule

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
        pattern = re.compile(expression, re.ASCII).search
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if expression.count("*") <= _FEW_STARS:
        return lambda text: pattern(text) is not None
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


IGNORE_PATTERN: Final = Rule(
    name="ignore-pattern",
    says="A pattern of a .dockerignore file is one of Go's filepath.Match, with `**` and a leading `!`.",
    source='Docker documentation, ".dockerignore files"',
)

_LITERAL_IN_EXPRESSIONS = frozenset(".+()$")
"""Characters that are escaped; not `|`, `{` and `}`, which patternmatcher fails to escape."""
_KNOWN_ESCAPES = frozenset("dDsSwWaftnrv")


@dataclass(frozen=True, kw_only=True)
class _Pattern:
    text: str
    exception: bool
    fits: Callable[[str], bool]


@dataclass(frozen=True, kw_only=True)
class IgnoreRules:
    """The patterns of a .dockerignore file, in order."""

    patterns: tuple[_Pattern, ...] = ()

    @property
    def has_exceptions(self) -> bool:
        """True if a pattern may include something again below an excluded folder."""
        return any(pattern.exception for pattern in self.patterns)

    def leaves_out(self, path: str) -> bool:
        """Return whether the path, relative to the context, or one of its parents is excluded."""
        parts = path.split("/")
        fitted: tuple[bool, ...] | None = None
        left_out = False
        for depth in range(1, len(parts) + 1):
            left_out, fitted = self.step("/".join(parts[:depth]), fitted)
        return left_out

    def step(self, path: str, above: tuple[bool, ...] | None) -> tuple[bool, tuple[bool, ...]]:
        """Return whether a path is excluded, and the state to pass as `above` for paths below it.

        For walking a tree; `above` is None at the top.
        """
        left_out = False
        fitted = []
        for index, pattern in enumerate(self.patterns):
            fits = above is not None and above[index]
            if not fits and pattern.exception == left_out:
                fits = pattern.fits(path)
            fitted.append(fits)
            if fits:
                left_out = not pattern.exception
        return left_out, tuple(fitted)


def read_ignore_file(text: str, file: str) -> tuple[IgnoreRules, list[Problem]]:
    """Return the rules of a .dockerignore file and its problems; `file` is its name in messages."""
    return read_patterns(text.removeprefix("\ufeff").split("\n"), file)


def read_patterns(lines: Iterable[str], file: str) -> tuple[IgnoreRules, list[Problem]]:
    """Return the rules of lines in the format of .dockerignore, and their problems."""
    patterns: list[_Pattern] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("#") or not line.strip():
            continue
        try:
            patterns.append(_pattern(_normal(line.strip())))
        except ValueError:
            message = (
                f"{line.strip()!r} is not a valid pattern. Close every bracket and put something after '!' "
                "and a backslash, or remove the line."
            )
            problems.append(IGNORE_PATTERN.broken(f"{file}:{number}", message))
    return IgnoreRules(patterns=tuple(patterns)), problems


def _normal(pattern: str) -> str:
    exception = pattern.startswith("!")
    pattern = pattern[1:].strip() if exception else pattern
    if pattern:
        pattern = go_path.clean(pattern)
        if len(pattern) > 1 and pattern.startswith("/"):
            pattern = pattern[1:]
    return "!" + pattern if exception else pattern


def _pattern(text: str) -> _Pattern:
    """Parse a pattern. Raises ValueError if it is malformed."""
    text = go_path.clean(text.strip())
    exception = text.startswith("!")
    text = text[1:] if exception else text
    if exception and not text:
        raise ValueError("nothing after '!'")
    go_path.match(text, ".")
    return _Pattern(text=text, exception=exception, fits=_compile(text))


def _compile(pattern: str) -> Callable[[str], bool]:
    """Return a predicate of paths, with patternmatcher's four kinds of comparison."""
    expression: list[str] = []
    kind = "exact"
    index = step = 0
    while index < len(pattern):
        character, index = pattern[index], index + 1
        if character == "*" and pattern.startswith("*", index):
            index += 1
            if pattern.startswith("/", index):
                index += 1
            if index < len(pattern):
                expression.append("(.*/)?")
                kind = "expression"
            elif kind == "exact":
                kind = "prefix"
            else:
                expression.append(".*")
                kind = "expression"
            if step == 0:
                kind = "suffix"
        elif character in "*?":
            expression.append("[^/]*" if character == "*" else "[^/]")
            kind = "expression"
        elif character in _LITERAL_IN_EXPRESSIONS:
            expression.append("\\" + character)
        elif character == "\\" and index < len(pattern):
            expression.append("\\" + pattern[index])
            index += 1
            kind = "expression"
        else:
            expression.append(character)
            if character in "[]":
                kind = "expression"
        step += 1
    return _comparison(kind, pattern, expression)


def _comparison(kind: str, pattern: str, expression: Sequence[str]) -> Callable[[str], bool]:
    if kind == "exact":
        return lambda path: path == pattern
    if kind == "prefix":
        prefix = pattern[:-2]
        return lambda path: path.startswith(prefix)
    if kind == "suffix":
        suffix = pattern[2:]
        return lambda path: path.endswith(suffix) or (suffix[:1] == "/" and path == suffix[1:])
    return search(_as_python("^" + "".join(expression) + "$"))


def _as_python(expression: str) -> str:
    """Translate an expression of Go's `regexp` to `re`, which has more special characters within brackets."""
    result: list[str] = []
    start = -1
    index = 0
    while index < len(expression):
        character = expression[index]
        if character == "\\":
            index += 1
            escaped = expression[index]
            if not escaped.isascii() or (escaped.isalnum() and escaped not in _KNOWN_ESCAPES):
                raise ValueError(f"unknown escape {escaped!r}")
            result.append("\\" + escaped)
        elif start < 0:
            if character == "[":
                start = index + (2 if expression.startswith("^", index + 1) else 1)
                result.append(expression[index:start])
                index = start
                continue
            result.append({"]": r"\]", "$": r"\Z"}.get(character, character))
        elif character == "]" and index > start:
            start = -1
            result.append(character)
        else:
            result.append("\\" + character if character in "[]&|~" else character)
        index += 1
    return "".join(result)
