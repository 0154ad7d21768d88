"""Typed arguments of a persistent resource, named and shaped like the API's messages.

Plain dictionaries work as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pulumi import Input

from pulumi_vertex_training.program.job_args import DiskSpecArgs, MachineSpecArgs, arguments_class


@arguments_class
class AutoscalingSpecArgs:
    """Minimum and maximum size of an autoscaled pool."""

    min_replica_count: Input[int]
    max_replica_count: Input[int]


@arguments_class
class ResourcePoolArgs:
    """Pool of equal machines.

    Set `replica_count`, `autoscaling_spec`, or both. With both, `replica_count` is the initial size.
    """

    machine_spec: Input[MachineSpecArgs]
    replica_count: Input[int] | None = None
    id: Input[str] | None = None
    disk_spec: Input[DiskSpecArgs] | None = None
    autoscaling_spec: Input[AutoscalingSpecArgs] | None = None


@arguments_class
class ServiceAccountSpecArgs:
    """Service account settings: if custom accounts are enabled, each job must name a service account."""

    enable_custom_service_account: Input[bool]
    service_account: Input[str] | None = None


@arguments_class
class RayMetricSpecArgs:
    """Collection of Ray's metrics."""

    disabled: Input[bool] | None = None


@arguments_class
class RayLogsSpecArgs:
    """Export of Ray's logs to Cloud Logging."""

    disabled: Input[bool] | None = None


@arguments_class
class RaySpecArgs:
    """Settings of a Ray cluster. Set one image for all pools, or an image for each pool by its id."""

    image_uri: Input[str] | None = None
    resource_pool_images: Input[Mapping[str, Input[str]]] | None = None
    head_node_resource_pool_id: Input[str] | None = None
    ray_metric_spec: Input[RayMetricSpecArgs] | None = None
    ray_logs_spec: Input[RayLogsSpecArgs] | None = None


@arguments_class
class ResourceRuntimeSpecArgs:
    """Service account and Ray cluster of the machines."""

    service_account_spec: Input[ServiceAccountSpecArgs] | None = None
    ray_spec: Input[RaySpecArgs] | None = None


ResourcePool = ResourcePoolArgs | Mapping[str, object]
ResourcePools = Input[Sequence[Input[ResourcePool]]]
