"""Read values from setup.py and pyproject.toml without running anything, and write pyproject.toml.

pyproject.toml is written only as the copy in an archive whose package list was extended. Comments are lost
there, values are not, and tables keep their order.
"""

from __future__ import annotations

import ast
import datetime
import importlib
import json
import re
import sys
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class FindCall:
    """A call of `find_packages` or `find_namespace_packages` with literal arguments."""

    where: str = "."
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    namespaces: bool = False


@dataclass(frozen=True, kw_only=True)
class SetupCall:
    """The keyword arguments of the only `setup(...)` call in a setup.py.

    `values` has those that are literals (strings, lists, dictionaries, or names assigned such a value at the
    top of the file) or `find_packages` calls; `unread` names the others.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()


def assigned_text(source: bytes, names: Collection[str]) -> str | None:
    """Return the string assigned at top level to the first of `names` in a module, or None."""
    tree = _parse(source)
    values = _assignments(tree) if tree else {}
    candidates = [values[name] for name in names if isinstance(values.get(name), str)]
    return str(candidates[0]) if candidates else None


def setup_call(source: bytes) -> SetupCall | None:
    """Return the `setup(...)` call of a setup.py, or None if it cannot be read (as with `**options`)."""
    tree = _parse(source)
    if tree is None:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "setup"]
    if len(calls) != 1 or calls[0].args or any(keyword.arg is None for keyword in calls[0].keywords):
        return None
    known = _assignments(tree)
    values: dict[str, object] = {}
    unread = set()
    for keyword in calls[0].keywords:
        name = str(keyword.arg)
        try:
            values[name] = _value(keyword.value, known)
        except ValueError:
            unread.add(name)
    return SetupCall(values=values, unread=frozenset(unread))


def _parse(source: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _assignments(tree: ast.Module) -> dict[str, object]:
    values: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.value:
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                try:
                    values[target.id] = ast.literal_eval(value)
                except ValueError:
                    values.pop(target.id, None)
    return values


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _value(node: ast.expr, known: Mapping[str, object]) -> object:
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Call) and _called(node) in ("find_packages", "find_namespace_packages"):
        return _find_call(node)
    return ast.literal_eval(node)


def _find_call(call: ast.Call) -> FindCall:
    order = ("where", "exclude", "include")
    given: dict[str, object] = {
        name: ast.literal_eval(value) for name, value in zip(order, call.args, strict=False)
    }
    given |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    where = given.pop("where", ".")
    include, exclude = given.pop("include", ("*",)), given.pop("exclude", ())
    if given or not isinstance(where, str):
        raise ValueError("a find_packages call that cannot be read")
    return FindCall(
        where=where,
        include=texts(include),
        exclude=texts(exclude),
        namespaces=_called(call) == "find_namespace_packages",
    )


def texts(value: object) -> tuple[str, ...]:
    """Return a list or tuple of strings as a tuple. Raises ValueError for anything else."""
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError("not a list of strings")


# Imported by name: type checkers would not find the backport if it is not installed.
_toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(text: str) -> dict[str, Any]:
    """Return the document of a TOML text. Raises ValueError."""
    document: dict[str, Any] = _toml.loads(text)
    return document


def toml_text(document: Mapping[str, Any]) -> str:
    """Return the document as TOML 1.0."""
    lines: list[str] = []
    _toml_table(lines, (), document)
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml_table(lines: list[str], path: tuple[str, ...], values: Mapping[str, Any]) -> None:
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    if path and (plain or not tables):
        lines += ["", f"[{'.'.join(map(_toml_key, path))}]"]
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in plain.items()]
    for key, value in tables.items():
        _toml_table(lines, (*path, key), value)


def _toml_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _toml_string(key)


def _toml_string(text: str) -> str:
    # JSON's escapes are valid in TOML; only control characters are escaped, so there are no surrogate pairs
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _toml_string(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml_key(key)} = {_toml_value(item)}' for key, item in value.items())}}}"
    raise TypeError(f"no TOML value: {value!r}")
