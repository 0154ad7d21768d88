"""Distributed training on Vertex AI as Pulumi resources. Usually imported as `vt`."""

from __future__ import annotations

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
from pulumi_vertex_training.persistent_resource_args import (
    AutoscalingSpecArgs,
    RayLogsSpecArgs,
    RayMetricSpecArgs,
    RaySpecArgs,
    ResourcePoolArgs,
    ResourceRuntimeSpecArgs,
    ServiceAccountSpecArgs,
)
from pulumi_vertex_training.resources.common import location, on_google, project
from pulumi_vertex_training.resources.custom_job import CustomJob
from pulumi_vertex_training.resources.distributed_training import DistributedTraining
from pulumi_vertex_training.resources.image_repository import ImageRepository
from pulumi_vertex_training.resources.persistent_resource import PersistentResource
from pulumi_vertex_training.resources.staged import StagedFile, StagedPackage
from pulumi_vertex_training.resources.staging_bucket import StagingBucket
from pulumi_vertex_training.resources.training_image import TrainingImage

__all__ = [
    "AutoclassArgs",
    "AutoscalingSpecArgs",
    "BucketEncryptionArgs",
    "BucketLoggingArgs",
    "ContainerSpecArgs",
    "CorsRuleArgs",
    "CustomJob",
    "CustomPlacementConfigArgs",
    "DiskSpecArgs",
    "DistributedTraining",
    "DnsPeeringConfigArgs",
    "EncryptionEnforcementArgs",
    "EncryptionSpecArgs",
    "EnvVarArgs",
    "ImageRepository",
    "IpFilterArgs",
    "LifecycleActionArgs",
    "LifecycleConditionArgs",
    "LifecycleRuleArgs",
    "LustreMountArgs",
    "MachineSpecArgs",
    "NfsMountArgs",
    "PersistentResource",
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
    "SchedulingArgs",
    "ServiceAccountSpecArgs",
    "SoftDeletePolicyArgs",
    "StagedFile",
    "StagedPackage",
    "StagingBucket",
    "TrainingImage",
    "VpcNetworkSourceArgs",
    "WebsiteArgs",
    "WorkerPoolSpecArgs",
    "chief_worker_pool",
    "location",
    "on_google",
    "project",
    "topology",
]
