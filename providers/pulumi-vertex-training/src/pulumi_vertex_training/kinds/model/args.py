"""Typed arguments of models and data. Written by `make generate` from the messages: do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi import Input

from pulumi_vertex_training.program.arguments.arguments_class import arguments_class
from pulumi_vertex_training.program.arguments.job_args import EncryptionSpecArgs, EnvVarArgs
from pulumi_vertex_training.program.arguments.references import ImageLike


@arguments_class
class FractionSplitArgs:
    """Fractions of the data in each set, from 0 to 1.

    :param training_fraction: Fraction of the data for training, 0 to 1.
    :param validation_fraction: Fraction of the data for validation, 0 to 1.
    :param test_fraction: Fraction of the data for the test, 0 to 1.
    """

    training_fraction: Input[float | None] = None
    """Fraction of the data for training, 0 to 1."""
    validation_fraction: Input[float | None] = None
    """Fraction of the data for validation, 0 to 1."""
    test_fraction: Input[float | None] = None
    """Fraction of the data for the test, 0 to 1."""


@arguments_class
class FilterSplitArgs:
    """Filters that select the items of each set; "-" matches nothing.

    :param training_filter: Filter of the items for training; "-" matches nothing.
    :param validation_filter: Filter of the items for validation; "-" matches nothing.
    :param test_filter: Filter of the items for the test; "-" matches nothing.
    """

    training_filter: Input[str]
    """Filter of the items for training; "-" matches nothing."""
    validation_filter: Input[str]
    """Filter of the items for validation; "-" matches nothing."""
    test_filter: Input[str]
    """Filter of the items for the test; "-" matches nothing."""


@arguments_class
class PredefinedSplitArgs:
    """A column `key` with the set of each row: `training`, `validation` or `test`.

    :param key: Column that has `training`, `validation` or `test` in each row.
    """

    key: Input[str]
    """Column that has `training`, `validation` or `test` in each row."""


@arguments_class
class TimestampSplitArgs:
    """Fractions by the times (RFC 3339) in the column `key`.

    :param training_fraction: Fraction of the data for training, 0 to 1.
    :param validation_fraction: Fraction of the data for validation, 0 to 1.
    :param test_fraction: Fraction of the data for the test, 0 to 1.
    :param key: Column with the times in RFC 3339 by which the rows are ordered.
    """

    key: Input[str]
    """Column with the times in RFC 3339 by which the rows are ordered."""
    training_fraction: Input[float | None] = None
    """Fraction of the data for training, 0 to 1."""
    validation_fraction: Input[float | None] = None
    """Fraction of the data for validation, 0 to 1."""
    test_fraction: Input[float | None] = None
    """Fraction of the data for the test, 0 to 1."""


@arguments_class
class StratifiedSplitArgs:
    """Fractions that keep the distribution of the values in the column `key`.

    :param training_fraction: Fraction of the data for training, 0 to 1.
    :param validation_fraction: Fraction of the data for validation, 0 to 1.
    :param test_fraction: Fraction of the data for the test, 0 to 1.
    :param key: Column whose distribution of values each set keeps.
    """

    key: Input[str]
    """Column whose distribution of values each set keeps."""
    training_fraction: Input[float | None] = None
    """Fraction of the data for training, 0 to 1."""
    validation_fraction: Input[float | None] = None
    """Fraction of the data for validation, 0 to 1."""
    test_fraction: Input[float | None] = None
    """Fraction of the data for the test, 0 to 1."""


@arguments_class
class InputDataConfigArgs:
    """A dataset of the pipeline's project and location, with at most one split and one destination.

    :param dataset_id: Dataset, by its id or full name. It must be in the pipeline's project and location.
    :param fraction_split: Split by fractions. At most one split can be set; the service's default is 0.8, 0.1
        and 0.1.
    :param filter_split: Split by filters.
    :param predefined_split: Split by a column that names the set.
    :param timestamp_split: Split by the times in a column.
    :param stratified_split: Split that keeps the distribution of a column.
    :param gcs_destination: The gs:// directory to which the data is written. Default: the output directory of
        the run.
    :param bigquery_destination: BigQuery project to which the data is written, bq://PROJECT.
    :param annotations_filter: Filter of the annotations to use.
    :param annotation_schema_uri: gs:// URI of the schema of the annotations to use.
    :param saved_query_id: Id of a saved query of the dataset, which selects the annotations.
    :param persist_ml_use_assignment: Write the assigned set of each item into the dataset.
    """

    dataset_id: Input[str]
    """Dataset, by its id or full name. It must be in the pipeline's project and location."""
    fraction_split: Input[FractionSplitArgs | None] = None
    """Split by fractions. At most one split can be set; the service's default is 0.8, 0.1 and 0.1."""
    filter_split: Input[FilterSplitArgs | None] = None
    """Split by filters."""
    predefined_split: Input[PredefinedSplitArgs | None] = None
    """Split by a column that names the set."""
    timestamp_split: Input[TimestampSplitArgs | None] = None
    """Split by the times in a column."""
    stratified_split: Input[StratifiedSplitArgs | None] = None
    """Split that keeps the distribution of a column."""
    gcs_destination: Input[str | None] = None
    """The gs:// directory to which the data is written. Default: the output directory of the run."""
    bigquery_destination: Input[str | None] = None
    """BigQuery project to which the data is written, bq://PROJECT."""
    annotations_filter: Input[str | None] = None
    """Filter of the annotations to use."""
    annotation_schema_uri: Input[str | None] = None
    """gs:// URI of the schema of the annotations to use."""
    saved_query_id: Input[str | None] = None
    """Id of a saved query of the dataset, which selects the annotations."""
    persist_ml_use_assignment: Input[bool | None] = None
    """Write the assigned set of each item into the dataset."""


@arguments_class
class ModelContainerSpecArgs:
    """The container that serves predictions.

    :param image_uri: Image of the serving container: a resource, or its name in Artifact Registry or
        Container Registry.
    :param command: Command that replaces the image's ENTRYPOINT.
    :param args: Arguments of the command; they replace the image's CMD.
    :param env: Environment variables of the container.
    :param ports: Ports that the container listens on for HTTP; predictions are sent to the first. The
        service's default is 8080.
    :param predict_route: HTTP path for predictions.
    :param health_route: HTTP path for health checks.
    :param invoke_route_prefix: Prefix of HTTP paths for requests of any kind.
    :param grpc_ports: Ports that the container listens on for gRPC; predictions are sent to the first.
    :param deployment_timeout: Time limit of a deployment, such as "1800s"; 2 hours at most.
    :param shared_memory_size_mb: Shared memory of the container's VM in MB.
    :param startup_probe: Check that the container's application has started.
    :param health_probe: Check that the container is ready for requests.
    :param liveness_probe: Check that the container is running.
    """

    image_uri: ImageLike
    """Image of the serving container: a resource, or its name in Artifact Registry or Container Registry."""
    command: Input[Sequence[Input[str]] | None] = None
    """Command that replaces the image's ENTRYPOINT."""
    args: Input[Sequence[Input[str]] | None] = None
    """Arguments of the command; they replace the image's CMD."""
    env: Input[Sequence[Input[EnvVarArgs]] | None] = None
    """Environment variables of the container."""
    ports: Input[Sequence[Input[int]] | None] = None
    """Ports that the container listens on for HTTP; predictions are sent to the first. The service's default
    is 8080.
    """
    predict_route: Input[str | None] = None
    """HTTP path for predictions."""
    health_route: Input[str | None] = None
    """HTTP path for health checks."""
    invoke_route_prefix: Input[str | None] = None
    """Prefix of HTTP paths for requests of any kind."""
    grpc_ports: Input[Sequence[Input[int]] | None] = None
    """Ports that the container listens on for gRPC; predictions are sent to the first."""
    deployment_timeout: Input[str | None] = None
    """Time limit of a deployment, such as "1800s"; 2 hours at most."""
    shared_memory_size_mb: Input[int | None] = None
    """Shared memory of the container's VM in MB."""
    startup_probe: Input[Mapping[str, Any] | None] = None
    """Check that the container's application has started."""
    health_probe: Input[Mapping[str, Any] | None] = None
    """Check that the container is ready for requests."""
    liveness_probe: Input[Mapping[str, Any] | None] = None
    """Check that the container is running."""


@arguments_class
class PredictSchemataArgs:
    """Schemas (OpenAPI 3.0.2, in a bucket) of one instance, of the parameters and of one prediction.

    :param instance_schema_uri: gs:// URI of the schema of one instance.
    :param parameters_schema_uri: gs:// URI of the schema of the parameters of a prediction.
    :param prediction_schema_uri: gs:// URI of the schema of one prediction.
    """

    instance_schema_uri: Input[str | None] = None
    """gs:// URI of the schema of one instance."""
    parameters_schema_uri: Input[str | None] = None
    """gs:// URI of the schema of the parameters of a prediction."""
    prediction_schema_uri: Input[str | None] = None
    """gs:// URI of the schema of one prediction."""


@arguments_class
class ModelArgs:
    """A model, with the fields of the API's message Model that a user sets.

    :param display_name: Name for people, up to 128 characters. Default of a `Model`: the resource's name.
    :param description: Description of the model.
    :param version_description: Description of the version.
    :param version_aliases: Names for the version, such as `golden`. Other versions lose them.
    :param container_spec: Serving container. It is required with an `artifact_uri`.
    :param artifact_uri: Directory of the model's files, gs://BUCKET/PREFIX, such as
        `job.completion.model_directory` of a job with `wait="done"`. While the job has no model, an existing
        version keeps its files, and a new version is rejected. Default in a pipeline: the run's model
        directory.
    :param predict_schemata: Schemas of instances, parameters and predictions.
    :param metadata_schema_uri: gs:// URI of the schema of `metadata`.
    :param metadata: Further information about the model: any JSON value.
    :param explanation_spec: Explanation of the model's predictions, as a dictionary of the API's message
        ExplanationSpec.
    :param default_checkpoint_id: Id of the version's default checkpoint.
    :param pipeline_job: Full name of the pipeline job that made the model.
    :param base_model_source: Source of a base model, as a dictionary of the API's message.
    :param labels: Labels of the model.
    :param encryption_spec: Customer-managed key that encrypts the model.
    """

    display_name: Input[str]
    """Name for people, up to 128 characters. Default of a `Model`: the resource's name."""
    container_spec: Input[ModelContainerSpecArgs]
    """Serving container. It is required with an `artifact_uri`."""
    description: Input[str | None] = None
    """Description of the model."""
    version_description: Input[str | None] = None
    """Description of the version."""
    version_aliases: Input[Sequence[Input[str]] | None] = None
    """Names for the version, such as `golden`. Other versions lose them."""
    artifact_uri: Input[str | None] = None
    """Directory of the model's files, gs://BUCKET/PREFIX, such as `job.completion.model_directory` of a job
    with `wait="done"`. While the job has no model, an existing version keeps its files, and a new version is
    rejected. Default in a pipeline: the run's model directory.
    """
    predict_schemata: Input[PredictSchemataArgs | None] = None
    """Schemas of instances, parameters and predictions."""
    metadata_schema_uri: Input[str | None] = None
    """gs:// URI of the schema of `metadata`."""
    metadata: Input[Any | None] = None
    """Further information about the model: any JSON value."""
    explanation_spec: Input[Mapping[str, Any] | None] = None
    """Explanation of the model's predictions, as a dictionary of the API's message ExplanationSpec."""
    default_checkpoint_id: Input[str | None] = None
    """Id of the version's default checkpoint."""
    pipeline_job: Input[str | None] = None
    """Full name of the pipeline job that made the model."""
    base_model_source: Input[Mapping[str, Any] | None] = None
    """Source of a base model, as a dictionary of the API's message."""
    labels: Input[Mapping[str, Input[str]] | None] = None
    """Labels of the model."""
    encryption_spec: Input[EncryptionSpecArgs | None] = None
    """Customer-managed key that encrypts the model."""
