"""What is checked of a dataset that somebody sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vertex_emulator.datasets import items
from vertex_emulator.datasets.errors import DataError
from vertex_emulator.datasets.exporting import is_tabular, source_uris
from vertex_emulator.rpc.methods import Violation
from vertex_emulator.vertex import labels

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
    elif is_tabular(dataset):
        yield from _source_faults(dataset)
    yield from labels.faults(own(dataset.labels), "dataset.labels")


def _source_faults(dataset: Any) -> Iterator[Violation]:
    try:
        uris = source_uris(dataset)
    except DataError:
        return  # no files: a table in BigQuery is created all the same
    for uri in uris:
        if not uri.startswith("gs://"):
            yield Violation(
                "dataset.metadata.input_config.gcs_source.uri",
                f"{uri!r} is no object in a bucket; write gs://BUCKET/OBJECT.",
            )
