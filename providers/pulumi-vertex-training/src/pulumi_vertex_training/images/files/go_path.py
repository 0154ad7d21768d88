"""Paths and patterns of Go's `path/filepath`, which Docker's tools use."""

from __future__ import annotations

import posixpath


class BadPatternError(ValueError):
    """A pattern that `filepath.Match` rejects: an open bracket, or a trailing backslash."""


def clean(path: str) -> str:
    """Return the shortest equivalent path (`filepath.Clean`): no double slashes, no `.`, `..` resolved."""
    if not path:
        return "."
    cleaned = posixpath.normpath(path)
    return cleaned[1:] if cleaned.startswith("//") else cleaned


def match(pattern: str, name: str) -> bool:
    """Return whether a whole name matches a pattern (`filepath.Match`): `*`, `?`, `[a-z]`, `[^a]`, escapes.

    `*` and `?` do not match a slash. Raises BadPatternError for a malformed pattern, unless an earlier part
    of it already fails to match.
    """
    while pattern:
        star, chunk, pattern = _scan_chunk(pattern)
        if star and not chunk:
            return "/" not in name
        rest = _match_chunk(chunk, name)
        if rest is not None and (not rest or pattern):
            name = rest
            continue
        if star and (remainder := _after_star(chunk, name, last=not pattern)) is not None:
            name = remainder
            continue
        return False
    return not name


def _after_star(chunk: str, name: str, *, last: bool) -> str | None:
    """Return the rest of the name after the first position where the chunk matches, or None."""
    for start, character in enumerate(name):
        if character == "/":
            return None
        rest = _match_chunk(chunk, name[start + 1 :])
        if rest is not None and not (last and rest):
            return rest
    return None


def _scan_chunk(pattern: str) -> tuple[bool, str, str]:
    """Return whether the pattern starts with a star, the text up to the next star, and the rest."""
    body = pattern.lstrip("*")
    bracket, index = False, 0
    while index < len(body):
        character = body[index]
        if character == "\\":
            index += 1
        elif character == "[":
            bracket = True
        elif character == "]":
            bracket = False
        elif character == "*" and not bracket:
            break
        index += 1
    return len(body) < len(pattern), body[:index], body[index:]


def _match_chunk(chunk: str, name: str) -> str | None:
    """Return the rest of a name that starts with a match of the chunk, or None.

    A chunk has no star outside of brackets.
    """
    failed = False
    while chunk:
        failed = failed or not name
        kind = chunk[0]
        if kind == "[":
            character, name = ("", name) if failed else (name[0], name[1:])
            fits, chunk = _match_bracket(chunk[1:], character)
            failed = failed or not fits
            continue
        if kind == "\\":
            chunk = chunk[1:]
            if not chunk:
                raise BadPatternError
        if not failed:
            failed = name[0] == "/" if kind == "?" else chunk[0] != name[0]
            name = name[1:]
        chunk = chunk[1:]
    return None if failed else name


def _match_bracket(chunk: str, character: str) -> tuple[bool, str]:
    """Return whether the bracket at the start of the chunk has the character, and the rest of the chunk."""
    negated = chunk.startswith("^")
    chunk = chunk[negated:]
    is_match, ranges = False, 0
    while not (chunk.startswith("]") and ranges):
        low, chunk = _bracket_character(chunk)
        high = low
        if chunk.startswith("-"):
            high, chunk = _bracket_character(chunk[1:])
        is_match = is_match or (low <= character <= high and character != "")
        ranges += 1
    return is_match != negated, chunk[1:]


def _bracket_character(chunk: str) -> tuple[str, str]:
    if not chunk or chunk[0] in "-]":
        raise BadPatternError
    if chunk[0] == "\\":
        chunk = chunk[1:]
    if len(chunk) < 2:
        raise BadPatternError
    return chunk[0], chunk[1:]
