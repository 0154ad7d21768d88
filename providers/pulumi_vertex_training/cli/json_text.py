"""Read JSON as plain values, more strictly than the standard library."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from pulumi_vertex_training.cli.plain_values import (
    MAX_DEPTH,
    MAX_VALUES,
    TextError,
    given_twice,
    has_half_characters,
    number,
    too_deep,
    too_many,
)

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class _RefusedError(Exception):
    """The text has a fault that `_fault` finds."""


def read(text: str) -> Any:
    """Read a JSON text. Raises TextError."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=_mapping,
            parse_constant=_refuse,
            parse_float=_number,
            parse_int=_number,
        )
        if not _is_within_limits(value):
            raise _RefusedError
    except json.JSONDecodeError as error:
        comment = text.startswith(("//", "/*"), error.pos)
        reason = "comments are not allowed; remove them" if comment else _first_lower(error.msg)
        raise TextError(
            f"this is not JSON: {reason}", line=error.lineno, column=error.colno, syntax=True
        ) from None
    except (_RefusedError, RecursionError):
        raise _fault(text) from None
    return value


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _RefusedError
    return mapping


def _refuse(_: str) -> NoReturn:
    raise _RefusedError


def _number(text: str) -> int | float:
    try:
        return number(text)
    except ValueError:
        raise _RefusedError from None


def _is_within_limits(value: Any) -> bool:
    """Return whether the values keep the limits. Works level by level, as nesting may exceed the stack."""
    level, count = [value], 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
                if any(map(has_half_characters, item)):
                    return False
            elif isinstance(item, list):
                below += item
            elif isinstance(item, str) and has_half_characters(item):
                return False
        if not below:
            return count <= MAX_VALUES
        level = below
    return False


def _fault(text: str) -> TextError:
    """Return the first fault that `read` rejects in a text that is otherwise JSON."""
    open_: list[set[str] | None] = []
    key_next, values = False, 0
    for match in _TOKEN.finditer(text):
        word, message, is_key = match.group(), "", key_next
        if word in "{[":
            open_.append(set() if word == "{" else None)
            key_next = word == "{"
        elif word in "}]":
            open_ = open_[:-1]
        elif word in ",:":
            key_next = word == "," and bool(open_) and open_[-1] is not None
        elif word.startswith('"'):
            message = _fault_of_string(word, open_[-1] if open_ and is_key else None)
        else:
            message = _fault_of_number(word)
        if word not in "}],:" and not is_key:
            values += 1
            if len(open_) + (word not in "{[") > MAX_DEPTH:
                message = too_deep()
            elif values > MAX_VALUES:
                message = too_many()
        if message:
            before = text[: match.start()]
            return TextError(message, line=before.count("\n") + 1, column=len(before) - before.rfind("\n"))
    return TextError(too_many())


def _fault_of_string(token: str, keys: set[str] | None) -> str:
    try:
        word = json.loads(token)
    except ValueError:
        return "this is not a JSON string"
    if has_half_characters(word):
        return "half a character: \\ud800 to \\udfff must come in pairs"
    if keys is None:
        return ""
    if word in keys:
        return given_twice(word)
    keys.add(word)
    return ""


def _fault_of_number(token: str) -> str:
    if token in ("NaN", "Infinity", "-Infinity"):
        return f"{token} is not a number in JSON; write a finite one"
    try:
        number(token)
    except ValueError as error:
        return "" if token in ("true", "false", "null") else str(error)
    return ""


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]
