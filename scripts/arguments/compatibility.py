"""Compare the package's schema with that of the last release: programs that worked have to work.

`python -m scripts.arguments.compatibility` is part of `make check`. `make version` records the schema of the
new release in the file that it compares with.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("released_schema.json")
SCHEMA = (
    Path(__file__).resolve().parents[2]
    / "providers/pulumi-vertex-training/src/pulumi_vertex_training/package/schema.json"
)

Schema = Mapping[str, Any]
Record = dict[str, dict[str, str]]
"""The type of each property by the thing that has it; a required one ends with `!`."""


def record(schema: Schema) -> Record:
    """Return what programs depend on, without texts."""
    found: Record = {"provider": _properties(schema["provider"]["inputProperties"])}
    for token, resource in schema["resources"].items():
        name = _name(token)
        found[f"resource {name}, inputs"] = _properties(
            resource["inputProperties"], resource.get("requiredInputs", ())
        )
        found[f"resource {name}, outputs"] = _properties(resource["properties"], resource.get("required", ()))
    for token, function in schema.get("functions", {}).items():
        for key in ("inputs", "outputs"):
            part = function.get(key, {})
            found[f"function {_name(token)}, {key}"] = _properties(
                part.get("properties", {}), part.get("required", ())
            )
    for token, type_ in schema["types"].items():
        if "enum" in type_:
            found[f"enum {_name(token)}"] = {str(one["value"]): "value" for one in type_["enum"]}
        else:
            found[f"type {_name(token)}"] = _properties(type_["properties"], type_.get("required", ()))
    return found


def breaks(old: Record, new: Record) -> Iterator[str]:
    """Yield a sentence for each change by which a program could fail that works now."""
    for owner, properties in old.items():
        if owner not in new:
            yield f"{owner}: was removed."
            continue
        for name, was in properties.items():
            now = new[owner].get(name)
            if now is None:
                yield f"{owner}: {name} was removed."
            elif now.rstrip("!") != was.rstrip("!"):
                yield f"{owner}: {name} was {was.rstrip('!')}, and is {now.rstrip('!')}."
            elif now.endswith("!") and not was.endswith("!") and not owner.endswith(", outputs"):
                yield f"{owner}: {name} is required now."
            elif was.endswith("!") and not now.endswith("!") and not owner.endswith(", inputs"):
                yield f"{owner}: {name} is not always there any more."
        for name in new[owner].keys() - properties.keys():
            if new[owner][name].endswith("!") and not owner.endswith(", outputs"):
                yield f"{owner}: {name} is new, and required."


def written(schema: Schema) -> str:
    """Return the text of the file that records a release."""
    return json.dumps(record(schema), indent=0, ensure_ascii=False) + "\n"


def _properties(properties: Schema, required: Any = ()) -> dict[str, str]:
    return {name: f"{_kind(one)}{'!' if name in required else ''}" for name, one in properties.items()}


def _kind(found: Schema) -> str:
    if "oneOf" in found:
        return " or ".join(map(_kind, found["oneOf"]))
    if "$ref" in found:
        return _name(found["$ref"].removeprefix("#/types/"))
    if "items" in found:
        return f"list of {_kind(found['items'])}"
    if "additionalProperties" in found:
        return f"map of {_kind(found['additionalProperties'])}"
    return str(found["type"])


def _name(token: str) -> str:
    return token.rpartition(":")[2].rpartition("#/")[2]


def main() -> int:
    """Print the breaks, and return 1 if there is one. With `--accept`, record the present schema instead."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    if "--accept" in sys.argv:
        FILE.write_text(written(schema), encoding="utf-8")
        return 0
    broken = list(breaks(json.loads(FILE.read_text(encoding="utf-8")), record(schema)))
    for sentence in broken:
        sys.stderr.write(f"{sentence}\n")
    if broken:
        sys.stderr.write(
            "Programs that use the package would fail. Keep what was released. If a break is meant, run "
            "`python -m scripts.arguments.compatibility --accept`, and tell users in CHANGELOG.md.\n"
        )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
