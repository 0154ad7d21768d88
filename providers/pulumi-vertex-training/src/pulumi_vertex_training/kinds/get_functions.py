"""The functions that read resources which exist already: `get_custom_job`, `get_model` and so on.

Each one imports its kind when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_vertex_training.core.get_functions import JobArguments
from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import read_existing

if TYPE_CHECKING:
    from pulumi_vertex_training.kinds.custom_job.lookup import ExistingCustomJob
    from pulumi_vertex_training.kinds.hyperparameter_tuning_job.lookup import ExistingHyperparameterTuningJob
    from pulumi_vertex_training.kinds.image_repository.lookup import ExistingImageRepository
    from pulumi_vertex_training.kinds.model.lookup import ExistingModel
    from pulumi_vertex_training.kinds.persistent_resource.lookup import ExistingPersistentResource
    from pulumi_vertex_training.kinds.staging_bucket.lookup import ExistingBucket
    from pulumi_vertex_training.kinds.training_pipeline.lookup import ExistingTrainingPipeline


@checked_call
def get_custom_job(job: str, *, project: str | None = None, location: str | None = None) -> ExistingCustomJob:
    """Return an existing job of the stack's endpoint, live or ended. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such job. For an Output, use `.apply(vt.get_custom_job)`.

    :param job: Id or full name.
    :param project: Project id. Default: that of the full name, else the stack's project.
    :param location: Region. Default: that of the full name, else the stack's location.
    """
    from pulumi_vertex_training.kinds.custom_job import lookup

    return read_existing(lookup.LOOKUP, JobArguments(job=job, project=project, location=location))


@checked_call
def get_hyperparameter_tuning_job(
    job: str, *, project: str | None = None, location: str | None = None
) -> ExistingHyperparameterTuningJob:
    """Return an existing tuning job of the stack's endpoint, live or ended. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such job.

    :param job: Id or full name.
    :param project: Project id. Default: that of the full name, else the stack's project.
    :param location: Region. Default: that of the full name, else the stack's location.
    """
    from pulumi_vertex_training.kinds.hyperparameter_tuning_job import lookup

    return read_existing(lookup.LOOKUP, JobArguments(job=job, project=project, location=location))


@checked_call
def get_training_pipeline(
    job: str, *, project: str | None = None, location: str | None = None
) -> ExistingTrainingPipeline:
    """Return an existing pipeline of the stack's endpoint, live or ended. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such pipeline.

    :param job: Id or full name.
    :param project: Project id. Default: that of the full name, else the stack's project.
    :param location: Region. Default: that of the full name, else the stack's location.
    """
    from pulumi_vertex_training.kinds.training_pipeline import lookup

    return read_existing(lookup.LOOKUP, JobArguments(job=job, project=project, location=location))


@checked_call
def get_model(
    model_id: str, *, version: str = "", project: str | None = None, location: str | None = None
) -> ExistingModel:
    """Return an existing version of a model of the stack's endpoint. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such version.

    :param model_id: Id of the model, the last part of its name.
    :param version: Number or alias of the version. Default: the model's default version.
    :param project: Project id. Default: the stack's project.
    :param location: Region. Default: the stack's location.
    """
    from pulumi_vertex_training.kinds.model import lookup

    return read_existing(
        lookup.LOOKUP,
        lookup.ModelArguments(model_id=model_id, version=version, project=project, location=location),
    )


@checked_call
def get_staging_bucket(name: str, *, project: str | None = None) -> ExistingBucket:
    """Return an existing bucket of the stack's endpoint. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such bucket. For an Output, use `.apply(vt.get_staging_bucket)`.

    :param name: Name of the bucket, without gs://.
    :param project: Project id for the call. Default: the stack's project.
    """
    from pulumi_vertex_training.kinds.staging_bucket import lookup

    return read_existing(lookup.LOOKUP, lookup.BucketArguments(name=name, project=project))


@checked_call
def get_image_repository(
    repository_id: str, *, project: str | None = None, location: str | None = None
) -> ExistingImageRepository:
    """Return an existing repository of the stack's endpoint. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such repository.

    :param repository_id: Id of the repository, the last part of its name.
    :param project: Project id. Default: the stack's project.
    :param location: Location of the repository. Default: the stack's location.
    """
    from pulumi_vertex_training.kinds.image_repository import lookup

    return read_existing(
        lookup.LOOKUP,
        lookup.RepositoryArguments(repository_id=repository_id, project=project, location=location),
    )


@checked_call
def get_persistent_resource(
    persistent_resource_id: str, *, project: str | None = None, location: str | None = None
) -> ExistingPersistentResource:
    """Return an existing persistent resource of the stack's endpoint. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such resource.

    :param persistent_resource_id: Id, the last part of its name.
    :param project: Project id. Default: the stack's project.
    :param location: Region. Default: the stack's location.
    """
    from pulumi_vertex_training.kinds.persistent_resource import lookup

    return read_existing(
        lookup.LOOKUP,
        lookup.PersistentResourceArguments(
            persistent_resource_id=persistent_resource_id, project=project, location=location
        ),
    )
