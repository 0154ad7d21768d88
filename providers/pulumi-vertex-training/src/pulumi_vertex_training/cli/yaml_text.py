"""Read YAML as plain values by the core schema of YAML 1.2, in which `no` and dates are strings.

Keys are strings as they are written, and `<<: *name` merges as usual. Tags outside the core schema are
rejected. An alias counts as many values as the node that it refers to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from pulumi_vertex_training.cli.plain_values import (
    MAX_DEPTH,
    MAX_VALUES,
    TextError,
    given_twice,
    number,
    shown,
    too_deep,
    too_many,
)

_Value: TypeAlias = ScalarEvent | CollectionStartEvent
"""The first event of a value."""


class _Mark(Protocol):
    """A position in a text, counted from 0."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


_TAG = "tag:yaml.org,2002:"
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]{1,25}|0x[0-9a-fA-F]{1,20}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MERGE = "<<"


def read(text: str) -> Any:
    """Read a YAML text with one document, None for an empty one. Raises TextError."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(yaml.parse(text, Loader=loader)).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if (tab := _tab_before(text, mark)) is not None:
            raise tab from None
        said = ", ".join(part for part in (error.context, error.problem) if part)
        raise _at(mark, f"this is not YAML: {said}", syntax=True) from None
    except yaml.reader.ReaderError as error:
        raise _bad_character(text, error.character) from None
    except RecursionError:
        raise TextError(too_deep()) from None


@dataclass(frozen=True)
class _Node:
    """A value with the number of values in it, itself included, and its number of levels."""

    value: Any
    size: int
    height: int


class _Builder:
    """Builds the values of one document from the parser's events."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, _Node | None] = {}
        self._count = 0

    def document(self) -> Any:
        event = self._next()
        while not isinstance(event, DocumentStartEvent):
            if isinstance(event, StreamEndEvent):
                return None
            event = self._next()
        node = self._node(self._next(), 1)
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                raise _at(event.start_mark, "a second document begins here; write one job to a file")
        return node.value

    def _next(self) -> Any:
        return next(self._events)

    def _node(self, event: AliasEvent | _Value, depth: int) -> _Node:
        if isinstance(event, AliasEvent):
            node = self._alias(event)
        else:
            if event.anchor is not None:
                self._anchors[event.anchor] = None
            node = self._made(event, depth)
            if event.anchor is not None:
                self._anchors[event.anchor] = node
        if depth + node.height - 1 > MAX_DEPTH:
            raise _at(event.start_mark, too_deep())
        return node

    def _alias(self, event: AliasEvent) -> _Node:
        name = event.anchor
        if name not in self._anchors:
            raise _at(event.start_mark, f"*{name} has no anchor; write &{name} at an earlier value")
        node = self._anchors[name]
        if node is None:
            raise _at(event.start_mark, f"*{name} is inside &{name} itself; a job cannot contain itself")
        self._add(node.size, event, "with aliases expanded, ")
        return node

    def _made(self, event: _Value, depth: int) -> _Node:
        before = self._count
        self._add(1, event)
        if depth > MAX_DEPTH:
            raise _at(event.start_mark, too_deep())
        height = 1
        value: Any
        if isinstance(event, ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, SequenceStartEvent):
            _check_tag(event, "seq")
            nodes = list(self._items(depth))
            value = [node.value for node in nodes]
            height += max((node.height for node in nodes), default=0)
        else:
            _check_tag(event, "map")
            value, below = self._mapping(depth)
            height += below
        return _Node(value, self._count - before, height)

    def _items(self, depth: int) -> Iterator[_Node]:
        while not isinstance(event := self._next(), CollectionEndEvent):
            yield self._node(event, depth + 1)

    def _mapping(self, depth: int) -> tuple[dict[str, Any], int]:
        """Return the mapping and the number of levels in it."""
        given: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        height = 0
        while not isinstance(event := self._next(), CollectionEndEvent):
            key = self._key(event)
            value = self._next()
            node = self._node(value, depth + 1)
            height = max(height, node.height)
            merges = key == _MERGE and isinstance(event, ScalarEvent) and event.implicit[0]
            if key in given or (merges and merged):
                raise _at(event.start_mark, given_twice(key))
            if merges:
                merged = _merged(node.value, value)
            else:
                given[key] = node.value
        return {**merged, **given}, height

    def _key(self, event: AliasEvent | _Value) -> str:
        """Return a key as it is written: `2026: x` has the key "2026", as in JSON."""
        if isinstance(event, ScalarEvent):
            self._add(1, event)
            if event.anchor is not None:
                self._anchors[event.anchor] = _Node(event.value, 1, 1)
            _check_tag(event, "str")
            return event.value
        if isinstance(event, AliasEvent):
            node = self._alias(event)
            if isinstance(node.value, str):
                return node.value
        raise _at(event.start_mark, "a list or a mapping cannot be a key; write a word")

    def _add(self, count: int, event: NodeEvent, how: str = "") -> None:
        self._count += count
        if self._count > MAX_VALUES:
            raise _at(event.start_mark, how + too_many())


def _merged(value: object, event: NodeEvent) -> dict[str, Any]:
    """Return the keys that `<<` merges in. If several mappings have a key, the first one wins."""
    mappings = value if isinstance(value, list) else [value]
    merged: dict[str, Any] = {}
    for mapping in reversed(mappings):
        if not isinstance(mapping, dict):
            raise _at(event.start_mark, "<< merges mappings; give one, or a list of them")
        merged |= mapping
    return merged


def _scalar(event: ScalarEvent) -> Any:
    text = event.value
    if event.tag in ("!", f"{_TAG}str"):
        return text
    if event.tag is None and not event.implicit[0]:
        return text
    try:
        value = _resolved(text)
    except ValueError as error:
        raise _at(event.start_mark, str(error)) from None
    if event.tag is not None:
        kinds = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
        kind = kinds.get(str(event.tag).removeprefix(_TAG))
        if kind is None:
            raise _refused_tag(event)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # type: ignore[arg-type]
            raise _at(event.start_mark, f"{shown(text)} does not fit its tag {_tag_in_words(event)}")
    return value


def _resolved(text: str) -> Any:
    """Convert a plain scalar by the core schema. Raises ValueError for numbers that JSON cannot hold."""
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
        return number(text)
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a number in JSON; write a finite one, or put it in quotes")
    return text


def _check_tag(event: _Value, kind: str) -> None:
    if event.tag not in (None, "!", _TAG + kind):
        raise _refused_tag(event)


def _refused_tag(event: _Value) -> TextError:
    return _at(event.start_mark, f"the tag {_tag_in_words(event)} is not supported; leave it out")


def _tag_in_words(event: _Value) -> str:
    tag = str(event.tag)
    return shown("!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag)


def _at(mark: _Mark | None, message: str, *, syntax: bool = False) -> TextError:
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    return TextError(message, line=line, column=column, syntax=syntax)


def _tab_before(text: str, mark: _Mark | None) -> TextError | None:
    """Return a fault about the tab that the line is indented with, or None if there is no tab."""
    lines = text.split("\n")
    if mark is None or mark.line >= len(lines):
        return None
    line = lines[mark.line]
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    if "\t" not in indent:
        return None
    return TextError(
        "a tab; indent YAML with spaces", line=mark.line + 1, column=indent.index("\t") + 1, syntax=True
    )


def _bad_character(text: str, character: int) -> TextError:
    """Return a fault about a character that YAML does not allow, with its position.

    The reader counts in bytes or in characters, depending on its build, so its own position is not used.
    """
    before = text[: max(text.find(chr(character)), 0)]
    return TextError(
        f"this is not YAML: the character U+{character:04X} is not allowed in it",
        line=before.count("\n") + 1,
        column=len(before) - before.rfind("\n"),
        syntax=True,
    )
