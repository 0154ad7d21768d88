"""`Model`: a version of a model in the Model Registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pulumi

from pulumi_vertex_training.kinds.model import gateway
from pulumi_vertex_training.kinds.model.args import (
    ModelContainerSpecArgs,
    PredictSchemataArgs,
)
from pulumi_vertex_training.kinds.model.provider import OUTPUTS
from pulumi_vertex_training.program.arguments import checks as arguments
from pulumi_vertex_training.program.arguments.job_args import EncryptionSpecArgs
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.arguments.references import image_uri
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.preview.conflicts import conflict_inputs
from pulumi_vertex_training.program.resource import ownership, target_inputs, with_outputs
from pulumi_vertex_training.program.stack_key import key_input


class Model(Resource, module="model", name="Model"):
    """A version of a model: the files in a directory of a bucket, and the container that serves them.

    A change of the files, the container or a schema creates another version of the same model: the new
    version
    is uploaded first, then the old one is deleted. `name` is the
    model's full name, `version_id` the version's number, `id` both.
    """

    name: pulumi.Output[str]
    """Full name of the model."""
    version_id: pulumi.Output[str]
    """Number of the version."""
    create_time: pulumi.Output[str]
    """Time when the version was created (RFC 3339)."""
    update_time: pulumi.Output[str]
    """Time of the last update (RFC 3339)."""
    drift: pulumi.Output[list[str]]
    """Differences that a refresh found and that no deployment changes back: another default version."""
    lineage: pulumi.Output[dict[str, Any] | None]
    """Contents of lineage.json, the image, data and commit of the run that wrote the files.

    None if no run of a stack wrote them, or if several runs share the directory.
    """
    model_id: pulumi.Output[str | None]
    """Id of the model, if it is declared or derived."""
    display_name: pulumi.Output[str]
    """Name for people."""
    location: pulumi.Output[str]
    """Region."""
    project: pulumi.Output[str]
    """Project id."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        artifact_uri: pulumi.Input[str | None] = None,
        container_spec: pulumi.Input[ModelContainerSpecArgs | Mapping[str, Any] | None] = None,
        display_name: pulumi.Input[str] | None = None,
        model_id: pulumi.Input[str | None] = None,
        parent_model: Model | pulumi.Input[str] | None = None,
        is_default_version: pulumi.Input[bool | None] = None,
        version_aliases: pulumi.Input[Sequence[pulumi.Input[str]] | None] = None,
        version_description: pulumi.Input[str | None] = None,
        description: pulumi.Input[str | None] = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        predict_schemata: pulumi.Input[PredictSchemataArgs | Mapping[str, Any] | None] = None,
        metadata_schema_uri: pulumi.Input[str | None] = None,
        metadata: pulumi.Input[Any | None] = None,
        explanation_spec: pulumi.Input[Mapping[str, Any] | None] = None,
        default_checkpoint_id: pulumi.Input[str | None] = None,
        pipeline_job: pulumi.Input[str | None] = None,
        base_model_source: pulumi.Input[Mapping[str, Any] | None] = None,
        encryption_spec: pulumi.Input[EncryptionSpecArgs | Mapping[str, Any] | None] = None,
        service_account: pulumi.Input[str | None] = None,
        adopt: str | None = None,
        on_delete: Literal["keep", "delete"] = "keep",
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a version.

        :param resource_name: Name of the resource in the program.
        :param artifact_uri: Directory of the model's files, gs://BUCKET/PREFIX, such as
            `job.completion.model_directory` of a job with `wait="done"`. While the job has no model, an
            existing version keeps its files, and a new version is rejected. Default in a pipeline: the run's
            model directory.
        :param container_spec: Serving container. It is required with an `artifact_uri`.
        :param display_name: Name for people, up to 128 characters. Default of a `Model`: the resource's name.
        :param model_id: Id of the model. The first version creates the model. Default: see
            docs/guides/programs/previews.md#ids.
        :param parent_model: Model that gets this version: a `Model`, or its id or full name.
        :param is_default_version: Make this version the one that is used when none is named.
        :param version_aliases: Names for the version, such as `golden`. Other versions lose them.
        :param version_description: Description of the version.
        :param description: Description of the model.
        :param labels: Labels of the model.
        :param predict_schemata: Schemas of instances, parameters and predictions.
        :param metadata_schema_uri: gs:// URI of the schema of `metadata`.
        :param metadata: Further information about the model: any JSON value.
        :param explanation_spec: Explanation of the model's predictions, as a dictionary of the API's message
            ExplanationSpec.
        :param default_checkpoint_id: Id of the version's default checkpoint.
        :param pipeline_job: Full name of the pipeline job that made the model.
        :param base_model_source: Source of a base model, as a dictionary of the API's message.
        :param encryption_spec: Customer-managed key that encrypts the model.
        :param service_account: Address of the account that reads the files during the upload.
        :param adopt: Existing version to adopt, MODEL@VERSION, instead of uploading one.
        :param on_delete: `keep` leaves the version in the registry when the resource is destroyed; `delete`
            deletes it, and the model with its last version.
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        inputs = {
            "artifact_uri": empty_if_none(artifact_uri),
            "container_spec": with_serving_image(container_spec),
            "display_name": resource_name if display_name is None else display_name,
            "model_id": model_id,
            "parent_model": parent_name(resource_name, parent_model),
            "is_default_version": is_default_version,
            "version_aliases": version_aliases,
            "version_description": version_description,
            "description": description,
            "labels": labels,
            "predict_schemata": predict_schemata,
            "metadata_schema_uri": metadata_schema_uri,
            "metadata": metadata,
            "explanation_spec": explanation_spec,
            "default_checkpoint_id": default_checkpoint_id,
            "pipeline_job": pipeline_job,
            "base_model_source": base_model_source,
            "encryption_spec": encryption_spec,
            "service_account": service_account,
            "adopt": adopt,
            "on_delete": on_delete,
            "marks": ownership(resource_name),
            **unknown_arguments(self),
            **target_inputs(project, location),
        }
        props = {
            **with_outputs(inputs, *OUTPUTS, "model_id"),
            **key_input(self, "Model", resource_name, opts),
            **conflict_inputs(resource_name, opts, inputs, "model_id", gateway.labels_of),
        }
        super().__init__("Model", resource_name, props, opts)


def with_serving_image(value: object) -> Any:
    """Replace an image that is a resource by its name in a dictionary of a model or of its container.

    The argument classes do so themselves.
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


def parent_name(
    resource_name: str, parent_model: Model | pulumi.Input[str] | None
) -> pulumi.Input[str] | None:
    """Return the id or full name of the model that gets a further version.

    An output that is None is rejected, since it would create a separate model.
    """
    if isinstance(parent_model, Model):
        return parent_model.name
    remedy = (
        'its source has not uploaded a model (yet). Give the source wait="done", or run `pulumi up` again '
        "when it has ended"
    )
    named: pulumi.Input[str] | None = arguments.not_none(
        resource_name, "parent_model", parent_model, remedy=remedy
    )
    return named


def empty_if_none(artifact_uri: pulumi.Input[str | None]) -> pulumi.Input[str | None]:
    """Replace None in an output by "", since None means that the model has no files."""
    if not isinstance(artifact_uri, pulumi.Output):
        return artifact_uri
    return artifact_uri.apply(lambda known: "" if known is None else known)
