"""The patterns of `matchGlob` ("List objects and prefixes using glob").

`*` any characters but a slash, `**` any at all, `**/` also no folder, `?` one character but a slash, `[a-z]`
and `[!a-z]` one of a set, `{a,b}` one of several; after `\\` a character is itself. Names match in full.
"""

from __future__ import annotations

import re

from vertex_training.emulator.storage.errors import StorageError, invalid

_MAX_LENGTH = 1024
_MAX_STARS = 32
_MAX_DEPTH = 8
_SPECIAL = frozenset("*?[{\\")


def compiled(pattern: str) -> re.Pattern[str]:
    """What the pattern matches, in full. Raises `StorageError` 400."""
    if len(pattern) > _MAX_LENGTH:
        raise _invalid(f"it is longer than {_MAX_LENGTH} characters")
    if len(re.findall(r"\*+", pattern)) > _MAX_STARS:
        raise _invalid(f"it has more than {_MAX_STARS} stars")
    expression, end = _sequence(pattern, 0, depth=0)
    if end != len(pattern):
        raise _invalid(f"a {pattern[end]!r} closes nothing")
    try:
        return re.compile(expression, re.DOTALL)
    except re.error as error:
        raise _invalid(str(error)) from error


def literal_prefix(pattern: str) -> str:
    """What all names that match begin with."""
    for index, character in enumerate(pattern):
        if character in _SPECIAL:
            return pattern[:index]
    return pattern


def _sequence(pattern: str, at: int, *, depth: int) -> tuple[str, int]:
    """The expression up to the end, or inside braces up to `,` or `}`."""
    parts: list[str] = []
    while at < len(pattern):
        character = pattern[at]
        if depth and character in ",}":
            break
        if character == "*":
            part, at = _stars(pattern, at)
        elif character == "?":
            part, at = "[^/]", at + 1
        elif character == "[":
            part, at = _set(pattern, at)
        elif character == "{":
            part, at = _choices(pattern, at, depth=depth + 1)
        elif character == "\\" and at + 1 < len(pattern):
            part, at = re.escape(pattern[at + 1]), at + 2
        else:
            part, at = re.escape(character), at + 1
        parts.append(part)
    return "".join(parts), at


def _stars(pattern: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    if end - at == 1:
        return "[^/]*", end
    if pattern[end : end + 1] == "/" and (at == 0 or pattern[at - 1] == "/"):
        return "(?:.*/)?", end + 1
    return ".*", end


def _set(pattern: str, at: int) -> tuple[str, int]:
    start = at + 1
    negated = pattern[start : start + 1] in ("!", "^") and pattern[start : start + 1] != ""
    start += negated
    end = pattern.find("]", start + 1)
    if end < 0:
        raise _invalid("a [ is not closed")
    inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", pattern[start:end])
    return (f"[^/{inside}]" if negated else f"(?!/)[{inside}]"), end + 1


def _choices(pattern: str, at: int, *, depth: int) -> tuple[str, int]:
    if depth > _MAX_DEPTH:
        raise _invalid("its braces are nested too deeply")
    choices: list[str] = []
    while True:
        choice, at = _sequence(pattern, at + 1, depth=depth)
        choices.append(choice)
        if at >= len(pattern):
            raise _invalid("a { is not closed")
        if pattern[at] == "}":
            return f"(?:{'|'.join(choices)})", at + 1


def _invalid(why: str) -> StorageError:
    return invalid(f"Invalid glob pattern: {why}.", location="matchGlob")
