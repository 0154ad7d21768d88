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
from pulumi_vertex_training.resources.common import location, on_google, project
from pulumi_vertex_training.resources.custom_job import CustomJob
from pulumi_vertex_training.resources.image_repository import ImageRepository
from pulumi_vertex_training.resources.staged import StagedFile, StagedPackage
from pulumi_vertex_training.resources.staging_bucket import StagingBucket
from pulumi_vertex_training.resources.training_image import TrainingImage

__all__ = [
    "ContainerSpecArgs",
    "CustomJob",
    "DiskSpecArgs",
    "DnsPeeringConfigArgs",
    "EncryptionSpecArgs",
    "EnvVarArgs",
    "ImageRepository",
    "LustreMountArgs",
    "MachineSpecArgs",
    "NfsMountArgs",
    "PscInterfaceConfigArgs",
    "PythonPackageSpecArgs",
    "ReservationAffinityArgs",
    "SchedulingArgs",
    "StagedFile",
    "StagedPackage",
    "StagingBucket",
    "TrainingImage",
    "WorkerPoolSpecArgs",
    "chief_worker_pool",
    "location",
    "on_google",
    "project",
    "topology",
]
