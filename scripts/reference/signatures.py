"""Functions and classes as entries of a page: signature, documentation, parameters."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, is_typeddict

from scripts.arguments.messages import MissingDocumentationError, attribute_docstrings, class_node
from scripts.arguments.resources import parameters_of
from scripts.reference.markdown import code, items, linked, prose, value_entry

_WIDTH = 100
_SHORT = 45
"""Words of a documentation that is an item of a list."""
_NAME_ENOUGH = 5
"""Words of a documentation that repeats the name of its function."""


def function(page: Path, name: str, value: Callable[..., Any]) -> Iterator[str]:
    """Yield the parts of the entry of a function. Raises MissingDocumentationError."""
    plain = inspect.unwrap(value)
    text = inspect.getdoc(plain)
    if not text:
        raise MissingDocumentationError(f"{plain.__module__}.{name} has no docstring.")
    yield code(_signature(name, plain), "python")
    yield from _documentation(page, text)


def _documentation(page: Path, text: str) -> Iterator[str]:
    """Yield a docstring, with a list of its parameters."""
    words = text.split("\n:param ", 1)[0].strip()
    yield linked(page, prose(words))
    parameters = parameters_of(text)
    if parameters:
        yield items(page, [(f"`{key}`", "", meaning) for key, meaning in parameters.items()]).rstrip("\n")


def a_class(
    page: Path,
    name: str,
    value: type,
    *,
    level: int,
    described: Collection[str] = (),
    known: Collection[str] = (),
    elsewhere: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield the parts of the entry of a class: documentation, attributes and methods.

    Methods that are inherited from a class with an entry of its own, in `described`, are in that entry.
    A method with short documentation is an item of a list, any other has a heading. Of methods
    that the reader knows from another entry, in `known`, only the signature is written. `elsewhere` has the
    names of bases whose attributes are on another page, with a link to it.
    Raises MissingDocumentationError.
    """
    text = inspect.cleandoc(ast.get_docstring(_source_of(value)) or f"{name}.")
    words, texts = text.split("\n:param ", 1)[0].strip(), parameters_of(text)
    yield linked(page, prose(words))
    rows: dict[str, tuple[str, str, str]] = {}
    linked_bases = {
        base: link for base in _own_bases(value) if (link := (elsewhere or {}).get(base.__name__))
    }
    described_there = {key for base in linked_bases for key, *_ in _attributes(base)}
    for link in linked_bases.values():
        yield f"It has the {link}."
    for base in reversed([each for each in _own_bases(value) if each not in linked_bases]):
        for key, kind, default, meaning in _attributes(base):
            if key in described_there:
                continue
            inherited = rows[key][2] if key in rows else ""
            rows[key] = (kind, default, meaning or texts.get(key, "") or inherited)
    if missing := [key for key, row in rows.items() if not row[2]]:
        raise MissingDocumentationError(f"{value.__name__}: {', '.join(missing)}: no docstring below.")
    if rows:
        listed = [
            value_entry(key, kind, default, "", meaning) for key, (kind, default, meaning) in rows.items()
        ]
        yield items(page, listed).rstrip("\n")
    bases = [base for base in _own_bases(value)[1:] if base.__name__ in described]
    if bases:
        links = ", ".join(f"[{base.__name__}](#{base.__name__.lower()})" for base in bases)
        yield f"It has the methods of {links}."
    methods = list(_methods(value, bases))
    short = {key: method for key, method in methods if is_short(method)}
    yield from short_functions(page, {key: each for key, each in short.items() if key not in known})
    if same := {key: each for key, each in short.items() if key in known}:
        yield "These do the same as the methods of `VertexEmulator`, or return what those set:"
        yield signatures(same)
    for key, method in methods:
        if key not in short:
            yield f"{'#' * level} {name}.{key}"
            yield from function(page, key, method)


def is_short(value: Callable[..., Any]) -> bool:
    """Return whether the documentation of a function fits into an item of a list."""
    text = inspect.getdoc(inspect.unwrap(value)) or ""
    return bool(text) and not (
        ":param" in text or "\n\n    " in text or "\n* " in text or len(text.split()) > _SHORT
    )


def short_functions(page: Path, named: Mapping[str, Callable[..., Any]]) -> Iterator[str]:
    """Yield the signatures of functions as one block, and what they do, unless the name says it."""
    if named:
        yield signatures(named)
        texts = {name: inspect.getdoc(inspect.unwrap(value)) or "" for name, value in named.items()}
        says_more = {name: text for name, text in texts.items() if len(text.split()) > _NAME_ENOUGH}
        if says_more:
            yield items(page, [(f"`{name}`", "", text) for name, text in says_more.items()]).rstrip("\n")


def signatures(named: Mapping[str, Callable[..., Any]]) -> str:
    """Return a block of code with the signatures of functions."""
    return code("\n".join(_signature(name, inspect.unwrap(value)) for name, value in named.items()), "python")


def fields(value: type) -> str:
    """Return a block of code with the fields of a class and their types."""
    return code("\n".join(f"{key}: {kind.strip('`')}" for key, kind, _, _ in _attributes(value)), "python")


def aliases(module: ModuleType, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the type aliases of a module, with what each stands for."""
    tree = ast.parse(inspect.getsource(module))
    by_name = {
        ast.unparse(item.targets[0]): _source(item.value)
        for item in tree.body
        if isinstance(item, ast.Assign)
    }
    for name in names:
        yield name, by_name[name]


def _own_bases(value: type) -> list[type]:
    top = value.__module__.partition(".")[0]
    return [base for base in value.__mro__ if base.__module__.partition(".")[0] == top]


def _attributes(value: type) -> Iterator[tuple[str, str, str, str]]:
    """Yield the fields and the properties that a class declares itself: name, type, default, meaning."""
    node = _source_of(value)
    texts = dict(attribute_docstrings(node))
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            name = item.target.id
            is_field = dataclasses.is_dataclass(value) or is_typeddict(value)
            if not name.startswith("_") and (is_field or name in texts):
                yield name, f"`{_source(item.annotation)}`", _default(item.value), texts.get(name, "")
        elif isinstance(item, ast.FunctionDef) and is_public_property(item):
            meaning = " ".join((ast.get_docstring(item) or "").split())
            yield item.name, f"`{_source(item.returns)}`" if item.returns else "", "", meaning


def is_public_property(item: ast.FunctionDef) -> bool:
    marks = [ast.unparse(each) for each in item.decorator_list]
    return not item.name.startswith("_") and any(mark.endswith("property") for mark in marks)


def _default(value: ast.expr | None) -> str:
    """Return a default, "" for None, for an empty value and without one."""
    if value is None or ast.unparse(value) in ("None", "()", "''") or isinstance(value, ast.Call):
        return ""
    return f"`{_source(value)}`"


def _source(node: ast.expr) -> str:
    return ast.unparse(node).replace("'", '"')


def _methods(value: type, described: Collection[type]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of a class, except those that have the documentation of a described base."""
    inherited = {key: inspect.getdoc(method) for base in described for key, method in vars(base).items()}
    for base in reversed([each for each in _own_bases(value) if each not in described]):
        for key, method in vars(base).items():
            plain = method.__func__ if isinstance(method, (classmethod, staticmethod)) else method
            same = key in inherited and inspect.getdoc(plain) in (None, inherited[key])
            if inspect.isfunction(plain) and not key.startswith("_") and not same:
                yield key, plain


@functools.cache
def _module(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _source_of(value: type) -> ast.ClassDef:
    path = inspect.getsourcefile(value)
    if path is None:
        raise MissingDocumentationError(f"{value.__module__}.{value.__name__} has no source.")
    return class_node(_module(path), value.__name__)


def _signature(name: str, value: Callable[..., Any]) -> str:
    """Return the signature as it is written in the source, in lines of the usual width."""
    node = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise MissingDocumentationError(f"{name} is no function.")
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    without_self = [each for each in positional if each.arg not in ("self", "cls")]
    defaults = dict(
        zip(reversed([each.arg for each in positional]), reversed(arguments.defaults), strict=False)
    )
    parts = [_parameter(each, defaults.get(each.arg)) for each in without_self]
    if arguments.vararg is not None:
        parts.append(f"*{_parameter(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [
        _parameter(each, default)
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        parts.append(f"**{_parameter(arguments.kwarg, None)}")
    returned = _source(node.returns) if node.returns is not None else "None"
    end = f") -> {returned}" if returned != "None" else ")"
    line = f"{name}({', '.join(parts)}{end}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), end])


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    typed = f": {_source(argument.annotation)}" if argument.annotation is not None else ""
    if default is None:
        return f"{argument.arg}{typed}"
    return f"{argument.arg}{typed}{' = ' if typed else '='}{_source(default)}"
