"""Expand the arguments of instructions: JSON arrays, and words with BuildKit's quotes and variables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

Lookup = Callable[[str], "str | None"]


class ExpansionError(ValueError):
    """A word that cannot be expanded; the message has the reason and the remedy."""


class UnsetError(ExpansionError):
    """A variable is required, as in `${NAME:?}`, but not set."""


@dataclass(kw_only=True)
class _Word:
    text: str
    lookup: Lookup
    escape: str
    quotes: bool
    at: int = 0

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def next(self) -> str:
        character = self.peek()
        self.at += 1
        return character


def expand(text: str, lookup: Lookup, *, escape: str = "\\", quotes: bool = True) -> str:
    """Remove the quotes of a word and replace its variables; `lookup` returns None for an unset one.

    Without `quotes`, as for a heredoc, quotes are ordinary characters. Raises ExpansionError.
    """
    return _until(_Word(text=text, lookup=lookup, escape=escape, quotes=quotes), "")


def _until(word: _Word, stop: str) -> str:
    result: list[str] = []
    while True:
        character = word.peek()
        if not character:
            if stop:
                raise ExpansionError(f"{word.text!r} has a '${{' without a '}}'. Close it.")
            return "".join(result)
        if character == stop:
            word.next()
            return "".join(result)
        if character == "$":
            result.append(_dollar(word))
        elif character == "'" and word.quotes:
            result.append(_single(word))
        elif character == '"' and word.quotes:
            result.append(_double(word))
        else:
            word.next()
            result.append(word.next() if character == word.escape else character)


def _single(word: _Word) -> str:
    start = word.at + 1
    end = word.text.find("'", start)
    if end < 0:
        raise ExpansionError(f"{word.text!r} has a single quote without its pair. Close it, or escape it.")
    word.at = end + 1
    return word.text[start:end]


def _double(word: _Word) -> str:
    word.next()
    result: list[str] = []
    while character := word.peek():
        if character == '"':
            word.next()
            return "".join(result)
        if character == "$":
            result.append(_dollar(word))
            continue
        word.next()
        if character == word.escape:
            following = word.next()
            result.append(following if following in ('"', "$", word.escape) else character + following)
        else:
            result.append(character)
    raise ExpansionError(f"{word.text!r} has a double quote without its pair. Close it, or escape it.")


def _dollar(word: _Word) -> str:
    word.next()
    if word.peek() != "{":
        name = _name(word)
        return (word.lookup(name) or "") if name else "$"
    word.next()
    name = _name(word)
    if not name:
        raise ExpansionError(f"{word.text!r} has a '${{' without a name. Write ${{NAME}}, or escape the '$'.")
    value = word.lookup(name)
    operator = word.next()
    if operator == "}":
        return value or ""
    if operator == ":":
        operator = word.next()
        value = value or None
        if operator not in ("-", "+", "?"):
            raise ExpansionError(_unknown_operator(word, name, ":" + operator))
    if operator in ("-", "+", "?"):
        return _conditional(word, name, value, operator)
    if operator in ("#", "%"):
        longest = word.peek() == operator
        if longest:
            word.next()
        return _trimmed(value or "", _until(word, "}"), operator, longest=longest)
    if operator == "/":
        return _replaced(word, value or "")
    raise ExpansionError(_unknown_operator(word, name, operator))


def _conditional(word: _Word, name: str, value: str | None, operator: str) -> str:
    other = _until(word, "}")
    if operator == "+":
        return "" if value is None else other
    if value is None and operator == "?":
        reason = f": {other}" if other else ""
        raise UnsetError(f"{name} is required but not set{reason}. Set it by ARG, ENV or a build argument.")
    return other if value is None else value


def _unknown_operator(word: _Word, name: str, operator: str) -> str:
    known = "':-', ':+', ':?', '#', '%' and '/'"
    return f"{word.text!r} has {operator!r} after {name}; only {known} are known. Correct it."


def _name(word: _Word) -> str:
    match = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]").match(word.text, word.at)
    if not match:
        return ""
    word.at = match.end()
    return match[0]


def _trimmed(value: str, pattern: str, operator: str, *, longest: bool) -> str:
    """Remove from the value what matches the pattern at its start (`#`) or its end (`%`)."""
    expression = re.compile(_expression(pattern), re.DOTALL)
    lengths = range(len(value) + 1)
    for length in reversed(lengths) if longest else lengths:
        part = value[:length] if operator == "#" else value[len(value) - length :]
        if expression.fullmatch(part):
            return value[length:] if operator == "#" else value[: len(value) - length]
    return value


def _replaced(word: _Word, value: str) -> str:
    everywhere = word.peek() == "/"
    if everywhere:
        word.next()
    pattern = _until_either(word)
    replacement = _until(word, "}") if pattern[1] else ""
    expression = re.compile(_expression(pattern[0]), re.DOTALL)
    return expression.sub(lambda _: replacement, value, count=0 if everywhere else 1)


def _until_either(word: _Word) -> tuple[str, bool]:
    """Read the pattern of a replacement; return it, and whether a '/' ended it."""
    start = word.at
    while character := word.next():
        if character == word.escape:
            word.next()
        elif character in "/}":
            inner = word.text[start : word.at - 1]
            return expand(inner, word.lookup, escape=word.escape), character == "/"
    raise ExpansionError(f"{word.text!r} has a '${{' without a '}}'. Close it.")


def _expression(pattern: str) -> str:
    parts = {"*": ".*", "?": "."}
    return "".join(parts.get(character, re.escape(character)) for character in pattern)


class WordsError(ValueError):
    """Malformed arguments; the message has the reason."""


def json_array(arguments: str) -> tuple[str, ...] | None:
    """Return the strings of a JSON array; None if the arguments are not one, which makes them plain text."""
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
    """Split the arguments of an instruction that takes paths or ports: a JSON array, or words."""
    listed = json_array(arguments)
    return tuple(arguments.split()) if listed is None else listed


def quoted_words(arguments: str, escape: str) -> tuple[str, ...]:
    """Split words at spaces outside of quotes and escapes; the words keep quotes and escape characters."""
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
    """Split `a=b c="d e"`, or the legacy form `a b` of ENV and LABEL. Raises WordsError.

    Quotes and escapes stay in the values; `expand` removes them. `what` is the instruction's name for
    messages.
    """
    words = quoted_words(arguments, escape)
    if not words:
        raise WordsError(f"{what} has no arguments. Write {what} NAME=value.")
    if "=" not in words[0]:
        value = arguments[len(words[0]) :].strip()
        if not value:
            raise WordsError(f"{what} {words[0]} has no value. Write {what} {words[0]}=value.")
        return ((words[0], value),)
    pairs = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            message = f"{word!r} has no value in {what}. Write {word}=value, and put values with spaces"
            raise WordsError(f"{message} in quotes.")
        if not name:
            raise WordsError(f"{word!r} has no name before the '='. Write {what} NAME=value.")
        pairs.append((name, value))
    return tuple(pairs)
