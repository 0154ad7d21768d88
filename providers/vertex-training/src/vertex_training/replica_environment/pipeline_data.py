"""The variables that lead the replicas of a training pipeline to the exported dataset.

Source: Vertex AI API, `InputDataConfig.gcs_destination` and `.bigquery_destination`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vertex_training.fields import uris
from vertex_training.job.input_data import InputDataConfig

Format = Literal["csv", "jsonl", "bigquery"]

SETS = ("training", "validation", "test")
"""The sets of a split, in the order of the API."""

_OF_TABLES = ("predefined_split", "timestamp_split", "stratified_split")
_OF_ITEMS = ("filter_split", "annotations_filter", "annotation_schema_uri", "saved_query_id")


@dataclass(frozen=True, kw_only=True)
class Export:
    """Facts about an export that only the running pipeline knows.

    `content` is the dataset's kind of data ("tabular", "image_classification"); `time` is the time of the
    export, YYYY-MM-DDThh:mm:ss.sssZ.
    """

    format: Format
    content: str
    time: str


def format_of(config: InputDataConfig) -> Format | None:
    """Return the format of the export, or None if only the dataset decides.

    Only tables are split by a column, only items by filters (Vertex AI API, `InputDataConfig`).
    """
    if config.bigquery_destination:
        return "bigquery"
    if any(getattr(config, name) for name in _OF_ITEMS) or config.persist_ml_use_assignment:
        return "jsonl"
    return "csv" if any(getattr(config, name) for name in _OF_TABLES) else None


def data_variables(
    config: InputDataConfig, export: Export, *, output_directory: str | None = None
) -> dict[str, str]:
    """Return the variables of every replica.

    Data without a destination of its own is exported to `output_directory`; without either there are no
    variables.
    """
    if config.bigquery_destination:
        moment = re.sub(r"[-:.]", "_", export.time)
        table = f"{config.bigquery_destination}.dataset_{config.dataset_id}_{export.content}_{moment}"
        addresses = {name: f"{table}.{name}" for name in SETS}
    else:
        prefix = config.gcs_destination or output_directory
        if not prefix:
            return {}
        folder = uris.directory(prefix) + folder_name(config.dataset_id, export.content, export.time)
        addresses = {name: f"{folder}/{file_pattern(name, export.format)}" for name in SETS}
    return variables(export.format, addresses)


def variables(data_format: str, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for data in this format; `addresses` has the address of each set.

    Source: Vertex AI documentation, "Use managed datasets".
    """
    return {
        "AIP_DATA_FORMAT": data_format,
        **{f"AIP_{name.upper()}_DATA_URI": address for name, address in addresses.items()},
    }


def folder_name(dataset_id: str, content: str, time: str) -> str:
    """Return the folder of an export, without a slash; `content` and `time` are as in `Export`."""
    return f"dataset-{dataset_id}-{content}-{time}"


def file_pattern(set_name: str, extension: str) -> str:
    """Return the wildcard that matches all files of a set."""
    return f"{set_name}-*.{extension}"
