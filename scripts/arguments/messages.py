"""Read the fields of the messages: name, type, default and documentation."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from vertex_training.fields.schema import field_types, without_none


class MissingDocumentationError(Exception):
    """A field or argument has no documentation."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a message.

    `key` is CLASS.FIELD with the class that declares it. The default of a required field is MISSING.
    """

    name: str
    key: str
    hint: Any
    default: object
    text: str
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def is_required(self) -> bool:
        return self.default is dataclasses.MISSING

    @property
    def message(self) -> type | None:
        """The message that the field holds, lists or maps names to."""
        inner = self.hint
        if get_origin(inner) is tuple:
            inner = get_args(inner)[0]
        elif get_origin(inner) in (Mapping, dict):
            inner = get_args(inner)[1]
        return inner if isinstance(inner, type) and dataclasses.is_dataclass(inner) else None


@functools.cache
def fields_of(message: type) -> Mapping[str, Field]:
    """Return the fields of a message by name.

    Raises MissingDocumentationError for a field without a docstring below it.
    """
    texts = {
        name: (f"{owner.__name__}.{name}", text)
        for owner in reversed(message.__mro__)
        if dataclasses.is_dataclass(owner)
        for name, text in _texts(owner)
    }
    hints = field_types(message)
    fields = {}
    for item in dataclasses.fields(message):
        if item.name not in texts:
            raise MissingDocumentationError(f"{message.__name__}.{item.name} has no docstring below it.")
        key, text = texts[item.name]
        default = item.default if item.default_factory is dataclasses.MISSING else item.default_factory()
        fields[item.name] = Field(
            name=item.name,
            key=key,
            hint=without_none(hints[item.name]),
            default=default,
            text=text,
            metadata=item.metadata,
        )
    return fields


def _texts(owner: type) -> Iterator[tuple[str, str]]:
    yield from attribute_docstrings(class_node(textwrap.dedent(inspect.getsource(owner)), owner.__name__))


def class_node(source: str, name: str) -> ast.ClassDef:
    """Return the class of that name in a source."""
    return next(
        node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name
    )


def attribute_docstrings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the annotated attributes of a class that have a docstring below them, with it in one line."""
    for item, after in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(item, ast.AnnAssign)
            and isinstance(item.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            yield item.target.id, " ".join(str(after.value.value).split())


def summary_of(message: type) -> str:
    """Return the first sentence of a message's docstring, or the part of a long one before its colon."""
    text = " ".join((inspect.getdoc(message) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=\.) (?=[A-Z`])", text)[0]
    return sentence if len(sentence) <= _LONGEST else re.split(r"[:;] ", sentence)[0] + "."


_LONGEST = 103
"""Longest summary that fits into the first line of a class's docstring."""


def messages_below(message: type) -> Iterator[type]:
    """Yield the messages in a message, each once, in the order of the fields."""
    seen = {message}

    def below(outer: type) -> Iterator[type]:
        for field in fields_of(outer).values():
            if field.message is not None and field.message not in seen:
                seen.add(field.message)
                yield field.message
                yield from below(field.message)

    yield from below(message)
