"""The forms of an instruction's arguments: a JSON array, words, names with values."""

from __future__ import annotations

import json


class WordsError(ValueError):
    """Arguments that do not have the form; the message says why."""


def json_array(arguments: str) -> tuple[str, ...] | None:
    """The strings of a JSON array, or None when the arguments are not one: all else is text."""
    if not arguments.startswith("["):
        return None
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def split_words(arguments: str) -> tuple[str, ...]:
    """The words of an instruction that takes paths or ports: JSON or separated by space."""
    listed = json_array(arguments)
    return tuple(arguments.split()) if listed is None else listed


def quoted_words(arguments: str, escape: str) -> tuple[str, ...]:
    """Words in which quotes and the escape character protect space; both stay in the words."""
    words: list[str] = []
    word, quote, index = "", "", 0
    while index < len(arguments):
        character = arguments[index]
        if character == escape and quote != "'" and index + 1 < len(arguments):
            word += arguments[index : index + 2]
            index += 2
            continue
        if not quote and character.isspace():
            if word:
                words.append(word)
            word = ""
        else:
            if quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
            word += character
        index += 1
    return (*words, word) if word else tuple(words)


def names_and_values(arguments: str, escape: str, *, what: str) -> tuple[tuple[str, str], ...]:
    """`a=b c="d e"`, or `a b` as ENV and LABEL took it of old. Raises WordsError.

    Quotes and escapes stay: who expands the values takes them away.
    """
    words = quoted_words(arguments, escape)
    if not words:
        raise WordsError(f"{what} names nothing. Write {what} NAME=value.")
    if "=" not in words[0]:
        value = arguments[len(words[0]) :].strip()
        if not value:
            raise WordsError(f"{what} {words[0]} has no value. Write {what} {words[0]}=value.")
        return ((words[0], value),)
    pairs = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            message = (
                f"{word!r} stands in {what} without a value. Write {word}=value, and put values with spaces"
            )
            raise WordsError(f"{message} in quotes.")
        if not name:
            raise WordsError(f"{word!r} has no name before the '='. Write {what} NAME=value.")
        pairs.append((name, value))
    return tuple(pairs)
