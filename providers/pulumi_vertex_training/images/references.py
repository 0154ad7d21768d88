"""Names of images: `HOST/PATH[:TAG][@DIGEST]` (the grammar of github.com/distribution/reference)."""

from __future__ import annotations

import re

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])"
_NAME = re.compile(
    rf"(?P<path>(?:{_HOST}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


def canonical_name(text: str) -> str | None:
    """The full name of an image, with Docker Hub's host where none is stated; None when it is no name.

    A name without tag and digest stays so; it means the tag `latest`.
    """
    found = _NAME.fullmatch(text)
    if not found or len(text) > 512:
        return None
    first, slash, rest = found["path"].partition("/")
    if not slash or not (
        any(mark in first for mark in ".:") or first == "localhost" or first != first.lower()
    ):
        if first != first.lower():
            return None
        return "docker.io/" + text if slash else "docker.io/library/" + text
    return text if re.fullmatch(rf"{_PART}(?:/{_PART})*", rest) else None


def repository_of(name: str) -> str:
    """A name without tag and digest."""
    name = name.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return head + slash + last.partition(":")[0]
