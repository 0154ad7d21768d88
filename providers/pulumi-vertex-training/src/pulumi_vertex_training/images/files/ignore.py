"""Decide which files a .dockerignore file excludes, in time proportional to the names.

The rules, oddities included, are from github.com/moby/patternmatcher, which Docker, BuildKit and buildah
use. It matches by Go's `regexp`, which is RE2. The last pattern that matches a path or one of its parents
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import re2  # type: ignore[import-untyped]

from pulumi_vertex_training.images.files import go_path
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule

IGNORE_PATTERN: Final = Rule(
    name="ignore-pattern",
    says="A pattern of a .dockerignore file is one of Go's filepath.Match, with `**` and a leading `!`.",
    source='Docker documentation, ".dockerignore files"',
)

_LITERAL_IN_EXPRESSIONS = frozenset(".+()$")
"""Characters that are escaped; not `|`, `{` and `}`, which patternmatcher fails to escape."""


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
    return _search("^" + "".join(expression) + "$")


def _search(expression: str) -> Callable[[str], bool]:
    """Return a predicate: whether the expression is found in a path. Raises ValueError if it is malformed."""
    options = re2.Options()
    options.log_errors = False
    try:
        program = re2.compile(_whole(expression), options)
    except re2.error as error:
        raise ValueError(str(error)) from error
    return lambda path: program.search(_whole(path)) is not None


def _whole(text: str) -> str:
    """Replace bytes that are no UTF-8, as Go's `regexp` reads them."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
