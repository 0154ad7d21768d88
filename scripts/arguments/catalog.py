"""The messages that have an argument class, and the resources with their specs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.kinds.custom_job import kind as custom_job
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import kind as tuning_job
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.kinds.image_repository import spec as image_repository
from pulumi_vertex_training.kinds.model import kind as registered_model
from pulumi_vertex_training.kinds.model import spec as model
from pulumi_vertex_training.kinds.persistent_resource import spec as persistent_resource
from pulumi_vertex_training.kinds.staging_bucket import settings as bucket_settings
from pulumi_vertex_training.kinds.staging_bucket import spec as staging_bucket
from pulumi_vertex_training.kinds.training_image import spec as training_image
from pulumi_vertex_training.kinds.training_pipeline import kind as training_pipeline
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec
from pulumi_vertex_training.kinds.training_schedule import spec as training_schedule
from vertex_training.fields.effects import FieldTable
from vertex_training.job import input_data, job_spec, ladder
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.notifications import notification
from vertex_training.study import study
from vertex_training.topology import pools
from vertex_training.topology.rules import resource_pools

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "providers/pulumi-vertex-training/src/pulumi_vertex_training"
KINDS = PACKAGE / "kinds"
PAGES = ROOT / "docs" / "reference" / "resources"


def _named(*messages: type) -> Mapping[str, type]:
    return {f"{message.__name__}Args": message for message in messages}


ARGS_MODULES: Mapping[str, Mapping[str, type]] = {
    "program.arguments.job_args": _named(
        pools.EnvVar,
        pools.ContainerSpec,
        pools.PythonPackageSpec,
        pools.ReservationAffinity,
        pools.MachineSpec,
        pools.DiskSpec,
        pools.NfsMount,
        pools.LustreMount,
        pools.WorkerPoolSpec,
        job_spec.Scheduling,
        job_spec.DnsPeeringConfig,
        job_spec.PscInterfaceConfig,
        job_spec.EncryptionSpec,
        ladder.Rung,
    ),
    "program.arguments.notification_args": _named(notification.Notification),
    "kinds.hyperparameter_tuning_job.args": {
        **_named(
            study.SafetyMetricConfig,
            study.MetricSpec,
            study.DoubleValueSpec,
            study.IntegerValueSpec,
            study.CategoricalValueSpec,
            study.DiscreteValueSpec,
            study.DiscreteValueCondition,
            study.IntValueCondition,
            study.CategoricalValueCondition,
            study.ConditionalParameterSpec,
            study.ParameterSpec,
            study.DecayCurveAutomatedStoppingSpec,
            study.MedianAutomatedStoppingSpec,
            study.ConvexAutomatedStoppingSpec,
            study.StudyTimeConstraint,
            study.StudyStoppingConfig,
            study.StudySpec,
        ),
        "TrialJobSpecArgs": job_spec.JobSpec,
    },
    "kinds.model.args": {
        **_named(
            input_data.FractionSplit,
            input_data.FilterSplit,
            input_data.PredefinedSplit,
            input_data.TimestampSplit,
            input_data.StratifiedSplit,
            input_data.InputDataConfig,
            model.ModelContainerSpec,
            model.PredictSchemata,
        ),
        "ModelArgs": model.ModelSpec,
    },
    "kinds.persistent_resource.args": _named(
        resource_pools.AutoscalingSpec,
        resource_pools.ResourcePool,
        persistent_resource.ServiceAccountSpec,
        persistent_resource.RayMetricSpec,
        persistent_resource.RayLogsSpec,
        persistent_resource.RaySpec,
        persistent_resource.ResourceRuntimeSpec,
    ),
    "kinds.training_schedule.args": _named(training_schedule.RetryConfig),
    "kinds.staging_bucket.args": _named(
        bucket_settings.BucketVersioning,
        bucket_settings.LifecycleAction,
        bucket_settings.LifecycleCondition,
        bucket_settings.LifecycleRule,
        bucket_settings.Autoclass,
        bucket_settings.CorsRule,
        bucket_settings.RetentionPolicy,
        bucket_settings.SoftDeletePolicy,
        bucket_settings.EncryptionEnforcement,
        bucket_settings.BucketEncryption,
        bucket_settings.BucketLogging,
        bucket_settings.Website,
        bucket_settings.CustomPlacementConfig,
        bucket_settings.PublicNetworkSource,
        bucket_settings.VpcNetworkSource,
        bucket_settings.IpFilter,
    ),
}
"""Argument classes of each generated module, with their messages."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource class in `kinds/FOLDER/resource.py`, or in FOLDER of another package.

    The fields of `spec` are arguments, and `effects` are those of their changes. `runs` means that it takes
    all run options.
    """

    name: str
    folder: str
    spec: type | None = None
    effects: FieldTable | None = None
    runs: bool = False
    package: Path = KINDS

    @property
    def module(self) -> Path:
        return self.package / self.folder / "resource.py"

    @property
    def page(self) -> Path:
        return PAGES / f"{self.name}.md"


RESOURCES = (
    Resource(
        name="CustomJob", folder="custom_job", spec=CustomJobSpec, effects=custom_job.EFFECTS, runs=True
    ),
    Resource(name="DistributedTraining", folder="distributed_training"),
    Resource(
        name="HyperparameterTuningJob",
        folder="hyperparameter_tuning_job",
        spec=HyperparameterTuningJobSpec,
        effects=tuning_job.EFFECTS,
        runs=True,
    ),
    Resource(
        name="Model",
        folder="model",
        spec=registered_model.RegisteredModelSpec,
        effects=registered_model.EFFECTS,
    ),
    Resource(
        name="TrainingPipeline",
        folder="training_pipeline",
        spec=TrainingPipelineSpec,
        effects=training_pipeline.EFFECTS,
        runs=True,
    ),
    Resource(
        name="PersistentResource",
        folder="persistent_resource",
        spec=persistent_resource.PersistentResource,
        effects=persistent_resource.EFFECTS,
    ),
    Resource(
        name="StagingBucket",
        folder="staging_bucket",
        spec=staging_bucket.BucketSpec,
        effects=staging_bucket.EFFECTS,
    ),
    Resource(name="StagedPackage", folder="staged"),
    Resource(name="StagedFile", folder="staged"),
    Resource(name="StagedFolder", folder="staged_folder"),
    Resource(
        name="ImageRepository",
        folder="image_repository",
        spec=image_repository.RepositorySpec,
        effects=image_repository.EFFECTS,
    ),
    Resource(name="TrainingEnvironment", folder="environment", package=PACKAGE),
    Resource(
        name="TrainingImage",
        folder="training_image",
        spec=training_image.TrainingImageSpec,
        effects=training_image.EFFECTS,
    ),
    Resource(
        name="TrainingSchedule",
        folder="training_schedule",
        spec=training_schedule.ScheduleSettings,
        effects=training_schedule.EFFECTS,
    ),
)
"""Every resource of the package, in the order of the reference."""
