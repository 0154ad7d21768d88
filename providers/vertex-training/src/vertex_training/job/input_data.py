"""The dataset of a training pipeline: how it is split, and where it is exported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vertex_training.fields import uris

_DATASET = re.compile(r"projects/[^/]+/locations/[^/]+/datasets/([^/]+)")


def _inner(*names: str) -> Any:
    """Return metadata of a message with one field, such as `{"outputUriPrefix": "gs://..."}`.

    The spec has the plain value of that field. The last name is the one in the API's JSON.
    """

    def convert(value: object) -> object:
        if isinstance(value, Mapping) and len(value) == 1:
            return next((value[name] for name in names if name in value), value)
        return value

    return {"convert": convert, "message": lambda value: {names[-1]: value}}


@dataclass(frozen=True, kw_only=True)
class FractionSplit:
    """Fractions of the data in each set, from 0 to 1.

    The service assigns the rest. If all are 0, it uses about 0.8, 0.1 and 0.1.
    """

    training_fraction: float = 0.0
    """Fraction of the data for training, 0 to 1."""
    validation_fraction: float = 0.0
    """Fraction of the data for validation, 0 to 1."""
    test_fraction: float = 0.0
    """Fraction of the data for the test, 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class FilterSplit:
    """Filters that select the items of each set; "-" matches nothing. The first match decides."""

    training_filter: str
    """Filter of the items for training; "-" matches nothing."""
    validation_filter: str
    """Filter of the items for validation; "-" matches nothing."""
    test_filter: str
    """Filter of the items for the test; "-" matches nothing."""


@dataclass(frozen=True, kw_only=True)
class PredefinedSplit:
    """A column `key` with the set of each row: `training`, `validation` or `test`."""

    key: str
    """Column that has `training`, `validation` or `test` in each row."""


@dataclass(frozen=True, kw_only=True)
class TimestampSplit(FractionSplit):
    """Fractions by the times (RFC 3339) in the column `key`."""

    key: str
    """Column with the times in RFC 3339 by which the rows are ordered."""


@dataclass(frozen=True, kw_only=True)
class StratifiedSplit(FractionSplit):
    """Fractions that keep the distribution of the values in the column `key`."""

    key: str
    """Column whose distribution of values each set keeps."""


@dataclass(frozen=True, kw_only=True)
class InputDataConfig:
    """A dataset of the pipeline's project and location, with at most one split and one destination.

    `gcs_destination` is the plain prefix, gs://BUCKET/PREFIX/, and `bigquery_destination` the plain address,
    bq://PROJECT. Without either, the data is exported below the output directory of the run.
    """

    dataset_id: str
    """Dataset, by its id or full name. It must be in the pipeline's project and location."""
    fraction_split: FractionSplit | None = None
    """Split by fractions. At most one split can be set; the service's default is 0.8, 0.1 and 0.1."""
    filter_split: FilterSplit | None = None
    """Split by filters."""
    predefined_split: PredefinedSplit | None = None
    """Split by a column that names the set."""
    timestamp_split: TimestampSplit | None = None
    """Split by the times in a column."""
    stratified_split: StratifiedSplit | None = None
    """Split that keeps the distribution of a column."""
    gcs_destination: str | None = field(default=None, metadata=_inner("output_uri_prefix", "outputUriPrefix"))
    """The gs:// directory to which the data is written. Default: the output directory of the run."""
    bigquery_destination: str | None = field(default=None, metadata=_inner("output_uri", "outputUri"))
    """BigQuery project to which the data is written, bq://PROJECT."""
    annotations_filter: str | None = None
    """Filter of the annotations to use."""
    annotation_schema_uri: str | None = None
    """gs:// URI of the schema of the annotations to use."""
    saved_query_id: str | None = None
    """Id of a saved query of the dataset, which selects the annotations."""
    persist_ml_use_assignment: bool = False
    """Write the assigned set of each item into the dataset."""


SPLITS = ("fraction_split", "filter_split", "predefined_split", "timestamp_split", "stratified_split")


def normalise(config: InputDataConfig) -> InputDataConfig:
    """Return the normal form: the dataset's id, one slash at the end of a directory, no empty values."""
    full_name = _DATASET.fullmatch(config.dataset_id)
    return replace(
        config,
        dataset_id=full_name[1] if full_name else config.dataset_id,
        fraction_split=None if config.fraction_split == FractionSplit() else config.fraction_split,
        gcs_destination=uris.directory(config.gcs_destination or "") or None,
        bigquery_destination=config.bigquery_destination or None,
        annotations_filter=config.annotations_filter or None,
        annotation_schema_uri=config.annotation_schema_uri or None,
        saved_query_id=config.saved_query_id or None,
    )


def with_destination(config: InputDataConfig, directory: str | None) -> InputDataConfig:
    """Set a directory as the destination, unless the config has one."""
    if config.gcs_destination or config.bigquery_destination or not directory:
        return config
    return replace(config, gcs_destination=directory)
