"""The usage examples of the package's schema: each is a program in YAML, translated. Python has its own.

The translation knows what the examples use: plain values, and outputs of resources above. The types of the
schema tell it the classes of Go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from scripts.arguments.messages import MissingDocumentationError
from scripts.reference import examples

FOLDER = examples.FOLDER / "package"
"""One program for each resource of the package."""

_OUTPUT = re.compile(r"\$\{(\w+)\.(\w+)\}")

Schema = Mapping[str, Any]


def section(resource: str, schema: Schema) -> str:
    """Return the examples of a resource in each language, and its import."""
    if not (path := FOLDER / f"{resource}.yaml").exists():
        raise MissingDocumentationError(f"{resource} has no example. Write it into {path}.")
    text = path.read_text(encoding="utf-8")
    title, _, program = text.removeprefix("# ").partition("\n")
    resources, imported = yaml.safe_load(program)["resources"], ""
    if match := re.search(r"^# (pulumi import .*)\n", program, re.MULTILINE):
        program, imported = program.replace(match[0], ""), f"\n\n## Import\n\n```sh\n{match[1]}\n```"
    shown = {
        "typescript": typescript(resources),
        "python": examples.of_resource(resource),
        "go": go(resources, schema),
        "yaml": program.strip("\n"),
    }
    blocks = "\n\n".join(f"```{language}\n{code}\n```" for language, code in shown.items())
    return (
        f"\n\n{{{{% examples %}}}}\n## Example Usage\n\n{{{{% example %}}}}\n### {title}\n\n{blocks}\n"
        f"{{{{% /example %}}}}\n{{{{% /examples %}}}}{imported}"
    )


def typescript(resources: Mapping[str, Any]) -> str:
    """Return the program in TypeScript."""
    lines = ['import * as vertex_training from "pulumi-vertex-training";', ""]
    for name, resource in resources.items():
        arguments = _in_typescript(resource.get("properties", {}))
        kept = f"const {name} = " if _is_used(name, resources) else ""
        lines.append(f'{kept}new vertex_training.{_class(resource)}("{name}", {arguments});')
    return "\n".join(lines)


def go(resources: Mapping[str, Any], schema: Schema) -> str:
    """Return the program in Go."""
    lines = [
        "package main",
        "",
        "import (",
        '\t"example.com/pulumi-vertex-training/sdk/go/vertextraining"',
        '\t"github.com/pulumi/pulumi/sdk/v3/go/pulumi"',
        ")",
        "",
        "func main() {",
        "\tpulumi.Run(func(ctx *pulumi.Context) error {",
    ]
    is_first = True
    for name, resource in resources.items():
        token = f"{schema['name']}:index:{_class(resource)}"
        properties = schema["resources"][token]["inputProperties"]
        fields = _go_fields(resource.get("properties", {}), properties, schema, 3)
        used = _is_used(name, resources)
        variable, equals = (name, ":=") if used else ("_", ":=" if is_first else "=")
        is_first = False
        arguments = f"&vertextraining.{_class(resource)}Args{{\n{fields}\t\t}}"
        lines += [
            f'\t\t{variable}, err {equals} vertextraining.New{_class(resource)}(ctx, "{name}", {arguments})',
            *("\t\tif err != nil {", "\t\t\treturn err", "\t\t}"),
        ]
    return "\n".join([*lines, "\t\treturn nil", "\t})", "}"])


def _class(resource: Mapping[str, Any]) -> str:
    return str(resource["type"]).rpartition(":")[2]


def _is_used(name: str, resources: Mapping[str, Any]) -> bool:
    return f"${{{name}." in json.dumps(resources)


def _in_typescript(value: Any, depth: int = 0) -> str:
    inner, outer = "    " * (depth + 1), "    " * depth
    if isinstance(value, Mapping):
        items = [f"{inner}{key}: {_in_typescript(one, depth + 1)},\n" for key, one in value.items()]
        return f"{{\n{''.join(items)}{outer}}}" if items else "{}"
    if isinstance(value, list):
        if all(not isinstance(one, (Mapping, list)) for one in value):
            return f"[{', '.join(map(_in_typescript, value))}]"
        items = [f"{inner}{_in_typescript(one, depth + 1)},\n" for one in value]
        return f"[\n{''.join(items)}{outer}]"
    if isinstance(value, str) and (match := _OUTPUT.fullmatch(value)):
        return f"{match[1]}.{match[2]}"
    return json.dumps(value)


def _go_fields(values: Mapping[str, Any], properties: Schema, schema: Schema, depth: int) -> str:
    lines = [
        f"{_tabs(depth)}{key[0].upper()}{key[1:]}: {_go_value(value, properties[key], schema, depth)},\n"
        for key, value in values.items()
    ]
    return "".join(lines)


_GO_SIMPLE = {"string": "String", "integer": "Int", "number": "Float64", "boolean": "Bool"}


def _go_value(value: Any, kind: Schema, schema: Schema, depth: int) -> str:
    if isinstance(value, str) and (match := _OUTPUT.fullmatch(value)):
        return f"{match[1]}.{match[2][0].upper()}{match[2][1:]}"
    kind = next((one for one in kind.get("oneOf", ()) if "$ref" not in one), kind)
    inner = _tabs(depth + 1)
    if kind.get("type") == "array":
        items = [f"{inner}{_go_value(one, kind['items'], schema, depth + 1)},\n" for one in value]
        return f"{_go_plural(kind['items'], 'Array')}{{\n{''.join(items)}{_tabs(depth)}}}"
    if "additionalProperties" in kind:
        free = kind["additionalProperties"]
        items = [
            f'{inner}"{key}": {_go_value(one, free, schema, depth + 1)},\n' for key, one in value.items()
        ]
        return f"{_go_plural(free, 'Map')}{{\n{''.join(items)}{_tabs(depth)}}}"
    if "$ref" in kind:
        token = kind["$ref"].removeprefix("#/types/")
        name, match = token.rpartition(":")[2], schema["types"][token]
        if "enum" in match:
            member = next(one["name"] for one in match["enum"] if one["value"] == value)
            return f"vertextraining.{name}{member}"
        fields = _go_fields(value, match["properties"], schema, depth + 1)
        return f"&vertextraining.{name}Args{{\n{fields}{_tabs(depth)}}}"
    return f"pulumi.{_GO_SIMPLE[kind['type']]}({json.dumps(value)})"


def _tabs(depth: int) -> str:
    return "\t" * depth


def _go_plural(kind: Schema, suffix: str) -> str:
    """Return the class of a list or a map of a type."""
    if "$ref" in kind:
        return f"vertextraining.{kind['$ref'].rpartition(':')[2]}{suffix}"
    return f"pulumi.{_GO_SIMPLE[kind['type']]}{suffix}"
