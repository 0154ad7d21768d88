"""`Model`: a version of a model in the Model Registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.kinds.model import files as model_files
from pulumi_vertex_training.kinds.model.args import (
    ModelContainerSpecArgs,
    PredictSchemataArgs,
    with_serving_image,
)
from pulumi_vertex_training.kinds.model.provider import OUTPUTS, ModelProvider
from pulumi_vertex_training.program import checks as arguments
from pulumi_vertex_training.program.job_args import EncryptionSpecArgs
from pulumi_vertex_training.program.resource import ownership, target_inputs, with_outputs


class Model(Resource, module="model", name="Model"):
    """A version of a model: the files in a directory of a bucket, and the container that serves them.

    Names, descriptions, labels and aliases are updated in place. A change of the files, the container or a
    schema creates another version of the same model: the new version is uploaded first, then the old one is
    deleted. The model is deleted with its last version. `name` is the model's full name, `version_id` the
    version's number, `id` both.
    """

    name: pulumi.Output[str]
    version_id: pulumi.Output[str]
    create_time: pulumi.Output[str]
    update_time: pulumi.Output[str]
    model_id: pulumi.Output[str | None]
    display_name: pulumi.Output[str]
    location: pulumi.Output[str]
    project: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        artifact_uri: pulumi.Input[str] | None = None,
        container_spec: pulumi.Input[ModelContainerSpecArgs] | Mapping[str, Any] | None = None,
        display_name: pulumi.Input[str] | None = None,
        model_id: pulumi.Input[str] | None = None,
        parent_model: Model | pulumi.Input[str] | None = None,
        is_default_version: pulumi.Input[bool] | None = None,
        version_aliases: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        version_description: pulumi.Input[str] | None = None,
        description: pulumi.Input[str] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        predict_schemata: pulumi.Input[PredictSchemataArgs] | Mapping[str, Any] | None = None,
        metadata_schema_uri: pulumi.Input[str] | None = None,
        metadata: pulumi.Input[Any] | None = None,
        explanation_spec: pulumi.Input[Mapping[str, Any]] | None = None,
        default_checkpoint_id: pulumi.Input[str] | None = None,
        pipeline_job: pulumi.Input[str] | None = None,
        base_model_source: pulumi.Input[Mapping[str, Any]] | None = None,
        encryption_spec: pulumi.Input[EncryptionSpecArgs] | Mapping[str, Any] | None = None,
        service_account: pulumi.Input[str] | None = None,
        adopt: str | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare a version.

        :param artifact_uri: the directory of the model's files, gs://BUCKET/PREFIX, such as
            `job.completion["model_directory"]` of a job with `wait="done"`. While the job has no model, an
            existing version keeps its files, and a new version is rejected.
        :param container_spec: the serving container; required with an `artifact_uri`.
        :param display_name: default: the resource's name.
        :param model_id: the model's id. Default: derived from the resource's name, and kept when an alias
            renames the resource. The first version creates the model.
        :param parent_model: the model that gets this version, by its id or full name.
        :param is_default_version: whether this version is used when none is named; default true.
        :param version_aliases: names for this version, such as `golden`; other versions lose them.
        :param service_account: the account that reads the files during the upload.
        :param adopt: an existing version to adopt, MODEL@VERSION, instead of uploading one.
        :param more: unsupported arguments; each one is rejected by name.
        """
        inputs = {
            "artifact_uri": model_files.empty_if_none(artifact_uri),
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
            "marks": ownership(resource_name),
            **more,
            **target_inputs(project, location),
        }
        super().__init__(ModelProvider(), resource_name, with_outputs(inputs, *OUTPUTS, "model_id"), opts)


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
