"""Reads pyproject.toml, and writes it back as text.

Writing is only for the copy in an archive whose package list had to be extended: comments are lost there,
values are not. Tables keep their order.
"""

from __future__ import annotations

import datetime
import importlib
import json
import re
import sys
from collections.abc import Mapping
from typing import Any

# by name: type checkers look for the backport only where it is installed
_toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(text: str) -> dict[str, Any]:
    """The document in a TOML text. Raises ValueError."""
    document: dict[str, Any] = _toml.loads(text)
    return document


def toml_text(document: Mapping[str, Any]) -> str:
    """The document as TOML 1.0."""
    lines: list[str] = []
    _table(lines, (), document)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(lines: list[str], path: tuple[str, ...], values: Mapping[str, Any]) -> None:
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    if path and (plain or not tables):
        lines += ["", f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key, value in tables.items():
        _table(lines, (*path, key), value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # JSON's escapes are TOML's; with everything but controls written as it is, no surrogate pair appears
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())}}}"
    raise TypeError(f"no TOML value: {value!r}")
