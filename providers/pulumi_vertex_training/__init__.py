"""Distributed training on Vertex AI as Pulumi resources. Usually imported as `vt`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.args import (
    ContainerSpecArgs,
    DiskSpecArgs,
    DnsPeeringConfigArgs,
    EncryptionSpecArgs,
    EnvVarArgs,
    LustreMountArgs,
    MachineSpecArgs,
    NfsMountArgs,
    PscInterfaceConfigArgs,
    PythonPackageSpecArgs,
    ReservationAffinityArgs,
    SchedulingArgs,
    WorkerPoolSpecArgs,
    chief_worker_pool,
    topology,
)
from pulumi_vertex_training.bucket_args import (
    AutoclassArgs,
    BucketEncryptionArgs,
    BucketLoggingArgs,
    CorsRuleArgs,
    CustomPlacementConfigArgs,
    EncryptionEnforcementArgs,
    IpFilterArgs,
    LifecycleActionArgs,
    LifecycleConditionArgs,
    LifecycleRuleArgs,
    PublicNetworkSourceArgs,
    RetentionPolicyArgs,
    SoftDeletePolicyArgs,
    VpcNetworkSourceArgs,
    WebsiteArgs,
)
from pulumi_vertex_training.resources.common import location, on_google, project
from pulumi_vertex_training.resources.custom_job import CustomJob
from pulumi_vertex_training.resources.distributed_training import DistributedTraining
from pulumi_vertex_training.resources.image_repository import ImageRepository
from pulumi_vertex_training.resources.staged import StagedFile, StagedPackage
from pulumi_vertex_training.resources.staging_bucket import StagingBucket
from pulumi_vertex_training.resources.training_image import TrainingImage

if TYPE_CHECKING:
    from pulumi_vertex_training.model_args import (
        FilterSplitArgs,
        FractionSplitArgs,
        InputDataConfigArgs,
        ModelArgs,
        ModelContainerSpecArgs,
        PredefinedSplitArgs,
        PredictSchemataArgs,
        StratifiedSplitArgs,
        TimestampSplitArgs,
    )
    from pulumi_vertex_training.persistent_resource_args import (
        AutoscalingSpecArgs,
        RayLogsSpecArgs,
        RayMetricSpecArgs,
        RaySpecArgs,
        ResourcePoolArgs,
        ResourceRuntimeSpecArgs,
        ServiceAccountSpecArgs,
    )
    from pulumi_vertex_training.resources.hyperparameter_tuning_job import HyperparameterTuningJob
    from pulumi_vertex_training.resources.model import Model
    from pulumi_vertex_training.resources.persistent_resource import PersistentResource
    from pulumi_vertex_training.resources.training_pipeline import TrainingPipeline
    from pulumi_vertex_training.study_forms import (
        categorical_parameter,
        discrete_parameter,
        double_parameter,
        integer_parameter,
        maximize,
        minimize,
        when,
    )
    from pulumi_vertex_training.task_forms import task_from_image, task_from_package, task_from_script
    from pulumi_vertex_training.tuning_args import (
        CategoricalValueConditionArgs,
        CategoricalValueSpecArgs,
        ConditionalParameterSpecArgs,
        ConvexAutomatedStoppingSpecArgs,
        DecayCurveAutomatedStoppingSpecArgs,
        DiscreteValueConditionArgs,
        DiscreteValueSpecArgs,
        DoubleValueSpecArgs,
        IntegerValueSpecArgs,
        IntValueConditionArgs,
        MedianAutomatedStoppingSpecArgs,
        MetricSpecArgs,
        ParameterSpecArgs,
        SafetyMetricConfigArgs,
        StudySpecArgs,
        StudyStoppingConfigArgs,
        StudyTimeConstraintArgs,
        TrialJobSpecArgs,
    )

__all__ = [
    "AutoclassArgs",
    "AutoscalingSpecArgs",
    "BucketEncryptionArgs",
    "BucketLoggingArgs",
    "CategoricalValueConditionArgs",
    "CategoricalValueSpecArgs",
    "ConditionalParameterSpecArgs",
    "ContainerSpecArgs",
    "ConvexAutomatedStoppingSpecArgs",
    "CorsRuleArgs",
    "CustomJob",
    "CustomPlacementConfigArgs",
    "DecayCurveAutomatedStoppingSpecArgs",
    "DiscreteValueConditionArgs",
    "DiscreteValueSpecArgs",
    "DiskSpecArgs",
    "DistributedTraining",
    "DnsPeeringConfigArgs",
    "DoubleValueSpecArgs",
    "EncryptionEnforcementArgs",
    "EncryptionSpecArgs",
    "EnvVarArgs",
    "FilterSplitArgs",
    "FractionSplitArgs",
    "HyperparameterTuningJob",
    "ImageRepository",
    "InputDataConfigArgs",
    "IntValueConditionArgs",
    "IntegerValueSpecArgs",
    "IpFilterArgs",
    "LifecycleActionArgs",
    "LifecycleConditionArgs",
    "LifecycleRuleArgs",
    "LustreMountArgs",
    "MachineSpecArgs",
    "MedianAutomatedStoppingSpecArgs",
    "MetricSpecArgs",
    "Model",
    "ModelArgs",
    "ModelContainerSpecArgs",
    "NfsMountArgs",
    "ParameterSpecArgs",
    "PersistentResource",
    "PredefinedSplitArgs",
    "PredictSchemataArgs",
    "PscInterfaceConfigArgs",
    "PublicNetworkSourceArgs",
    "PythonPackageSpecArgs",
    "RayLogsSpecArgs",
    "RayMetricSpecArgs",
    "RaySpecArgs",
    "ReservationAffinityArgs",
    "ResourcePoolArgs",
    "ResourceRuntimeSpecArgs",
    "RetentionPolicyArgs",
    "SafetyMetricConfigArgs",
    "SchedulingArgs",
    "ServiceAccountSpecArgs",
    "SoftDeletePolicyArgs",
    "StagedFile",
    "StagedPackage",
    "StagingBucket",
    "StratifiedSplitArgs",
    "StudySpecArgs",
    "StudyStoppingConfigArgs",
    "StudyTimeConstraintArgs",
    "TimestampSplitArgs",
    "TrainingImage",
    "TrainingPipeline",
    "TrialJobSpecArgs",
    "VpcNetworkSourceArgs",
    "WebsiteArgs",
    "WorkerPoolSpecArgs",
    "categorical_parameter",
    "chief_worker_pool",
    "discrete_parameter",
    "double_parameter",
    "integer_parameter",
    "location",
    "maximize",
    "minimize",
    "on_google",
    "project",
    "task_from_image",
    "task_from_package",
    "task_from_script",
    "topology",
    "when",
]

_LATER: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "model_args": (
            "FilterSplitArgs",
            "FractionSplitArgs",
            "InputDataConfigArgs",
            "ModelArgs",
            "ModelContainerSpecArgs",
            "PredefinedSplitArgs",
            "PredictSchemataArgs",
            "StratifiedSplitArgs",
            "TimestampSplitArgs",
        ),
        "persistent_resource_args": (
            "AutoscalingSpecArgs",
            "RayLogsSpecArgs",
            "RayMetricSpecArgs",
            "RaySpecArgs",
            "ResourcePoolArgs",
            "ResourceRuntimeSpecArgs",
            "ServiceAccountSpecArgs",
        ),
        "resources.hyperparameter_tuning_job": ("HyperparameterTuningJob",),
        "resources.model": ("Model",),
        "resources.persistent_resource": ("PersistentResource",),
        "resources.training_pipeline": ("TrainingPipeline",),
        "study_forms": (
            "categorical_parameter",
            "discrete_parameter",
            "double_parameter",
            "integer_parameter",
            "maximize",
            "minimize",
            "when",
        ),
        "task_forms": (
            "task_from_image",
            "task_from_package",
            "task_from_script",
        ),
        "tuning_args": (
            "CategoricalValueConditionArgs",
            "CategoricalValueSpecArgs",
            "ConditionalParameterSpecArgs",
            "ConvexAutomatedStoppingSpecArgs",
            "DecayCurveAutomatedStoppingSpecArgs",
            "DiscreteValueConditionArgs",
            "DiscreteValueSpecArgs",
            "DoubleValueSpecArgs",
            "IntegerValueSpecArgs",
            "IntValueConditionArgs",
            "MedianAutomatedStoppingSpecArgs",
            "MetricSpecArgs",
            "ParameterSpecArgs",
            "SafetyMetricConfigArgs",
            "StudySpecArgs",
            "StudyStoppingConfigArgs",
            "StudyTimeConstraintArgs",
            "TrialJobSpecArgs",
        ),
    }
)
"""What is loaded when it is first named: names by module. A program pays for the kinds that it uses."""


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
