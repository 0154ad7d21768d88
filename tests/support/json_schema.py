"""The JSON Schema of what the commands print: the keys of a command, and whether a document is valid."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import check_jsonschema  # noqa: F401  (brings jsonschema)
import jsonschema

SCHEMA: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "reference" / "command.schema.json").read_text(encoding="utf-8")
)


def keys(command: str, below: str = "") -> set[str]:
    """Return the paths of all keys of a command, such as `replicas[].name`, or of those below a path."""
    found = SCHEMA["$defs"][command]
    while "properties" not in found:
        found = SCHEMA["$defs"][found["$ref"].removeprefix("#/$defs/").replace("%20", " ")]
    return {path for path in _paths(found) if path.startswith(below)}


def _paths(schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, below in schema.get("properties", {}).items():
        yield f"{prefix}{name}"
        yield from _paths(below, f"{prefix}{name}.")
        yield from _paths(below.get("items", {}), f"{prefix}{name}[].")


def check(command: str, document: object) -> None:
    """Compare a document with the schema of its command. Raises jsonschema.ValidationError."""
    _validator(command).validate(document)


@functools.cache
def _validator(command: str) -> jsonschema.Draft202012Validator:
    reference = f"#/$defs/{command}".replace(" ", "%20")
    return jsonschema.Draft202012Validator({"$ref": reference, "$defs": SCHEMA["$defs"]})
