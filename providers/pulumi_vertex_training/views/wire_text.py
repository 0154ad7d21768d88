"""Specs in the API's JSON as `--json` prints them: what could not be read, and what is not said, left out."""

from __future__ import annotations

from typing import Any

from pulumi_vertex_training.documents.document import Document
from vertex_training.fields.schema import camel_case
from vertex_training.fields.values import NOT_KNOWN


def without_gaps(value: Any) -> Any:
    """Beside errors: without what stands for a value that could not be read."""
    if isinstance(value, dict):
        return {key: without_gaps(item) for key, item in value.items() if item != NOT_KNOWN}
    if isinstance(value, list):
        return [without_gaps(item) for item in value if item != NOT_KNOWN]
    return value


def as_it_is_read(wire: dict[str, Any], document: Document[Any]) -> dict[str, Any]:
    """A whole resource, so that reading it gives the document again."""
    absent = {camel_case(name) for name in document.unsaid}
    plain: dict[str, Any] = without_gaps({key: item for key, item in wire.items() if key not in absent})
    return plain
