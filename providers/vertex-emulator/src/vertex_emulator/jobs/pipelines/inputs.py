"""The inputs of a training pipeline: its task, and the split of its data.

Task inputs are an untyped value: names in snake or camel case, all numbers as doubles, enums as numbers or
names, arguments possibly as numbers. A custom task has the fields of CustomJobSpec, a tuning task those of a
study and its trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from vertex_emulator.server.rpc import descriptors, filters, payload
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.services.datasets import splitting
from vertex_emulator.services.datasets.contents import schema_title
from vertex_emulator.services.datasets.objects import directory
from vertex_emulator.services.datasets.splitting import Split
from vertex_emulator.services.resource_engine import names
from vertex_training.replica_environment import pipeline_data

CUSTOM_JOB_SPEC = "google.cloud.aiplatform.v1.CustomJobSpec"
TUNING_JOB = "google.cloud.aiplatform.v1.HyperparameterTuningJob"
DEFINITIONS = "gs://google-cloud-aiplatform/schema/trainingjob/definition/"
_FIELD = "training_pipeline.training_task_inputs"
_TUNING_FIELDS = frozenset(
    {"study_spec", "trial_job_spec", "max_trial_count", "parallel_trial_count", "max_failed_trial_count"}
)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A supported task; `message` is the type of its inputs."""

    name: str
    file: str
    message: str

    @property
    def definition(self) -> str:
        return DEFINITIONS + self.file


CUSTOM = Task(name="custom task", file="custom_task_1.0.0.yaml", message=CUSTOM_JOB_SPEC)
TUNING = Task(
    name="hyperparameter tuning task", file="hyperparameter_tuning_task_1.0.0.yaml", message=TUNING_JOB
)


def task_of(definition: str) -> Task:
    """Return the task of a definition's address. Raises `RpcError`."""
    file = definition.rpartition("/")[2]
    for task in (CUSTOM, TUNING):
        if file == task.file:
            return task
    raise RpcError(
        "UNIMPLEMENTED",
        f"The emulator does not implement the training task {definition!r}. Use {CUSTOM.definition} or "
        f"{TUNING.definition}.",
    )


def read(task: Task, value: Any) -> DynamicMessage:
    """Return the message of a `google.protobuf.Value`.

    Raises `RpcError` INVALID_ARGUMENT in the service's words, with the violations as details.
    """
    document = json_format.MessageToDict(value, descriptor_pool=descriptors.pool())
    message = descriptors.message(task.message)
    descriptor = cast(Descriptor, message.DESCRIPTOR)
    try:
        payload.read(_with_strings(document, descriptor), message, path=_FIELD)
        if task is TUNING:
            _check_tuning(message)
    except payload.PayloadError as error:
        raise RpcError(
            "INVALID_ARGUMENT",
            f"Unable to parse `{_FIELD}` into {task.name} `inputs` defined in the file: {task.definition}",
            [Violation(field, text) for field, text in error.problems],
        ) from None
    return message


def _check_tuning(message: DynamicMessage) -> None:
    unknown = sorted({field.name for field, _ in message.ListFields()} - _TUNING_FIELDS)
    if unknown:
        text = "Invalid JSON payload received. Unknown name \"{}\" at '{}': Cannot find field."
        raise payload.PayloadError([(_FIELD, text.format(name, _FIELD)) for name in unknown])


def _with_strings(value: object, descriptor: Descriptor) -> object:
    """Return the value with numbers converted to strings wherever the message has a string."""
    if not isinstance(value, Mapping):
        return value
    by_name = {
        **{field.json_name: field for field in descriptor.fields},
        **{field.name: field for field in descriptor.fields},
    }
    return {name: _field_value(item, by_name.get(name)) for name, item in value.items()}


def _field_value(value: object, field: FieldDescriptor | None) -> object:
    if field is None or value is None:
        return value
    if isinstance(value, list):
        return [_single(each, field) for each in value] if field.is_repeated else value
    message = field.message_type
    if message is not None and message.GetOptions().map_entry and isinstance(value, Mapping):
        return {key: _single(each, message.fields_by_name["value"]) for key, each in value.items()}
    return value if field.is_repeated else _single(value, field)


def _single(value: object, field: FieldDescriptor) -> object:
    message = field.message_type
    if message is not None:
        return _with_strings(value, message) if isinstance(value, Mapping) else value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and field.type == FieldDescriptor.TYPE_STRING:
        return as_text(cast(float, value))
    if is_number and field.type == FieldDescriptor.TYPE_ENUM and float(cast(float, value)).is_integer():
        return int(cast(float, value))
    return value


def as_text(number: float) -> str:
    """Return a number as an argument, without a fraction if it is an integer."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


_MAX_DISPLAY_NAME = 128


def problems(pipeline: DynamicMessage) -> Iterator[Violation]:
    """Check a TrainingPipeline and yield each violation."""
    path = "training_pipeline"
    if not pipeline.display_name:
        yield Violation(f"{path}.display_name", "Required field is not set.")
    elif len(pipeline.display_name) > _MAX_DISPLAY_NAME:
        yield Violation(
            f"{path}.display_name", f"The display name can be up to {_MAX_DISPLAY_NAME} characters long."
        )
    if not pipeline.training_task_definition:
        yield Violation(f"{path}.training_task_definition", "Required field is not set.")
    if not pipeline.HasField("training_task_inputs"):
        yield Violation(f"{path}.training_task_inputs", "Required field is not set.")
    yield from names.label_problems(pipeline.labels, f"{path}.labels")


_PATH = "training_pipeline.input_data_config"
_TABULAR_ONLY = ("predefined_split", "timestamp_split", "stratified_split")
_ITEMS_ONLY = ("annotations_filter", "annotation_schema_uri", "saved_query_id", "persist_ml_use_assignment")
_UNSUPPORTED = {
    "annotations_filter": "The emulator exports all annotations of an item.",
    "saved_query_id": "The emulator has no saved queries.",
}


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """A requested export: the dataset's ID, the split, and the parent folder."""

    dataset: str
    split: Split
    prefix: str
    annotation_schema_uri: str = ""
    persist: bool = False


def read_data_config(config: DynamicMessage, *, is_tabular: bool) -> ExportRequest:
    """Return the export that an InputDataConfig requests. Raises `RpcError` with all violations."""
    if config.WhichOneof("destination") == "bigquery_destination":
        raise RpcError(
            "UNIMPLEMENTED",
            f"{_PATH}.bigquery_destination: the emulator has no BigQuery. Use gcs_destination.",
        )
    for field, why in _UNSUPPORTED.items():
        if getattr(config, field):
            raise RpcError("UNIMPLEMENTED", f"{_PATH}.{field}: {why} Leave it out.")
    if violations := list(_data_problems(config, is_tabular=is_tabular)):
        raise invalid_fields(violations)
    return ExportRequest(
        dataset=config.dataset_id,
        split=split_of(config),
        prefix=directory(config.gcs_destination.output_uri_prefix),
        annotation_schema_uri=config.annotation_schema_uri,
        persist=config.persist_ml_use_assignment,
    )


def split_of(config: DynamicMessage) -> Split:
    """Return the split of an InputDataConfig or ExportDataConfig. Raises ValueError."""
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
    """Return the name of an export's folder in the service's form."""
    moment = at.strftime("%Y-%m-%dT%H:%M:%S") + f".{at.microsecond // 1000:03}Z"
    return pipeline_data.folder_name(dataset, annotation_type, moment)


def annotation_type(wanted: ExportRequest, metadata_schema_uri: str) -> str:
    """Return the part of the folder's name for the kind of data."""
    return schema_title(wanted.annotation_schema_uri or metadata_schema_uri) or "data"


def _data_problems(config: DynamicMessage, *, is_tabular: bool) -> Iterator[Violation]:
    if not config.gcs_destination.output_uri_prefix.startswith("gs://"):
        yield Violation(
            f"{_PATH}.gcs_destination.output_uri_prefix",
            f"{config.gcs_destination.output_uri_prefix!r} is not a folder in Cloud Storage. Write "
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
