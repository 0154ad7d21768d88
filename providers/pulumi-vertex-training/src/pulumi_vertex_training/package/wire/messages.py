"""The messages of the core in the spelling of the package: `workerPoolSpecs[1]`, `allowUnknownTypes: true`.

The core's messages have the names of programs in Python. Everything that this process says goes through
`in_package`, which knows the names of the schema. Values, commands, addresses and lines of logs stay.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pulumi_vertex_training.core.operation import OPERATION
from vertex_training.fields.schema import snake_case

SCHEMA = "schema.json"
_LOG = re.compile(r" {4}|\[[^\]\"]+\] ")
"""The beginning of a line of a log, in a message or on its own."""

_TOKENS = re.compile(
    r"""
    (?P<kept> `[^`]*\s[^`]*` | (?<!\w)'[^']*'(?!\w) | "[^"]*" | \w+://\S+ )
    | \b (?P<word> True | False | is\ None ) \b
    | (?<![\w./@$:-]) (?P<path> [a-z][a-z0-9_]* (?: \[\d+\] | \.[a-z][a-z0-9_]* )* ) (?![\w/-])
      (?P<assigned> = (?P<value> True | False | "[^"]*" | '[^']*' | \{[^{}]*\} | [\w./@-]*[\w/] )? )?
    """,
    re.VERBOSE,
)
_WORDS = {"True": "true", "False": "false", "is None": "is null"}


def schema_text() -> str:
    """Return the schema, as the engine gets it."""
    return (
        importlib.resources.files("pulumi_vertex_training.package")
        .joinpath(SCHEMA)
        .read_text(encoding="utf-8")
    )


def in_package(text: str) -> str:
    """Return a message with the names and the values as a program writes them that is not in Python."""
    if OPERATION.settings.form == "package":
        return text  # That is the form of a program in Python.
    lines = (line if _LOG.match(line) else _TOKENS.sub(_spelt, line) for line in text.split("\n"))
    return "\n".join(lines)


def _spelt(match: re.Match[str]) -> str:
    if match["kept"]:
        return match[0]
    if match["word"]:
        return _WORDS[match["word"]]
    parts, value = re.findall(r"\w+|\W+", match["path"]), match["value"]
    names, maps = known_names()
    # What follows a map is a key that the user chose.
    end = next(
        (at + 1 for at, part in enumerate(parts) if part in maps and parts[at + 1 :][:1] == ["."]), None
    )
    ours = parts[:end]
    if any(part not in names for part in ours if part[0].isalpha()):
        return match[0]
    name = "".join([*(names.get(part, part) for part in ours), *parts[len(ours) :]])
    if match["assigned"] is None:
        return name
    return f"{name}: {_value(value)}" if value else name


def _value(text: str) -> str:
    if text.startswith("{"):
        keys = re.sub(r"""['"](\w+)['"]:""", lambda key: f"{known_names()[0].get(key[1], key[1])}:", text)
        return re.sub(r"\b(True|False)\b", lambda word: word[0].lower(), keys)
    return _WORDS.get(text) or text.strip("'\"") or text


@functools.cache
def known_names() -> tuple[Mapping[str, str], frozenset[str]]:
    """Return the schema's names of all properties by the core's, and the maps with any keys."""
    found = list(_properties(json.loads(schema_text())))
    names = {snake_case(name): name for name, _ in found}
    return names, frozenset(snake_case(name) for name, shape in found if "additionalProperties" in shape)


def _properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for each in schema["types"].values():
        yield from each.get("properties", {}).items()
    for each in schema["resources"].values():
        yield from {**each["properties"], **each["inputProperties"]}.items()
    for each in schema["functions"].values():
        yield from each["inputs"]["properties"].items()
