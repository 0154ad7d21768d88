"""Patterns of paths, as in a shell: `*` and `?` stay within a name, `**` stands for any number of folders.

A pattern without a slash matches a name in every folder, and a pattern that matches a folder matches
everything in it. Wildcards of an include pattern do not match a leading dot, so hidden files have to be
named: `**/.zarray`. Exclude patterns find them.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vertex_training.findings.problems import Problem
from vertex_training.findings.words import shown

_WILDCARDS = "*?["


@dataclass(frozen=True, kw_only=True)
class _Part:
    """One name of a pattern. `expression` is None for `**`."""

    expression: re.Pattern[str] | None
    takes_hidden: bool

    def matches(self, name: str) -> bool:
        if name.startswith(".") and not self.takes_hidden:
            return False
        return self.expression is None or self.expression.match(name) is not None


@dataclass(frozen=True, kw_only=True)
class Glob:
    """A pattern. `text` is the pattern as it was given."""

    text: str
    parts: tuple[_Part, ...]
    takes_hidden: bool

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches a relative path, or a folder above it."""
        return len(self.parts) in self._positions(path)

    def may_match_below(self, folder: str) -> bool:
        """Return whether the pattern may match a path below a folder."""
        return bool(self._positions(folder))

    def _positions(self, path: str) -> set[int]:
        """Return the numbers of parts that the names of a path can have used up."""
        end = len(self.parts)
        positions = self._closed({0})
        for name in path.split("/"):
            following = set()
            for position in positions:
                if position == end:
                    if self.takes_hidden or not name.startswith("."):
                        following.add(end)
                elif self.parts[position].matches(name):
                    following.add(position if self.parts[position].expression is None else position + 1)
            positions = self._closed(following)
        return positions

    def _closed(self, positions: set[int]) -> set[int]:
        """Add the positions after each `**`, which may match nothing."""
        reachable = set(positions)
        for position in sorted(positions):
            while position < len(self.parts) and self.parts[position].expression is None:
                position += 1
                reachable.add(position)
        return reachable


def read(
    patterns: Sequence[str], field: str, *, takes_hidden: bool
) -> tuple[tuple[Glob, ...], list[Problem]]:
    """Return the patterns of an input, and the problems of those that are not valid."""
    globs, problems = [], []
    for index, text in enumerate(patterns):
        fault = _fault(text)
        if fault is None:
            globs.append(_glob(text, takes_hidden=takes_hidden))
        else:
            problems.append(Problem(path=f"{field}[{index}]", message=f"{shown(text)} {fault}"))
    return tuple(globs), problems


def any_matches(globs: Iterable[Glob], path: str) -> bool:
    """Return whether one of the patterns matches a relative path."""
    return any(glob.matches(path) for glob in globs)


def _fault(text: str) -> str | None:
    if not text.strip("/. "):
        return "is not a pattern. Name files, such as *.csv, or folders, such as train; or leave it out."
    if "\\" in text:
        return "has a backslash. Write / between folders, and [*] for a star."
    if text.startswith("!"):
        return "begins with '!', which has no meaning here. Use the other one of include and exclude."
    if "{" in text and "," in text and "}" in text:
        return "has braces, which are not expanded. Write one pattern for each."
    if ".." in text.split("/"):
        return "leads out of the folder. Write paths relative to source."
    return None


def _glob(text: str, *, takes_hidden: bool) -> Glob:
    names = [name for name in text.split("/") if name not in ("", ".")]
    if "/" not in text.rstrip("/"):
        names.insert(0, "**")
    return Glob(
        text=text,
        parts=tuple(_compiled_part(name, takes_hidden=takes_hidden) for name in names),
        takes_hidden=takes_hidden,
    )


def _compiled_part(name: str, *, takes_hidden: bool) -> _Part:
    if name == "**":
        return _Part(expression=None, takes_hidden=takes_hidden)
    return _Part(
        expression=re.compile(fnmatch.translate(name)), takes_hidden=takes_hidden or name[0] not in _WILDCARDS
    )
