"""Typed arguments of a persistent resource. Written by `make generate` from the messages: do not edit."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi import Input

from pulumi_vertex_training.program.arguments.arguments_class import arguments_class
from pulumi_vertex_training.program.arguments.job_args import DiskSpecArgs, MachineSpecArgs


@arguments_class
class AutoscalingSpecArgs:
    """The bounds between which the service scales a resource pool.

    :param min_replica_count: Smallest number of machines.
    :param max_replica_count: Largest number of machines.
    """

    min_replica_count: Input[int]
    """Smallest number of machines."""
    max_replica_count: Input[int]
    """Largest number of machines."""


@arguments_class
class ResourcePoolArgs:
    """Machines of one kind in a persistent resource; the service chooses `id` if it is not given.

    :param machine_spec: Machine of the pool. A worker pool of a job needs a resource pool with exactly its
        machine and disk.
    :param id: Id of the pool, unique in the persistent resource. Default: the service chooses one.
    :param replica_count: Number of machines; with `autoscaling_spec`, the initial number.
    :param disk_spec: Boot disk of the machines.
    :param autoscaling_spec: Limits between which the service changes the number of machines. Give this,
        `replica_count`, or both.
    """

    machine_spec: Input[MachineSpecArgs]
    """Machine of the pool. A worker pool of a job needs a resource pool with exactly its machine and disk."""
    id: Input[str | None] = None
    """Id of the pool, unique in the persistent resource. Default: the service chooses one."""
    replica_count: Input[int | None] = None
    """Number of machines; with `autoscaling_spec`, the initial number."""
    disk_spec: Input[DiskSpecArgs | None] = None
    """Boot disk of the machines."""
    autoscaling_spec: Input[AutoscalingSpecArgs | None] = None
    """Limits between which the service changes the number of machines. Give this, `replica_count`, or both.
    """


@arguments_class
class ServiceAccountSpecArgs:
    """Service account settings.

    :param enable_custom_service_account: Let jobs run as a service account of their own. Each job must then
        name one.
    :param service_account: Address of the service account of a Ray cluster, and of jobs that name none.
    """

    enable_custom_service_account: Input[bool]
    """Let jobs run as a service account of their own. Each job must then name one."""
    service_account: Input[str | None] = None
    """Address of the service account of a Ray cluster, and of jobs that name none."""


@arguments_class
class RayMetricSpecArgs:
    """Collection of Ray's metrics.

    :param disabled: Do not collect Ray's metrics.
    """

    disabled: Input[bool | None] = None
    """Do not collect Ray's metrics."""


@arguments_class
class RayLogsSpecArgs:
    """Export of Ray's logs to Cloud Logging.

    :param disabled: Do not export Ray's logs to Cloud Logging.
    """

    disabled: Input[bool | None] = None
    """Do not export Ray's logs to Cloud Logging."""


@arguments_class
class RaySpecArgs:
    """Settings of a Ray cluster: one image for all pools, or an image for each pool by its id.

    :param image_uri: Image of all pools. Give this or `resource_pool_images`.
    :param resource_pool_images: Image of each pool by the pool's id.
    :param head_node_resource_pool_id: Id of the pool with the head node. Default: the first pool.
    :param ray_metric_spec: Collection of Ray's metrics.
    :param ray_logs_spec: Export of Ray's logs.
    """

    image_uri: Input[str | None] = None
    """Image of all pools. Give this or `resource_pool_images`."""
    resource_pool_images: Input[Mapping[str, Input[str]] | None] = None
    """Image of each pool by the pool's id."""
    head_node_resource_pool_id: Input[str | None] = None
    """Id of the pool with the head node. Default: the first pool."""
    ray_metric_spec: Input[RayMetricSpecArgs | None] = None
    """Collection of Ray's metrics."""
    ray_logs_spec: Input[RayLogsSpecArgs | None] = None
    """Export of Ray's logs."""


@arguments_class
class ResourceRuntimeSpecArgs:
    """Service account and Ray cluster of the machines.

    :param service_account_spec: Service accounts of the jobs.
    :param ray_spec: Ray cluster on the machines.
    """

    service_account_spec: Input[ServiceAccountSpecArgs | None] = None
    """Service accounts of the jobs."""
    ray_spec: Input[RaySpecArgs | None] = None
    """Ray cluster on the machines."""
