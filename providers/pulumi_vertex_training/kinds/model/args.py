"""Typed arguments of models and of the data of a pipeline, named as the API's messages in snake case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi import Input

from pulumi_vertex_training.program.job_args import EncryptionSpecArgs, EnvVarArgs, arguments_class
from pulumi_vertex_training.program.references import ImageLike, image_uri


@arguments_class
class FractionSplitArgs:
    """The part of the data in each set, from 0 to 1; the sum is 1 at most."""

    training_fraction: Input[float] | None = None
    validation_fraction: Input[float] | None = None
    test_fraction: Input[float] | None = None


@arguments_class
class FilterSplitArgs:
    """A filter for each set; "-" matches nothing."""

    training_filter: Input[str]
    validation_filter: Input[str]
    test_filter: Input[str]


@arguments_class
class PredefinedSplitArgs:
    """The column `key` with `training`, `validation` or `test` in each row."""

    key: Input[str]


@arguments_class
class TimestampSplitArgs:
    """Fractions by the times (RFC 3339) in the column `key`."""

    key: Input[str]
    training_fraction: Input[float] | None = None
    validation_fraction: Input[float] | None = None
    test_fraction: Input[float] | None = None


@arguments_class
class StratifiedSplitArgs:
    """Fractions that keep the distribution of the values in the column `key`."""

    key: Input[str]
    training_fraction: Input[float] | None = None
    validation_fraction: Input[float] | None = None
    test_fraction: Input[float] | None = None


@arguments_class
class InputDataConfigArgs:
    """A dataset, by its id or full name, with at most one split and one destination.

    `gcs_destination` is gs://BUCKET/PREFIX and `bigquery_destination` is bq://PROJECT. Without either, the
    data is written to the output directory of the run.
    """

    dataset_id: Input[str]
    fraction_split: Input[FractionSplitArgs] | None = None
    filter_split: Input[FilterSplitArgs] | None = None
    predefined_split: Input[PredefinedSplitArgs] | None = None
    timestamp_split: Input[TimestampSplitArgs] | None = None
    stratified_split: Input[StratifiedSplitArgs] | None = None
    gcs_destination: Input[str] | None = None
    bigquery_destination: Input[str] | None = None
    annotations_filter: Input[str] | None = None
    annotation_schema_uri: Input[str] | None = None
    saved_query_id: Input[str] | None = None
    persist_ml_use_assignment: Input[bool] | None = None


@arguments_class
class ModelContainerSpecArgs:
    """The container that serves predictions; ports are numbers, probes dictionaries of the API's Probe."""

    image_uri: ImageLike
    command: Input[Sequence[Input[str]]] | None = None
    args: Input[Sequence[Input[str]]] | None = None
    env: Input[Sequence[Input[EnvVarArgs]]] | None = None
    ports: Input[Sequence[Input[int]]] | None = None
    predict_route: Input[str] | None = None
    health_route: Input[str] | None = None
    invoke_route_prefix: Input[str] | None = None
    grpc_ports: Input[Sequence[Input[int]]] | None = None
    deployment_timeout: Input[str] | None = None
    shared_memory_size_mb: Input[int] | None = None
    startup_probe: Input[Mapping[str, Any]] | None = None
    health_probe: Input[Mapping[str, Any]] | None = None
    liveness_probe: Input[Mapping[str, Any]] | None = None


@arguments_class
class PredictSchemataArgs:
    """Schemas (OpenAPI 3.0.2, in a bucket) of one instance, of the parameters and of one prediction."""

    instance_schema_uri: Input[str] | None = None
    parameters_schema_uri: Input[str] | None = None
    prediction_schema_uri: Input[str] | None = None


@arguments_class
class ModelArgs:
    """A model that a pipeline uploads; `artifact_uri` is the run's model directory unless given."""

    display_name: Input[str]
    container_spec: Input[ModelContainerSpecArgs]
    artifact_uri: Input[str] | None = None
    description: Input[str] | None = None
    version_aliases: Input[Sequence[Input[str]]] | None = None
    version_description: Input[str] | None = None
    predict_schemata: Input[PredictSchemataArgs] | None = None
    metadata_schema_uri: Input[str] | None = None
    metadata: Input[Any] | None = None
    explanation_spec: Input[Mapping[str, Any]] | None = None
    default_checkpoint_id: Input[str] | None = None
    pipeline_job: Input[str] | None = None
    base_model_source: Input[Mapping[str, Any]] | None = None
    labels: Input[Mapping[str, Input[str]]] | None = None
    encryption_spec: Input[EncryptionSpecArgs] | None = None


def with_serving_image(value: Any) -> Any:
    """Replace an image that is a resource by its name in a dictionary of a model or of its container.

    The argument classes of this module do so themselves.
    """
    if not isinstance(value, Mapping):
        return value
    return {
        key: image_uri(item)
        if key in ("image_uri", "imageUri")
        else with_serving_image(item)
        if key in ("container_spec", "containerSpec")
        else item
        for key, item in value.items()
    }
