"""`inputDataConfig`: what it asks for, checked as far as no data are needed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vertex_emulator.datasets import splitting
from vertex_emulator.datasets.items import title
from vertex_emulator.datasets.objects import directory
from vertex_emulator.datasets.splitting import Split
from vertex_emulator.rpc import filters
from vertex_emulator.rpc.methods import RpcError, Violation, invalid_fields
from vertex_training.environment import pipeline_data

_PATH = "training_pipeline.input_data_config"
_TABULAR_ONLY = ("predefined_split", "timestamp_split", "stratified_split")
_ITEMS_ONLY = ("annotations_filter", "annotation_schema_uri", "saved_query_id", "persist_ml_use_assignment")
_NOT_HERE = {
    "annotations_filter": "The emulator exports all annotations of an item.",
    "saved_query_id": "The emulator has no saved queries.",
}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to export: the dataset's id, how to split it, the folder to write below."""

    dataset: str
    split: Split
    prefix: str
    annotation_schema_uri: str = ""
    persist: bool = False


def read(config: Any, *, is_tabular: bool) -> Wanted:
    """What a message InputDataConfig asks for. Raises `RpcError` with all its faults."""
    if config.WhichOneof("destination") == "bigquery_destination":
        raise RpcError(
            "UNIMPLEMENTED",
            f"{_PATH}.bigquery_destination: there is no BigQuery in the emulator. Use gcs_destination.",
        )
    for field, why in _NOT_HERE.items():
        if getattr(config, field):
            raise RpcError("UNIMPLEMENTED", f"{_PATH}.{field}: {why} Leave it out.")
    if found := list(_faults(config, is_tabular=is_tabular)):
        raise invalid_fields(found)
    return Wanted(
        dataset=config.dataset_id,
        split=split_of(config),
        prefix=directory(config.gcs_destination.output_uri_prefix),
        annotation_schema_uri=config.annotation_schema_uri,
        persist=config.persist_ml_use_assignment,
    )


def split_of(config: Any) -> Split:
    """The split of an InputDataConfig or ExportDataConfig. Raises ValueError."""
    kind = config.WhichOneof("split") or "fraction_split"
    value = getattr(config, kind)
    if kind == "filter_split":
        for each in (value.training_filter, value.validation_filter, value.test_filter):
            splitting.item_filter(each)
        return splitting.ByFilter(
            training=value.training_filter, validation=value.validation_filter, test=value.test_filter
        )
    if kind == "predefined_split":
        return splitting.ByColumn(key=value.key)
    shares = splitting.shares(value.training_fraction, value.validation_fraction, value.test_fraction)
    if kind == "timestamp_split":
        return splitting.ByTime(key=value.key, shares=shares)
    if kind == "stratified_split":
        return splitting.ByCategory(key=value.key, shares=shares)
    return splitting.ByFraction(shares=shares)


def folder_name(dataset: str, *, annotation_type: str, at: datetime) -> str:
    """The folder of one export, as the service names it."""
    moment = at.strftime("%Y-%m-%dT%H:%M:%S") + f".{at.microsecond // 1000:03}Z"
    return pipeline_data.folder_name(dataset, annotation_type, moment)


def annotation_type(wanted: Wanted, metadata_schema_uri: str) -> str:
    """What the folder of an export says of its content."""
    return title(wanted.annotation_schema_uri or metadata_schema_uri) or "data"


def _faults(config: Any, *, is_tabular: bool) -> Iterator[Violation]:
    if not config.gcs_destination.output_uri_prefix.startswith("gs://"):
        yield Violation(
            f"{_PATH}.gcs_destination.output_uri_prefix",
            f"{config.gcs_destination.output_uri_prefix!r} is not a folder in Cloud Storage; it looks like "
            "gs://BUCKET/FOLDER/.",
        )
    kind = config.WhichOneof("split")
    if kind in _TABULAR_ONLY:
        if not is_tabular:
            yield Violation(f"{_PATH}.{kind}", "Supported only for tabular Datasets.")
        if not getattr(config, kind).key:
            yield Violation(f"{_PATH}.{kind}.key", "Required field is not set.")
    if kind == "filter_split" and is_tabular:
        yield Violation(f"{_PATH}.{kind}", "Supported only for unstructured Datasets.")
    for field in _ITEMS_ONLY:
        if is_tabular and getattr(config, field):
            yield Violation(f"{_PATH}.{field}", "Applicable only to Datasets that have DataItems.")
    try:
        split_of(config)
    except filters.FilterError as error:
        yield Violation(f"{_PATH}.{kind}", f"Invalid filter: {error}.")
    except ValueError as error:
        yield Violation(f"{_PATH}.{kind}", f"{error}.")
