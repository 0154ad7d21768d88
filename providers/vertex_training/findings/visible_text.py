"""Text of others in messages: names, addresses and errors that somebody else chose.

A terminal obeys control sequences in the text that it shows: they can hide or rewrite lines, change the
title, and fill the clipboard. Other characters turn the direction of text. Everything that a person reads
passes through `visible` or `visible_lines`.
"""

from __future__ import annotations

import unicodedata


def visible(text: str) -> str:
    """Return a text on one line, with every character that is neither printable nor a blank as an escape."""
    return text if text.isprintable() else "".join(c if _is_harmless(c) else _escaped(c) for c in text)


def visible_lines(text: str) -> str:
    """Return a text with its lines. Tabs become blanks; other characters are as in `visible`."""
    if text.isprintable():
        return text
    return "\n".join(visible(line.removesuffix("\r").replace("\t", "    ")) for line in text.split("\n"))


def visible_json(document: str) -> str:
    """Return a JSON document with the escapes of JSON where `visible` has escapes; line feeds stay."""
    if document.isprintable():
        return document
    return "".join(c if c == "\n" or _is_harmless(c) else _json_escaped(c) for c in document)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _json_escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
