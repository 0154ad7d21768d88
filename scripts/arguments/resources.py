"""Read the arguments of resources, and write the fields of messages into signatures and docstrings."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.arguments.catalog import PACKAGE, RESOURCES, Resource
from scripts.arguments.layout import formatted, with_parameters
from scripts.arguments.messages import (
    Field,
    MissingDocumentationError,
    attribute_docstrings,
    class_node,
    fields_of,
)
from scripts.arguments.types import in_resource, optional

_SHARED = ("project", "location", "opts", "allow_unknown_types", "allow_legacy_types")
"""Run options that resources without runs have, too."""

_NAME = "Name of the resource in the program."
_MORE = "Unsupported arguments; each one is rejected by name."


@dataclass(frozen=True, kw_only=True)
class Argument:
    """An argument of a resource: its type and default are Python source; `field` is None for its own."""

    name: str
    annotation: str
    default: str | None
    text: str
    field: Field | None = None

    @property
    def is_option(self) -> bool:
        """True for a run option, which is no part of the job."""
        return self.field is None and self.name in options()


@functools.cache
def options() -> Mapping[str, Argument]:
    """Return the run options by name."""
    node = class_node((PACKAGE / "program" / "arguments" / "run_options.py").read_text(), "RunOptions")
    texts = dict(attribute_docstrings(node))
    return {
        item.target.id: Argument(
            name=item.target.id,
            annotation=_source(item.annotation),
            default=_source(item.value) if item.value else None,
            text=texts[item.target.id],
        )
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def _source(node: ast.expr) -> str:
    return ast.unparse(node).replace("'", '"')


def arguments_of(name: str) -> list[Argument]:
    """Return the arguments of a resource class, in order, as they are to be."""
    resource = next(one for one in RESOURCES if one.name == name)
    return _arguments(resource, _constructor(resource.module.read_text(), name))


def modules() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each module with a resource."""
    for path in dict.fromkeys(resource.module for resource in RESOURCES):
        source = path.read_text()
        for resource in RESOURCES:
            if resource.module == path:
                source = written(resource, source)
        yield path, formatted(path, source)


def _constructor(source: str, name: str) -> ast.FunctionDef:
    return next(
        node
        for node in class_node(source, name).body
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )


def _arguments(resource: Resource, node: ast.FunctionDef) -> list[Argument]:
    fields: Mapping[str, Field] = {} if resource.spec is None else fields_of(resource.spec)
    shared = {name: option for name, option in options().items() if resource.runs or name in _SHARED}
    own = parameters_of(ast.get_docstring(node) or "")
    found: dict[str, Argument] = {}
    for item, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        default, name = _source(value) if value else None, item.arg
        if name in fields:
            found[name] = _of_field(fields[name], default)
        elif name in shared:
            found[name] = shared[name]
        elif name in own:
            annotation = _source(item.annotation or ast.Constant(None))
            found[name] = Argument(name=name, annotation=annotation, default=default, text=own[name])
        else:
            raise MissingDocumentationError(f"{resource.name}: {name} has no `:param` line in `__init__`.")
    known = list(found.values())
    new = [_of_field(fields[name], "None") for name in fields if name not in found]
    last = max((i for i, one in enumerate(known, 1) if one.field is not None), default=0)
    known[last:last] = new
    if resource.runs:
        at = next(i for i, one in enumerate(known) if one.name == "project")
        known[at:at] = [one for name, one in shared.items() if name not in found]
    return known


def _of_field(field: Field, default: str | None) -> Argument:
    annotation = optional(in_resource(field), field) if default == "None" else in_resource(field)
    return Argument(name=field.name, annotation=annotation, default=default, text=field.text, field=field)


def parameters_of(docstring: str) -> dict[str, str]:
    """Return the `:param` entries of a docstring, each in one line."""
    entries = re.split(r"^:param ", inspect.cleandoc(docstring), flags=re.MULTILINE)[1:]
    pairs = (entry.split(":", 1) for entry in entries)
    return {name: " ".join(text.split()) for name, text in pairs}


def written(resource: Resource, source: str) -> str:
    """Return the source of a resource's module with its arguments as they are to be, not yet formatted."""
    node = _constructor(source, resource.name)
    lines = source.split("\n")
    arguments = _arguments(resource, node)
    for start, end, new in sorted(_body(node, arguments), reverse=True):
        lines[start:end] = new
    docstring = node.body[0]
    prose = re.split(r"^:param ", ast.get_docstring(node) or "", flags=re.MULTILINE)[0].strip()
    texts = {"resource_name": _NAME, **{one.name: one.text for one in arguments}}
    if node.args.kwarg is not None:
        rest = node.args.kwarg.arg
        texts[rest] = _MORE if rest == "more" else parameters_of(ast.get_docstring(node) or "")[rest]
    lines[docstring.lineno - 1 : docstring.end_lineno] = with_parameters(prose, texts, indent=8).split("\n")
    first, last = node.args.kwonlyargs[0].lineno, _end(node)
    remarks = {item.arg: lines[item.lineno - 1].partition("#")[2] for item in node.args.kwonlyargs}
    lines[first - 1 : last] = [
        f"        {one.name}: {one.annotation}{'' if one.default is None else f' = {one.default}'},"
        + (f"  #{remarks[one.name]}" if remarks.get(one.name) else "")
        for one in arguments
    ]
    return "\n".join(lines)


def _end(node: ast.FunctionDef) -> int:
    """Return the last line of the keyword-only arguments."""
    item, value = node.args.kwonlyargs[-1], node.args.kw_defaults[-1]
    return (value or item).end_lineno or item.lineno


def _body(node: ast.FunctionDef, arguments: list[Argument]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the changes that pass every run option and new field on, as spans of lines with their text."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "RunOptions":
            passed = [f"{one.name}={one.name}," for one in arguments if one.name in options()]
            yield call.lineno, (call.end_lineno or call.lineno) - 1, passed
    fields = [one.name for one in arguments if one.field is not None]
    if fields:
        used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        keys = max((_keys(each, fields) for each in ast.walk(node) if isinstance(each, ast.Dict)), key=len)
        last = max(key.end_lineno or key.lineno for key in keys)
        yield last, last, [f'"{name}": {name},' for name in fields if name not in used]


def _keys(node: ast.Dict, names: list[str]) -> list[ast.expr]:
    """Return the values of the entries of a dictionary that have one of the names."""
    return [
        value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value in names
    ]
