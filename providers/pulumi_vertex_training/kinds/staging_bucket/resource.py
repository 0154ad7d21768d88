"""`StagingBucket`: a Cloud Storage bucket that holds what training jobs read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.kinds.staging_bucket.args import (
    AutoclassArgs,
    BucketEncryptionArgs,
    BucketLoggingArgs,
    CorsRuleArgs,
    CustomPlacementConfigArgs,
    IpFilterArgs,
    LifecycleRuleArgs,
    RetentionPolicyArgs,
    SoftDeletePolicyArgs,
    WebsiteArgs,
)
from pulumi_vertex_training.kinds.staging_bucket.provider import StagingBucketProvider
from pulumi_vertex_training.program.resource import ownership, target_inputs, with_outputs

T = TypeVar("T")
Message = pulumi.Input[T] | pulumi.Input[Mapping[str, Any]]
Messages = pulumi.Input[Sequence[Message[T]]]


class StagingBucket(Resource, module="stagingBucket", name="StagingBucket"):
    """A bucket in the region of its jobs, private by default.

    A change of name, project, location, `custom_placement_config`, `hierarchical_namespace` or
    `enable_object_retention` replaces the bucket; the preview shows it, and what happens to the objects.
    Everything else is updated in place. To grant access, use `pulumi_gcp.storage.BucketIAMMember` with its
    name. See docs/staging.md.
    """

    name: pulumi.Output[str]
    location: pulumi.Output[str]
    project: pulumi.Output[str]
    url: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        name: pulumi.Input[str] | None = None,
        storage_class: pulumi.Input[str] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        uniform_bucket_level_access: pulumi.Input[bool] | None = None,
        public_access_prevention: pulumi.Input[str] | None = None,
        versioning: pulumi.Input[bool] | None = None,
        lifecycle_rules: Messages[LifecycleRuleArgs] | None = None,
        force_destroy: pulumi.Input[bool] | None = None,
        release_holds: pulumi.Input[bool] | None = None,
        autoclass: Message[AutoclassArgs] | None = None,
        cors: Messages[CorsRuleArgs] | None = None,
        custom_placement_config: Message[CustomPlacementConfigArgs] | None = None,
        default_event_based_hold: pulumi.Input[bool] | None = None,
        enable_object_retention: pulumi.Input[bool] | None = None,
        encryption: Message[BucketEncryptionArgs] | None = None,
        hierarchical_namespace: pulumi.Input[bool] | None = None,
        ip_filter: Message[IpFilterArgs] | None = None,
        logging: Message[BucketLoggingArgs] | None = None,
        requester_pays: pulumi.Input[bool] | None = None,
        retention_policy: Message[RetentionPolicyArgs] | None = None,
        rpo: pulumi.Input[str] | None = None,
        soft_delete_policy: Message[SoftDeletePolicyArgs] | None = None,
        website: Message[WebsiteArgs] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare a bucket.

        :param name: must be globally unique on Google Cloud. Default: derived from the names of project,
            program, stack and resource, and kept when an alias renames the resource.
        :param storage_class: default STANDARD.
        :param uniform_bucket_level_access: default true.
        :param public_access_prevention: `enforced` (default) or `inherited`.
        :param versioning: default false.
        :param lifecycle_rules: `{"action": {"type": "Delete"}, "condition": {"age": 30}}` and so on, or
            `LifecycleRuleArgs`.
        :param force_destroy: delete the objects together with the bucket. Default false: a bucket that is not
            empty is not deleted. The value of the last deployment counts.
        :param release_holds: with `force_destroy`, release temporary and event-based holds before deleting.
            Default false: a bucket with held objects is not deleted.
        :param autoclass: move objects between storage classes as they are used.
        :param cors: requests that pages of other origins may send.
        :param custom_placement_config: the two regions of a dual-region.
        :param default_event_based_hold: put new objects on hold until the hold is released; default false.
        :param enable_object_retention: allow retention of single objects; default false.
        :param encryption: your own key, and the allowed kinds of keys.
        :param hierarchical_namespace: real folders; default false.
        :param ip_filter: networks that may reach the bucket.
        :param logging: bucket for usage logs.
        :param requester_pays: bill requests to the requester; default false.
        :param retention_policy: minimum age of objects to be deleted. Locking it is permanent.
        :param rpo: `ASYNC_TURBO` for turbo replication of a dual-region.
        :param soft_delete_policy: how long deleted objects can be restored; the service's default is 7 days.
        :param website: pages of a static website.
        :param more: unsupported arguments; each one is rejected by name.
        """
        inputs = {
            "name": name,
            "storage_class": storage_class,
            "labels": labels,
            "uniform_bucket_level_access": uniform_bucket_level_access,
            "public_access_prevention": public_access_prevention,
            "versioning": versioning,
            "lifecycle_rules": lifecycle_rules,
            "force_destroy": force_destroy,
            "release_holds": release_holds,
            "autoclass": autoclass,
            "cors": cors,
            "custom_placement_config": custom_placement_config,
            "default_event_based_hold": default_event_based_hold,
            "enable_object_retention": enable_object_retention,
            "encryption": encryption,
            "hierarchical_namespace": hierarchical_namespace,
            "ip_filter": ip_filter,
            "logging": logging,
            "requester_pays": requester_pays,
            "retention_policy": retention_policy,
            "rpo": rpo,
            "soft_delete_policy": soft_delete_policy,
            "website": website,
            **more,
            "marks": ownership(resource_name) if name is None else None,
            **target_inputs(project, location),
        }
        super().__init__(StagingBucketProvider(), resource_name, with_outputs(inputs, "url", "name"), opts)
