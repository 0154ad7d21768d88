"""The rules of contexts, artifacts and executions, and of their schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Violation
from vertex_emulator.services.resource_engine import names
from vertex_emulator.services.resource_engine.records import Record, Records

_GOOGLES = ("system.", "google.")
"""Prefixes of the schemas that every store has."""

FIRST_VERSION = "0.0.1"
_VERSION = re.compile(r"[0-9]+[.][0-9]+[.][0-9]+")
_MAX_METADATA = 200 * 1024
_MAX_DISPLAY_NAME = 128


def fill_in(node: DynamicMessage, store: Record, schemas: Records) -> None:
    """Fill in the version of the schema of a context, an artifact or an execution."""
    metadata = node.metadata
    for key in [each for each in metadata.fields if each != each.strip()]:  # spaces around keys of the top
        metadata.fields[key.strip()].CopyFrom(metadata.fields[key])
        del metadata.fields[key]
    if node.schema_title and not node.schema_version:
        known = [FIRST_VERSION] if _is_googles(node) else _versions(node, store, schemas)
        node.schema_version = known[-1] if known else ""


def problems(node: DynamicMessage, path: str, store: Record, schemas: Records) -> Iterator[Violation]:
    """Check a context, an artifact or an execution, and yield each violation."""
    if len(node.display_name) > _MAX_DISPLAY_NAME:
        yield Violation(f"{path}.display_name", f"May be up to {_MAX_DISPLAY_NAME} Unicode characters.")
    if node.metadata.ByteSize() > _MAX_METADATA:
        yield Violation(f"{path}.metadata", "The size of this field should not exceed 200KB.")
    yield from names.label_problems(node.labels, f"{path}.labels")
    is_own = node.schema_title and not _is_googles(node)
    if is_own and node.schema_version not in _versions(node, store, schemas):
        yield Violation(
            f"{path}.schema_title",
            f"There is no schema {node.schema_title!r} of version {node.schema_version!r} in the metadata "
            "store. Create it with CreateMetadataSchema.",
        )


def schema_problems(schema: DynamicMessage) -> Iterator[Violation]:
    """Check a schema, and yield each violation."""
    try:
        document = yaml.safe_load(schema.schema)
    except (yaml.YAMLError, RecursionError) as error:
        yield Violation("metadata_schema.schema", f"It is not YAML: {error}")
    else:
        title = document.get("title", "") if isinstance(document, dict) else ""
        if not (isinstance(title, str) and title):
            yield Violation("metadata_schema.schema", "It has no title.")
    if not _VERSION.fullmatch(schema.schema_version):
        words = f"{schema.schema_version!r} is not a version, such as 1.0.0."
        yield Violation("metadata_schema.schema_version", words)


def title_of(schema: DynamicMessage) -> str:
    """Return the title of a stored schema."""
    title: str = yaml.safe_load(schema.schema)["title"]
    return title


def _is_googles(node: DynamicMessage) -> bool:
    return bool(node.schema_title.startswith(_GOOGLES))


def _versions(node: DynamicMessage, store: Record, schemas: Records) -> list[str]:
    """Return the versions of a node's schema that were created in a store, oldest first."""
    found = [each.message for each in schemas.below(store)]
    versions = [each.schema_version for each in found if title_of(each) == node.schema_title]
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])
