"""Read JSON or YAML from a path or from standard input; JSON more strictly than the standard library."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from pathlib import Path
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
from vertex_training.command_line.errors import InputError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class _RefusedError(Exception):
    """The text has a fault that `_fault` finds."""


def read_json(text: str) -> Any:
    """Read a JSON text. Raises TextError."""
    try:
        value = json.loads(
            text, object_pairs_hook=_mapping, parse_constant=_refuse, parse_float=_number, parse_int=_number
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


def _is_within_limits(value: object) -> bool:
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
    """Return the first fault that `read_json` rejects in a text that is otherwise JSON."""
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


STANDARD_INPUT = "-"
MAX_BYTES = 16 * 1024 * 1024

_LIKE_JSON = re.compile(r'\s*[{\[]\s*["{\[]')
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""A name of a job; a file that somebody means has a suffix or a folder."""


def read(name: str, *, argument: str = "FILE") -> Any:
    """Read the plain values in a file. `-` is standard input; `argument` is the argument's name in errors.

    A file whose name ends in .json must be JSON. Other files may be JSON or YAML, or have a gcloud command as
    a shell reads it, which is returned under the key `gcloud`. Raises InputError, with line and column if
    they are known.
    """
    text = _text(name, argument)
    if not text.strip():
        raise _error(name, argument, "the file is empty; write a job in it, as YAML or JSON")
    if (commands := _commands(text)) and not name.lower().endswith(".json"):
        if len(commands) > 1:
            raise _error(name, argument, f"the file has {len(commands)} gcloud commands; keep one of them")
        return {"gcloud": commands[0]}
    try:
        value = _values(text, only_json=name.lower().endswith(".json"))
    except TextError as fault:
        place = f", line {fault.line}, column {fault.column}" if fault.line else ""
        raise InputError(f"{called(name)}{place}: {fault}.", path=argument) from None
    if value is None:
        raise _error(name, argument, "the file has only null or comments; write a job in it")
    return value


_COMMAND = re.compile(r"[ \t]*(?:\$[ \t]+)?(gcloud[ \t](?:[^\\\n]|\\\r?\n|\\.)*)")
_BEFORE_COMMAND = 1 << 16
"""The most characters before the first command of a script."""
_SETTING = r"(?:export[ \t]+)?[A-Za-z_][A-Za-z0-9_]*=[^\n]*|set[ \t]+-[^\n]*"
_OF_A_SHELL = re.compile(rf"(?:[ \t]*(?:#[^\n]*|{_SETTING})?\n)*[ \t]*(?:\$[ \t]+)?gcloud[ \t]")


def _commands(text: str) -> list[str]:
    """Return the gcloud commands of a text in a shell's language, which begins with one or with `#!`."""
    if not text.startswith("#!") and not _OF_A_SHELL.match(text, 0, _BEFORE_COMMAND):
        return []
    found, position = [], 0
    while position < len(text):
        match = _COMMAND.match(text, position)
        if match:
            found.append(match[1].strip())
        end = text.find("\n", match.end() if match else position)
        position = len(text) if end < 0 else end + 1
    return found


def called(name: str) -> str:
    """Return the name of a file in messages."""
    return "standard input" if name == STANDARD_INPUT else name


def _values(text: str, *, only_json: bool) -> Any:
    fault = None
    if only_json or text.lstrip()[:1] in ("{", "["):
        try:
            return read_json(text)
        except TextError as error:
            if only_json or not error.syntax:
                raise
            fault = error
    from pulumi_vertex_training.cli import yaml_text

    try:
        return yaml_text.read(text)
    except TextError as error:
        if fault is not None and error.syntax and _LIKE_JSON.match(text):
            raise fault from None
        raise


def _text(name: str, argument: str) -> str:
    data = _standard_input(argument) if name == STANDARD_INPUT else _content(name, argument)
    if len(data) > MAX_BYTES:
        raise _error(
            name,
            argument,
            f"the file has more than {MAX_BYTES >> 20} MiB, which is too large for a job; give another file",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if data.startswith(_UTF_16):
            raise _error(name, argument, "the file is UTF-16; save it as UTF-8") from None
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{called(name)}, line {line}, column {column}: the byte 0x{data[error.start]:02x} is not UTF-8; "
            "save it as UTF-8.",
            path=argument,
        ) from None


def _standard_input(argument: str) -> bytes:
    if sys.stdin is None:
        raise _error(STANDARD_INPUT, argument, "it is closed; give a file")
    try:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as error:
        raise _error(STANDARD_INPUT, argument, f"it cannot be read: {error.strerror or error}") from error


def _content(name: str, argument: str) -> bytes:
    try:
        path = Path(name)
        # A pipe, as in `explain <(make-job)`, is allowed; a device such as /dev/zero never ends.
        if stat.S_ISCHR(path.stat().st_mode) and name != os.devnull:
            raise _error(name, argument, "it is a device, not a file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        is_word = error.errno == errno.ENOENT and argument == "FILE" and _WORD.fullmatch(name)
        job = f". If it is a job, run `vertex-training status {name}`" if is_word else ""
        raise _error(name, argument, f"{_why_not(error)}{job}") from error
    except ValueError as error:  # a NUL in the name
        raise _error(name, argument, f"this is not a valid file name: {error}") from error


def _why_not(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "the file does not exist; `-` reads standard input"
    if error.errno == errno.EISDIR:
        return "this is a folder; name a file in it"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "you do not have permission to read it"
    return f"it cannot be read: {error.strerror or error}"


def _error(name: str, argument: str, what: str) -> InputError:
    return InputError(f"{called(name)}: {what}.", path=argument)
