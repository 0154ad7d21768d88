"""The rules of contexts, artifacts and executions, and of their schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from vertex_emulator.rpc.methods import Violation, invalid_fields
from vertex_emulator.vertex import names
from vertex_emulator.vertex.nested import NestedRecords
from vertex_emulator.vertex.records import Record

OUTPUT = ("name", "create_time", "update_time", "etag")
_GOOGLES = ("system.", "google.")
"""Prefixes of the schemas that every store has."""

_FIRST_VERSION = "0.0.1"
_VERSION = re.compile(r"[0-9]+[.][0-9]+[.][0-9]+")
_MAX_METADATA = 200 * 1024
_MAX_DISPLAY_NAME = 128


def prepare(node: Any, path: str, store: Record, schemas: NestedRecords) -> None:
    """Check a context, an artifact or an execution, and fill in the version of its schema.

    Raises `RpcError` INVALID_ARGUMENT.
    """
    _trim_keys(node.metadata)
    found = list(_problems(node, path))
    if node.schema_title and not node.schema_title.startswith(_GOOGLES):
        versions = _versions(store, schemas).get(node.schema_title, [])
        if not versions or node.schema_version not in ("", *versions):
            words = (
                f"There is no schema {node.schema_title!r} of version {node.schema_version!r} in the "
                "metadata store. Create it with CreateMetadataSchema."
            )
            found.append(Violation(f"{path}.schema_title", words))
        elif not node.schema_version:
            node.schema_version = versions[-1]
    elif node.schema_title and not node.schema_version:
        node.schema_version = _FIRST_VERSION
    if found:
        raise invalid_fields(found)


def check_schema(schema: Any) -> str:
    """Return the title of a new schema. Raises `RpcError` INVALID_ARGUMENT."""
    found = []
    title = ""
    try:
        document = yaml.safe_load(schema.schema)
        title = document.get("title", "") if isinstance(document, dict) else ""
    except (yaml.YAMLError, RecursionError) as error:
        found.append(Violation("metadata_schema.schema", f"It is not YAML: {error}"))
    if not found and not (isinstance(title, str) and title):
        found.append(Violation("metadata_schema.schema", "It has no title."))
    if schema.schema_version and not _VERSION.fullmatch(schema.schema_version):
        words = f"{schema.schema_version!r} is not a version, such as 1.0.0."
        found.append(Violation("metadata_schema.schema_version", words))
    if found:
        raise invalid_fields(found)
    return title


def title_of(schema: Any) -> str:
    """Return the title of a stored schema."""
    title: str = yaml.safe_load(schema.schema)["title"]
    return title


def _problems(node: Any, path: str) -> Iterator[Violation]:
    if len(node.display_name) > _MAX_DISPLAY_NAME:
        yield Violation(f"{path}.display_name", f"May be up to {_MAX_DISPLAY_NAME} Unicode characters.")
    if node.metadata.ByteSize() > _MAX_METADATA:
        yield Violation(f"{path}.metadata", "The size of this field should not exceed 200KB.")
    yield from names.label_problems(node.labels, f"{path}.labels")


def _versions(store: Record, schemas: NestedRecords) -> dict[str, list[str]]:
    """Return the versions of each schema that was created in a store, oldest first."""
    found: dict[str, list[str]] = {}
    for each in schemas.below(store).newest_first(store.place):
        found.setdefault(title_of(each.message), []).append(each.message.schema_version)
    return {title: sorted(versions, key=_order) for title, versions in found.items()}


def _order(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _trim_keys(metadata: Any) -> None:
    """Remove the spaces around the keys of the top level."""
    for key in [each for each in metadata.fields if each != each.strip()]:
        metadata.fields[key.strip()].CopyFrom(metadata.fields[key])
        del metadata.fields[key]
