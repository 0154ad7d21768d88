"""Distributed training on Vertex AI as Pulumi resources. Usually imported as `vt`."""

from __future__ import annotations

from pulumi_vertex_training.args import (
    ContainerSpecArgs,
    DiskSpecArgs,
    EnvVarArgs,
    MachineSpecArgs,
    PythonPackageSpecArgs,
    SchedulingArgs,
    WorkerPoolSpecArgs,
    topology,
)
from pulumi_vertex_training.resources.common import location, on_google, project
from pulumi_vertex_training.resources.custom_job import CustomJob
from pulumi_vertex_training.resources.staged import StagedFile, StagedPackage
from pulumi_vertex_training.resources.staging_bucket import StagingBucket

__all__ = [
    "ContainerSpecArgs",
    "CustomJob",
    "DiskSpecArgs",
    "EnvVarArgs",
    "MachineSpecArgs",
    "PythonPackageSpecArgs",
    "SchedulingArgs",
    "StagedFile",
    "StagedPackage",
    "StagingBucket",
    "WorkerPoolSpecArgs",
    "location",
    "on_google",
    "project",
    "topology",
]
