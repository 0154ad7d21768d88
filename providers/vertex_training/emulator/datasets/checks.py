"""What is checked of a dataset that somebody sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vertex_training.emulator.datasets import items
from vertex_training.emulator.rpc import Violation
from vertex_training.emulator.vertex import labels

SYSTEM = "aiplatform.googleapis.com/"
"""Labels that begin with it are the service's."""

_MAX_DISPLAY_NAME = 128


def own(given: Mapping[str, str]) -> dict[str, str]:
    """The labels that are not the service's."""
    return {key: value for key, value in given.items() if not key.startswith(SYSTEM)}


def faults(dataset: Any) -> Iterator[Violation]:
    """What is wrong with the message."""
    if not dataset.display_name:
        yield Violation("dataset.display_name", "Required field is not set.")
    elif len(dataset.display_name) > _MAX_DISPLAY_NAME:
        yield Violation(
            "dataset.display_name", f"The display name can be up to {_MAX_DISPLAY_NAME} characters long."
        )
    if not items.title(dataset.metadata_schema_uri):
        yield Violation(
            "dataset.metadata_schema_uri",
            f"{dataset.metadata_schema_uri!r} is not the address of a schema, such as "
            "gs://google-cloud-aiplatform/schema/dataset/metadata/tabular_1.0.0.yaml.",
        )
    yield from labels.faults(own(dataset.labels), "dataset.labels")
