"""Write the schema of the Pulumi package, from the messages and the docstrings of their fields.

The plugin sends the file as it is; the SDKs of all languages are made of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pulumi_vertex_training as vt
from pulumi_vertex_training import configuration_keys
from pulumi_vertex_training.core.get_functions import Lookup
from pulumi_vertex_training.core.running.declaration import JobInputs
from pulumi_vertex_training.package import functions
from pulumi_vertex_training.package.kinds import PACKAGE, PackageKind, kind_of
from pulumi_vertex_training.package.wire.messages import SCHEMA
from pulumi_vertex_training.registry import COMPONENTS, RESOURCES, package_token
from scripts.arguments import catalog, package_components, package_examples
from scripts.arguments.messages import Field, fields_of
from scripts.arguments.package_text import in_package, with_default
from scripts.arguments.package_types import Types, pascal_case
from vertex_training import __version__
from vertex_training.fields.effects import Effect
from vertex_training.fields.schema import camel_case, default_of, field_types, snake_case, without_none

FILE = catalog.PACKAGE / "package" / SCHEMA

_FILLED_IN = frozenset(
    {"name", "location", "project", "display_name", "prefix"}
    | {"repository_id", "persistent_resource_id", "schedule_id"}
)
"""Inputs that the provider fills in, although the messages need them."""

_OUTPUTS: Mapping[str, str] = {
    "name": "Full name.",
    "job_id": "Id of the job, the last part of its name.",
    "state": "State after the wait, such as `SUCCEEDED` or `RUNNING`.",
    "create_time": "Time when the job was created (RFC 3339).",
    "start_time": "Time when the job started to run (RFC 3339).",
    "end_time": "Time when the job ended (RFC 3339).",
    "error": "Error message of the service.",
    "base_output_directory": "The gs:// directory that the run writes to.",
    "url": "Address of the bucket or the repository.",
    "registry_host": "Host of the registry.",
    "uri": "The gs:// URI. Known in a preview.",
    "path": "Path in a replica, below /gcs.",
    "object_name": "Name of the object in the bucket.",
    "sha256": "SHA-256 of the content, in hex digits.",
    "size": "Size in bytes.",
    "content_type": "Type of the content.",
    "python_module": "Module to run in the package.",
    "count": "Number of files.",
    "digest": "Digest of the image's manifest, `sha256:...`.",
    "content_hash": "Hash of the content that the image is built from.",
    "base_images": "Names of the base images.",
    "base_digests": "Digest of each base image at build time.",
    "tag_uris": "Names of the image with its tags.",
    "sent_bytes": "Bytes that the push sent.",
    "drift": "Differences that a refresh found and that no deployment changes back.",
    "version_id": "Number of the version.",
    "model_directory": "The gs:// directory of the model, known when the job has succeeded.",
    "metrics": "Contents of metrics.json in that directory, {} without the file.",
    "best_trial": "Best trial of a tuning job that has ended.",
    "model": "Full name of the model that a pipeline has uploaded.",
    "model_version": "Number of the uploaded version.",
    "update_time": "Time of the last update (RFC 3339).",
    "lineage": "Contents of lineage.json, the image, data and commit of the run that wrote the files.",
    "request": "Request that submits a run, in the API's JSON.",
}
_OTHER_HINTS: Mapping[str, Any] = {
    **dict.fromkeys(("size", "count", "sent_bytes"), int),
    **dict.fromkeys(("base_images", "tag_uris", "drift"), tuple[str, ...]),
    "base_digests": Mapping[str, str],
    **dict.fromkeys(("request", "metrics", "best_trial", "lineage"), Any),
}
"""Types of the outputs that are no text."""
_SOMETIMES = frozenset(
    {"start_time", "end_time", "error", "base_output_directory"}
    | {"model_directory", "metrics", "best_trial", "model", "model_version", "lineage"}
)
"""Outputs that not each resource has."""

LANGUAGES = {
    "nodejs": {"packageName": "pulumi-vertex-training", "respectSchemaVersion": True},
    # `pulumi_vertex_training` is the package for programs in Python.
    "python": {
        "packageName": "pulumi_vertex_training_sdk",
        "respectSchemaVersion": True,
        "pyproject": {"enabled": True},
    },
    "go": {
        "importBasePath": "example.com/pulumi-vertex-training/sdk/go/vertextraining",
        "respectSchemaVersion": True,
        "generateResourceContainerTypes": True,
    },
    "csharp": {
        "rootNamespace": "Community.Pulumi",
        "namespaces": {PACKAGE: "VertexTraining"},
        "respectSchemaVersion": True,
    },
}
"""Names of the SDKs, which nobody publishes: each program generates its own."""

_PROVIDER_KEYS = (
    configuration_keys.ENDPOINT,
    configuration_keys.PROJECT,
    configuration_keys.LOCATION,
    configuration_keys.DATA_DIR,
    configuration_keys.LOOKUP_TIMEOUT,
)


def modules() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the schema."""
    yield FILE, json.dumps(_schema(), indent=1, ensure_ascii=False) + "\n"


def _schema() -> dict[str, Any]:
    kinds = [kind_of(f"{PACKAGE}:index:{name}") for name in RESOURCES]
    types = Types()
    resources = {kind.token: _resource(kind, types) for kind in kinds}
    lookups = {name: functions.lookup_of(functions.token_of(name)) for name in functions.RESOURCES}
    found = {functions.token_of(name): _function(name, lookup, types) for name, lookup in lookups.items()}
    settings = {
        (name := key.name.partition(":")[2]): {
            "type": "string",
            "description": in_package(f"{key.effect} Default: {key.default}.", name),
        }
        for key in _PROVIDER_KEYS
    }
    document = {
        "name": PACKAGE,
        "displayName": "Vertex AI training",
        "version": __version__,
        "description": "Distributed training jobs on Vertex AI, with a local emulator.",
        "keywords": ["pulumi", "vertex-ai", "distributed-training", "category/cloud", "kind/native"],
        "license": "Apache-2.0",
        "language": LANGUAGES,
        "config": {"variables": settings},
        "provider": {
            "description": "Where the resources are: on the emulator or on Google Cloud.",
            "inputProperties": settings,
        },
        "types": types.found,
        "resources": resources,
        "functions": found,
    }
    package_components.add(document, types, _parameter, _OUTPUTS)
    for name in (*RESOURCES, *COMPONENTS):
        resources[package_token(name)]["description"] += package_examples.section(name, document)
    return {**document, "types": dict(sorted(types.found.items()))}


def _catalogued(kind: PackageKind) -> catalog.Resource:
    return next(each for each in catalog.RESOURCES if each.name == kind.resource)


def _fields(kind: PackageKind) -> Mapping[str, Field]:
    spec = _catalogued(kind).spec
    return fields_of(spec) if spec else {}


def _resource(kind: PackageKind, types: Types) -> dict[str, Any]:
    inputs = {camel_case(name): found for name, found in _inputs(kind, types)}
    outputs = {
        camel_case(name): {
            **types.of_hint(_OTHER_HINTS.get(name, str), pascal_case(name), _OUTPUTS[name]),
            "description": _OUTPUTS[name],
        }
        for name in kind.outputs
    }
    required = _required(kind)
    filled_in = [name for name in kind.public_names if name in _FILLED_IN]
    present = [*required, *filled_in, *(name for name in kind.outputs if name not in _SOMETIMES)]
    return {
        "description": _documentation(getattr(vt, kind.resource)),
        "inputProperties": inputs,
        "requiredInputs": [camel_case(name) for name in required],
        "properties": {**inputs, **outputs},
        "required": sorted({camel_case(name) for name in present}),
    }


def _function(resource: str, lookup: Lookup[Any, Any], types: Types) -> dict[str, Any]:
    """Return a function, with the documentation of the one that programs in Python call."""
    function = getattr(vt, f"get_{snake_case(resource[0].lower() + resource[1:])}")
    arguments: type = lookup.arguments
    result: type = lookup.result
    inputs = {}
    for item in dataclasses.fields(lookup.arguments):
        owner = arguments.__name__
        text = in_package(_parameter(function, item.name, owner), f"{owner}.{item.name}")
        hint = without_none(field_types(arguments)[item.name])
        enum = f"{owner}{pascal_case(item.name)}"
        inputs[item.name] = {**types.of_hint(hint, enum, text), "description": text}
    needed = [
        item.name for item in dataclasses.fields(lookup.arguments) if default_of(item) is dataclasses.MISSING
    ]
    return {
        "description": _documentation(function),
        "inputs": {
            "type": "object",
            "properties": {camel_case(name): one for name, one in inputs.items()},
            "required": [camel_case(name) for name in needed],
        },
        "outputs": {
            "type": "object",
            "properties": {
                camel_case(name): types.of_field(field, result.__name__)
                for name, field in fields_of(result).items()
            },
            "required": [
                camel_case(name) for name, hint in field_types(result).items() if hint == without_none(hint)
            ],
        },
    }


def _required(kind: PackageKind) -> list[str]:
    """Return the inputs that a program has to give."""
    wanted = kind.public_names - _FILLED_IN
    needed = [item for item in dataclasses.fields(kind.inputs) if default_of(item) is dataclasses.MISSING]
    return [item.name for item in needed if item.name in wanted]


def _documentation(documented: object) -> str:
    text = (inspect.getdoc(documented) or "").split("\n\n:param")[0]
    paragraphs = [in_package(" ".join(paragraph.split())) for paragraph in text.split("\n\n")]
    return "\n\n".join(filter(None, paragraphs))


def _inputs(kind: PackageKind, types: Types) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the inputs that a program may give, those of the message first."""
    fields, effects = _fields(kind), _catalogued(kind).effects
    for name in [*fields, *sorted(kind.public_names - set(fields))]:
        found = types.of_field(fields[name], kind.resource) if name in fields else _option(kind, name, types)
        changes = {
            entry.effect for path, entry in (effects or {}).items() if re.split(r"[.\[]", path)[0] == name
        }
        if changes and changes <= {Effect.REPLACE, Effect.SERVER} and changes != {Effect.SERVER}:
            found["willReplaceOnChanges"] = True
        yield name, found


def _option(kind: PackageKind, name: str, types: Types) -> dict[str, Any]:
    """Return an input that is no field of the message."""
    declaring = kind.options if kind.options and name in kind.option_names else kind.inputs
    default = next(default_of(item) for item in dataclasses.fields(declaring) if item.name == name)
    is_of_all_jobs = kind.job and (declaring is kind.options or name in field_types(JobInputs))
    enum = pascal_case(name) if is_of_all_jobs else f"{kind.resource}{pascal_case(name)}"
    owner = "JobInputs" if is_of_all_jobs else kind.inputs.__name__
    text = with_default(in_package(_text(kind, name), f"{owner}.{name}"), default)
    return {**types.of_hint(without_none(field_types(declaring)[name]), enum, text), "description": text}


def _text(kind: PackageKind, name: str) -> str:
    """Return the documentation of an input that is no field of the message."""
    if kind.options and name in kind.option_names:
        return fields_of(kind.options)[name].text
    if dataclasses.is_dataclass(without_none(field_types(kind.inputs)[name])):
        owner = next(each for each in kind.inputs.__mro__ if name in vars(each).get("__annotations__", {}))
        return fields_of(owner)[name].text
    if name == "project" and kind.resource == "TrainingSchedule":
        return "Project id. Default: the stack's project."
    return _parameter(getattr(vt, kind.resource).__init__, name, kind.resource)


def _parameter(documented: object, name: str, owner: str) -> str:
    """Return the documentation of a parameter. Raises ValueError without one."""
    documentation = inspect.getdoc(documented) or ""
    match = re.search(rf":param {name}: (.*?)(?=\n:param |\n\n|\Z)", documentation, re.DOTALL)
    if match is None:
        raise ValueError(f"{owner}.{name} has no documentation")
    return " ".join(match[1].split())
