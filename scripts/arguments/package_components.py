"""The components in the package's schema, made of its resources and of the classes for Python."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pulumi_vertex_training as vt
from pulumi_vertex_training import registry
from pulumi_vertex_training.program.construction import Component
from scripts.arguments.messages import attribute_docstrings, class_node
from scripts.arguments.package_text import in_package, with_default
from scripts.arguments.package_types import Types
from vertex_training.fields.schema import camel_case, default_of, field_types
from vertex_training.topology.pools import WorkerPoolSpec

Schema = dict[str, Any]
Documented = Callable[[str], str]
Parameter = Callable[[object, str, str], str]

_TASKS = ("containerSpec", "pythonPackageSpec")
"""The parts of a pool in which a component fills in what is missing."""
_POOL = "TrainingPool"


def component_of(name: str) -> Component:
    component: Component = importlib.import_module(registry.COMPONENTS[name]).COMPONENT
    return component


def add(document: Schema, types: Types, parameter: Parameter, texts: Mapping[str, str]) -> None:
    """Add the components to a schema that has the resources.

    `parameter` reads the text of a parameter; `texts` are those of outputs that resources have.
    """
    resources = document["resources"]
    for name in registry.COMPONENTS:
        component, made = component_of(name), getattr(vt, name)

        def text_of(argument: str, made: Any = made, name: str = name) -> str:
            return _spelt(parameter(made.__init__, argument, name), f"{name}.{argument}")

        for hint in component.hints.values():
            if dataclasses.is_dataclass(hint) and hint is not WorkerPoolSpec:
                _settings(hint, types, parameter)
        inputs = dict(_inputs(component, resources, types, text_of))
        outputs = {
            camel_case(output): {
                **types.of_hint(hint, "", ""),
                "description": _spelt(_output(made, output) or texts[output], f"{name}.{output}"),
            }
            for output, hint in component.outputs.items()
        }
        resources[registry.package_token(name)] = {
            "description": _spelt(" ".join((made.__doc__ or "").split())),
            "isComponent": True,
            "inputProperties": inputs,
            "requiredInputs": [camel_case(each) for each in component.required],
            "properties": outputs,
            "required": sorted(camel_case(each) for each in component.always),
        }


def _spelt(text: str, key: str = "") -> str:
    """Return a text with the words of the wire: the classes of components speak of dictionaries and flags."""
    spelt = in_package(text, key).replace("dictionary", "object").replace("A object", "An object")
    spelt = re.sub(r"\b(True|False)\b", lambda word: f"`{word[0].lower()}`", spelt)
    spelt = re.sub(r"`([a-z]+_[a-z_]+)`", lambda name: f"`{camel_case(name[1])}`", spelt)
    return re.sub(r'`(\w+)="(\w+)"`', r"`\1: \2`", spelt)


def _output(made: type, name: str) -> str:
    """Return the documentation of an output in the class for Python, "" without one."""
    if isinstance(value := getattr(made, name, None), property):
        return inspect.getdoc(value) or ""
    nodes = (
        class_node(textwrap.dedent(inspect.getsource(owner)), owner.__name__)
        for owner in made.__mro__
        if owner.__module__.startswith(vt.__name__)
    )
    texts = {key: text for node in nodes for key, text in attribute_docstrings(node)}
    return texts.get(name, "")


def _inputs(
    component: Component, resources: Mapping[str, Schema], types: Types, text_of: Documented
) -> Iterator[tuple[str, Schema]]:
    for argument, hint in component.hints.items():
        found = _pool(types) if hint is WorkerPoolSpec else types.of_hint(hint, "", "")
        yield camel_case(argument), _or(found, argument, component, text_of)
    for argument, kind in component.parts.items():
        reference = {
            "$ref": f"#/types/{_part_arguments(kind, resources, types, component.needed.get(argument, ()))}"
        }
        yield camel_case(argument), _or(reference, argument, component, text_of)
    if component.passed_on:
        taken = {*component.hints, *component.parts, *component.left_out}
        own = resources[registry.package_token(component.passed_on)]["inputProperties"]
        for name, schema in own.items():
            if name not in map(camel_case, taken):
                yield name, {key: value for key, value in schema.items() if key != "willReplaceOnChanges"}


def _or(found: Schema, argument: str, component: Component, text_of: Documented) -> Schema:
    """Return an argument with its text, which may be an existing resource, named by a string, or a flag."""
    simple: list[Schema] = [{"type": each} for each in component.otherwise.get(argument, ())]
    if argument in component.lists:
        simple.append({"type": "array", "items": {"type": "string"}})
    return {**({"oneOf": [found, *simple]} if simple else found), "description": text_of(argument)}


def _settings(settings: Any, types: Types, parameter: Parameter) -> None:
    """Add the type of settings that are documented as the parameters of their class."""
    name, hints = settings.__name__, field_types(settings)
    fields = {item.name: default_of(item) for item in dataclasses.fields(settings)}
    properties = {}
    for field, default in fields.items():
        text = with_default(_spelt(parameter(settings, field, name), f"{name}.{field}"), default)
        properties[camel_case(field)] = {**types.of_hint(hints[field], "", ""), "description": text}
    types.found[registry.package_token(settings.__name__)] = {
        "type": "object",
        "description": _spelt(" ".join((inspect.getdoc(settings) or "").split(":param")[0].split())),
        "properties": properties,
        "required": [camel_case(key) for key, default in fields.items() if default is dataclasses.MISSING],
    }


def _pool(types: Types) -> Schema:
    """Return the type of a pool, whose task may lack what the component fills in."""
    reference: str = types.of_hint(WorkerPoolSpec, "", "")["$ref"]
    token = registry.package_token(_POOL)
    if token not in types.found:
        pool = types.found[reference.removeprefix("#/types/")]
        tasks = {}
        for name in _TASKS:
            task, its = pool["properties"][name], f"{token}{name[0].upper()}{name[1:]}"
            types.found[its] = {**types.found[task["$ref"].removeprefix("#/types/")], "required": []}
            tasks[name] = {**task, "$ref": f"#/types/{its}"}
        types.found[token] = {**pool, "properties": {**pool["properties"], **tasks}}
    return {"$ref": f"#/types/{token}"}


def _part_arguments(kind: str, resources: Mapping[str, Schema], types: Types, needed: tuple[str, ...]) -> str:
    """Return the type of the arguments of a resource that a component makes."""
    token = registry.package_token(f"{kind}Part")
    resource = resources[registry.package_token(kind)]
    types.found[token] = {
        "type": "object",
        "description": f"Arguments of a `{kind}` that a component makes.",
        "properties": {
            name: {key: value for key, value in schema.items() if key != "willReplaceOnChanges"}
            for name, schema in resource["inputProperties"].items()
        },
        "required": [camel_case(each) for each in needed],
    }
    return token
