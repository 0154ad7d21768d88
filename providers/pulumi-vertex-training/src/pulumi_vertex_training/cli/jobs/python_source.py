"""Write Python source of nested calls, lists and dictionaries in the layout of `ruff format`.

An expression that does not fit on a line has one item a line and a trailing comma, so formatters with any
line length from `WIDTH` keep it. Strings are always quoted safely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

WIDTH = 88
"""The default line length of formatters."""

_TOO_WIDE = 120
"""Columns above which a multi-line string is split by lines. Formatters join shorter ones again."""

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class Source:
    """An expression to write as it is."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call, `function(positional, keyword=...)`."""

    function: str
    positional: tuple[Node, ...] = ()
    keywords: Mapping[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Commented:
    """An item of a list with comment lines above it."""

    remarks: tuple[str, ...]
    node: Node


Node = Source | Call | Commented | str | int | float | bool | list["Node"] | dict[str, "Node"]
"""A string is written in quotes; use `Source` for other expressions."""


def write(node: Node) -> str:
    """Return the source, without a newline at its end."""
    return _written(node, indent=0, before=0)


def remark(text: str) -> str:
    """Return a text as a comment of one line, whatever characters it has."""
    return f"# {''.join(map(_shown, text))}".rstrip()


def quoted(text: str) -> str:
    """Return a string literal, in double quotes unless single ones need fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(_escaped(character, quote) for character in text) + quote


def _written(node: Node, *, indent: int, before: int) -> str:
    """Write a node on lines indented by `indent`; the first line already has `before` characters."""
    flat = _flat(node)
    if flat is not None and flat.isascii() and indent + before + len(flat) < WIDTH:
        return flat
    inner = indent + 4
    if isinstance(node, Commented):
        lines = [*map(remark, node.remarks), _written(node.node, indent=indent, before=0)]
        return f"\n{' ' * indent}".join(lines)
    if isinstance(node, list) and node:
        return _block("[", [_written(item, indent=inner, before=0) for item in node], "]", indent)
    if isinstance(node, dict) and node:
        items = [
            f"{quoted(key)}: {_written(item, indent=inner, before=len(quoted(key)) + 2)}"
            for key, item in node.items()
        ]
        return _block("{", items, "}", indent)
    if isinstance(node, Call):
        items = [_written(item, indent=inner, before=0) for item in node.positional]
        items += [
            f"{name}={_written(item, indent=inner, before=len(name) + 1)}"
            for name, item in node.keywords.items()
        ]
        return _block(f"{node.function}(", items, ")", indent)
    if isinstance(node, str) and "\n" in node[:-1] and indent + before + len(quoted(node)) > _TOO_WIDE:
        # It is usually a program, so write each of its lines on a line.
        lines = [" " * inner + quoted(line) for line in node.splitlines(keepends=True)]
        return "\n".join(["(", *lines, " " * indent + ")"])
    return _atom(node)


def _block(opening: str, items: list[str], closing: str, indent: int) -> str:
    lines = "".join(f"{' ' * (indent + 4)}{item},\n" for item in items)
    return f"{opening}\n{lines}{' ' * indent}{closing}"


def _flat(node: Node) -> str | None:
    """Return the node on one line, or None if it contains a comment."""
    if isinstance(node, Commented):
        return None
    if isinstance(node, list):
        items = [_flat(item) for item in node]
        return None if None in items else f"[{', '.join(filter(None, items))}]"
    if isinstance(node, dict):
        pairs = {key: _flat(item) for key, item in node.items()}
        if None in pairs.values():
            return None
        return f"{{{', '.join(f'{quoted(key)}: {item}' for key, item in pairs.items())}}}"
    if isinstance(node, Call):
        texts = [
            *map(_flat, node.positional),
            *(
                None if (item := _flat(value)) is None else f"{name}={item}"
                for name, value in node.keywords.items()
            ),
        ]
        return None if None in texts else f"{node.function}({', '.join(filter(None, texts))})"
    return _atom(node)


def _atom(node: Node) -> str:
    if isinstance(node, Source):
        return node.text
    return quoted(node) if isinstance(node, str) else repr(node)


def _escaped(character: str, quote: str) -> str:
    if character == quote:
        return f"\\{character}"
    return _shown(character) if character not in _ESCAPES else _ESCAPES[character]


def _shown(character: str) -> str:
    """Return the character, or its escape if it is not printable."""
    if character.isprintable():
        return character
    return _ESCAPES.get(character) or character.encode("unicode_escape").decode()
