"""Read JSON or YAML from a path or from standard input."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cli import json_text
from pulumi_vertex_training.cli.plain_values import TextError
from pulumi_vertex_training.views.failure import InputError

STANDARD_INPUT = "-"
MAX_BYTES = 16 * 1024 * 1024

_LIKE_JSON = re.compile(r'\s*[{\[]\s*["{\[]')
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read(name: str, *, argument: str = "FILE") -> Any:
    """Read the plain values in a file. `-` is standard input; `argument` is the argument's name in errors.

    A file whose name ends in .json must be JSON. Other files may be JSON or YAML. Raises InputError, with
    line and column if they are known.
    """
    text = _text(name, argument)
    if not text.strip():
        raise _error(name, argument, "the file is empty; write a job in it, as YAML or JSON")
    try:
        value = _values(text, only_json=name.lower().endswith(".json"))
    except TextError as fault:
        place = f", line {fault.line}, column {fault.column}" if fault.line else ""
        raise InputError(f"{called(name)}{place}: {fault}.", path=argument) from None
    if value is None:
        raise _error(name, argument, "the file has only null or comments; write a job in it")
    return value


def called(name: str) -> str:
    """Return the name of a file in messages."""
    return "standard input" if name == STANDARD_INPUT else name


def _values(text: str, *, only_json: bool) -> Any:
    fault = None
    if only_json or text.lstrip()[:1] in ("{", "["):
        try:
            return json_text.read(text)
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
        raise _error(name, argument, _why_not(error)) from error
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
