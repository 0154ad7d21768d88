"""Parts of sentences for messages, and text of others in them.

A terminal obeys control sequences in the text that it shows: they can hide or rewrite lines, change the
title, and fill the clipboard. Other characters turn the direction of text. Everything that a person reads
passes through `visible` or `visible_lines`.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable


def visible(text: str) -> str:
    """Return a text on one line, with every character that is neither printable nor a blank as an escape."""
    return text if text.isprintable() else "".join(c if _is_harmless(c) else _escaped(c) for c in text)


def visible_lines(text: str) -> str:
    """Return a text with its lines. Tabs become blanks; other characters are as in `visible`."""
    if text.isprintable():
        return text
    return "\n".join(visible(line.removesuffix("\r").replace("\t", "    ")) for line in text.split("\n"))


def visible_json(document: str) -> str:
    """Return a JSON document with the escapes of JSON where `visible` has escapes; line feeds stay.

    JSON itself has no control characters below U+0020 in its texts (RFC 8259, section 7).
    """
    if document.isascii() and "\x7f" not in document:
        return document
    return "".join(c if c == "\n" or _is_harmless(c) else _json_escaped(c) for c in document)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _json_escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


_LONGEST_WORD = 200


def one_of(names: Collection[str]) -> str:
    """Join names: `a`, `a or b`, `a, b or c`."""
    return _joined(names, "or")


def all_of(names: Collection[str]) -> str:
    """Join names: `a`, `a and b`, `a, b and c`."""
    return _joined(names, "and")


def counted(number: int, noun: str) -> str:
    """Return a number of things: `1 replica`, `5 replicas`, `12,000 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units.

    >>> duration(7830)
    '2 h 10 min'
    """
    whole = int(seconds)
    units = (("d", whole // 86400), ("h", whole // 3600 % 24), ("min", whole // 60 % 60), ("s", whole % 60))
    first = next((position for position, (_, number) in enumerate(units) if number), len(units) - 1)
    parts = [f"{number} {unit}" for unit, number in units[first : first + 2] if number]
    return " ".join(parts) or "0 s"


def nearest(word: str, choices: Collection[str], *, count: int = 3) -> str:
    """Return `did you mean a, b or c?` for the choices that look like `word`, or "" without a similar one."""
    similar = close(word, choices, count=1 if _same(word, choices) else count)
    return f"did you mean {one_of(similar)}?" if similar else ""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return the sentence ` Did you mean 'a'?`, after a space, or "" if no known name looks like `wrong`."""
    if len(wrong) > _LONGEST_WORD:
        return ""
    near = difflib.get_close_matches(wrong, sorted(set(known)), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _same(word: str, choices: Collection[str]) -> bool:
    """Return whether a choice differs from the word only in case, dashes and underscores."""
    return any(_folded(word) == _folded(choice) for choice in choices)


def _folded(word: str) -> str:
    return word.casefold().replace("-", "_").replace(" ", "_")


def or_newer(hint: str) -> str:
    """Add to a hint about an unknown name the option for names that Google has added since."""
    return f"{hint}{'' if hint.endswith('?') else '.'} For a newer name, set allow_unknown_types"


def close(word: str, choices: Collection[str], *, count: int = 3) -> list[str]:
    """Return the choices that look like `word`, the most similar first.

    Upper and lower case are equal, and so are dashes, underscores and blanks. The time grows with the length
    of the word, so nothing looks like a very long one.
    """
    if len(word) > _LONGEST_WORD:
        return []
    by_folded = {_folded(choice): choice for choice in choices}
    matches = difflib.get_close_matches(_folded(word), by_folded, n=count, cutoff=0.6)
    return [by_folded[folded] for folded in matches]


def shown(text: str, *, longest: int = 60) -> str:
    """Quote a text, and cut a long one."""
    return repr(text) if len(text) <= longest else repr(text[:longest]) + "..."


def short_image(uri: str) -> str:
    """Cut the digest of an image to 12 digits, enough to distinguish two images."""
    return re.sub(r"(@sha256:[0-9a-f]{12})[0-9a-f]{52}$", r"\1", uri)


def _joined(names: Collection[str], word: str) -> str:
    *most, last = names or ("",)
    return f"{', '.join(most)} {word} {last}" if most else last
