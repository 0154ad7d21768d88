"""The rules of a pipeline's input data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import fsum

from vertex_training.fields import uris
from vertex_training.fields.schema import child
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import all_of, shown
from vertex_training.job.input_data import SPLITS, FractionSplit, InputDataConfig
from vertex_training.job.rules.bucket_names import bucket_name_faults

MAX_BIGQUERY = 2000

_API = "Vertex AI API, InputDataConfig"

DATASET_ID = Rule(
    name="dataset-id",
    says="a dataset is given by its id, and is in the pipeline's location",
    source=f"{_API}.dataset_id",
)
DATA_SPLITS = Rule(
    name="data-splits", says="data is split in one way only", source=f"{_API}.split, one of its fields"
)
DATA_FRACTION = Rule(
    name="data-fraction", says="a fraction is a number from 0 to 1", source="Vertex AI API, FractionSplit"
)
DATA_FRACTIONS = Rule(
    name="data-fractions",
    says="the fractions of a split are 1 at most together",
    source="Vertex AI API, FractionSplit",
)
DATA_FILTERS = Rule(
    name="data-filters",
    says="a split by filters has all three",
    source="Vertex AI API, FilterSplit; google-cloud-aiplatform, CustomTrainingJob.run",
)
DATA_KEY = Rule(
    name="data-key",
    says="a split by a column names it",
    source="Vertex AI API, PredefinedSplit.key, TimestampSplit.key, StratifiedSplit.key",
)
DATA_DESTINATIONS = Rule(
    name="data-destinations",
    says="data is written to one destination, a bucket or BigQuery",
    source=f"{_API}.destination, one of its fields",
)
DATA_NO_DESTINATION = Rule(
    name="data-destination-missing",
    says="data needs a destination or an output directory",
    source="google-cloud-aiplatform, CustomTrainingJob.run, which writes it to base_output_dir",
)
DATA_DIRECTORY = Rule(
    name="data-directory",
    says="data in a bucket is written to gs://BUCKET/PREFIX",
    source=f"{_API}.gcs_destination",
)
DATA_BIGQUERY = Rule(
    name="data-bigquery",
    says=f"data in BigQuery is written to bq://PROJECT, of at most {MAX_BIGQUERY} characters",
    source="Vertex AI API, BigQueryDestination.output_uri",
)
DATA_SCHEMA = Rule(
    name="data-schema",
    says="the schema of annotations is a file in a bucket",
    source=f"{_API}.annotation_schema_uri",
)
DATA_SCHEMA_AND_QUERY = Rule(
    name="data-schema-and-query",
    says="saved_query_id and annotation_schema_uri exclude each other",
    source=f"{_API}.saved_query_id",
)
DATA_KINDS = Rule(
    name="data-kinds",
    says="settings for tabular datasets do not go with settings for datasets of items",
    source=f"{_API}.split, .bigquery_destination, .annotations_filter",
)

_ID = re.compile(r"[0-9A-Za-z_-]+")
_FULL_NAME = re.compile(r"projects/[^/]+/locations/([^/]+)/datasets/[^/]+")
_BIGQUERY = re.compile(r"bq://[a-z0-9.:-]*[a-z0-9](\.[A-Za-z0-9_]+){0,2}")
_TABULAR = ("predefined_split", "timestamp_split", "stratified_split", "bigquery_destination")
_OF_ITEMS = ("filter_split", "annotations_filter", "annotation_schema_uri", "saved_query_id")


def input_data_problems(
    config: InputDataConfig, *, path: str, options: CheckOptions, has_output: bool
) -> Iterator[Problem]:
    """Yield every finding about input data, in the order of its fields.

    `has_output` means that the run has or gets an output directory.
    """
    yield from _dataset_problems(config.dataset_id, f"{path}.dataset_id", options)
    yield from _split_problems(config, path)
    yield from _destination_problems(config, path, has_output)
    if config.annotation_schema_uri and not config.annotation_schema_uri.startswith("gs://"):
        yield DATA_SCHEMA.broken(
            f"{path}.annotation_schema_uri",
            f"{shown(config.annotation_schema_uri)} is not a file in a bucket; the schemas are in "
            "gs://google-cloud-aiplatform/schema/dataset/annotation/",
        )
    if config.annotation_schema_uri and config.saved_query_id:
        yield DATA_SCHEMA_AND_QUERY.broken(
            f"{path}.saved_query_id",
            f"{shown(config.saved_query_id)} is given together with annotation_schema_uri; both select the "
            "annotations. Keep one of them",
            rests_on=(f"{path}.saved_query_id", f"{path}.annotation_schema_uri"),
        )
    tabular = [name for name in _TABULAR if getattr(config, name)]
    of_items = [name for name in _OF_ITEMS if getattr(config, name)]
    # Two splits are reported above.
    if tabular and of_items and sum(name in SPLITS for name in (*tabular, *of_items)) < 2:
        yield DATA_KINDS.broken(
            f"{path}.{of_items[0]}",
            f"is only for datasets of items, such as images, but {all_of(tabular)} only for tabular "
            "datasets; leave out the fields of the other kind of dataset",
            rests_on=tuple(f"{path}.{name}" for name in (*tabular, *of_items)),
        )


def _dataset_problems(name: str, path: str, options: CheckOptions) -> Iterator[Problem]:
    full_name = _FULL_NAME.fullmatch(name)
    if full_name is None and not _ID.fullmatch(name):
        yield DATASET_ID.broken(
            path, f"{shown(name)} is not the id of a dataset; write the id, or the full resource name"
        )
    elif full_name and options.location and full_name[1] != options.location:
        yield DATASET_ID.broken(
            path,
            f"the dataset is in {full_name[1]}, the pipeline runs in {options.location}; use a dataset of "
            "the pipeline's location",
            rests_on=(path, "location"),
        )


def _split_problems(config: InputDataConfig, path: str) -> Iterator[Problem]:
    given = [name for name in SPLITS if getattr(config, name) is not None]
    if len(given) > 1:
        yield DATA_SPLITS.broken(
            f"{path}.{given[1]}",
            f"{all_of(given)} are given; data can be split in one way only. Keep one of them",
            rests_on=tuple(f"{path}.{name}" for name in given),
        )
    for name in given:
        split, below = getattr(config, name), f"{path}.{name}"
        if isinstance(split, FractionSplit):
            yield from _fraction_problems(split, below)
        if getattr(split, "key", None) == "":
            yield DATA_KEY.broken(
                f"{below}.key", "'' is not a column; write the name of one of the dataset's"
            )
    for name in ("training_filter", "validation_filter", "test_filter"):
        if config.filter_split is not None and not getattr(config.filter_split, name).strip():
            yield DATA_FILTERS.broken(
                f"{path}.filter_split.{name}", "'' is not a filter; write '-' to match nothing"
            )


def _fraction_problems(split: FractionSplit, path: str) -> Iterator[Problem]:
    names = ("training_fraction", "validation_fraction", "test_fraction")
    fractions = [getattr(split, name) for name in names]
    outside = [(name, value) for name, value in zip(names, fractions, strict=True) if not 0 <= value <= 1]
    for name, value in outside:
        yield DATA_FRACTION.broken(
            child(path, name),
            f"{value:g} is not a fraction; write a number from 0 to 1, such as 0.8 for 80 %",
        )
    total = fsum(fractions)
    if not outside and total > 1 + 1e-9:
        yield DATA_FRACTIONS.broken(
            path,
            f"the sum of the fractions is {total:g}, but the maximum is 1; lower one of them",
            rests_on=tuple(child(path, name) for name in names),
        )


def _destination_problems(config: InputDataConfig, path: str, has_output: bool) -> Iterator[Problem]:
    bucket, table = config.gcs_destination, config.bigquery_destination
    both = (f"{path}.gcs_destination", f"{path}.bigquery_destination")
    if bucket and table:
        yield DATA_DESTINATIONS.broken(
            both[1],
            f"{shown(table)} is given together with gcs_destination; keep one destination",
            rests_on=both,
        )
    if not bucket and not table and not has_output:
        yield DATA_NO_DESTINATION.broken(
            both[0],
            "is missing, and the pipeline has no output directory for the data; give a destination, a "
            "staging_bucket or a base_output_directory",
            rests_on=(
                *both,
                "custom_task.base_output_directory",
                "tuning_task.trial_job_spec.base_output_directory",
            ),
        )
    if bucket:
        try:
            faults = list(bucket_name_faults(uris.parse(bucket).bucket))
        except ValueError:
            faults = [f"{shown(bucket)} is not a directory in a bucket; write gs://BUCKET/PREFIX"]
        for fault in faults:
            yield DATA_DIRECTORY.broken(both[0], fault)
    if table and (len(table) > MAX_BIGQUERY or not _BIGQUERY.fullmatch(table)):
        yield DATA_BIGQUERY.broken(
            both[1], f"{shown(table)} is not an address in BigQuery; write bq://PROJECT"
        )
