"""Typed arguments of a persistent resource, named and shaped as the API's messages; plain dictionaries do as
well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pulumi import Input

from pulumi_vertex_training.program.job_args import DiskSpecArgs, MachineSpecArgs, arguments_class


@arguments_class
class AutoscalingSpecArgs:
    """Between how many machines the service keeps a pool."""

    min_replica_count: Input[int]
    max_replica_count: Input[int]


@arguments_class
class ResourcePoolArgs:
    """Machines of one kind. Give `replica_count`, an `autoscaling_spec`, or both: then it is how many there
    are at first.
    """

    machine_spec: Input[MachineSpecArgs]
    replica_count: Input[int] | None = None
    id: Input[str] | None = None
    disk_spec: Input[DiskSpecArgs] | None = None
    autoscaling_spec: Input[AutoscalingSpecArgs] | None = None


@arguments_class
class ServiceAccountSpecArgs:
    """Whether jobs have to bring a service account, and that of a Ray cluster."""

    enable_custom_service_account: Input[bool]
    service_account: Input[str] | None = None


@arguments_class
class RayMetricSpecArgs:
    """Whether Ray's metrics are collected."""

    disabled: Input[bool] | None = None


@arguments_class
class RayLogsSpecArgs:
    """Whether Ray's own logs go to Cloud Logging."""

    disabled: Input[bool] | None = None


@arguments_class
class RaySpecArgs:
    """Makes the resource a Ray cluster: one image for all pools, or one for each by the pool's id."""

    image_uri: Input[str] | None = None
    resource_pool_images: Input[Mapping[str, Input[str]]] | None = None
    head_node_resource_pool_id: Input[str] | None = None
    ray_metric_spec: Input[RayMetricSpecArgs] | None = None
    ray_logs_spec: Input[RayLogsSpecArgs] | None = None


@arguments_class
class ResourceRuntimeSpecArgs:
    """What runs on the machines, and as whom."""

    service_account_spec: Input[ServiceAccountSpecArgs] | None = None
    ray_spec: Input[RaySpecArgs] | None = None


ResourcePool = ResourcePoolArgs | Mapping[str, object]
ResourcePools = Input[Sequence[Input[ResourcePool]]]
