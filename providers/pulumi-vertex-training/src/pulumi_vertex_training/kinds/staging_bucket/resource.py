"""`StagingBucket`: a Cloud Storage bucket that holds what training jobs read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from pulumi_vertex_training.kinds.staging_bucket import gateway
from pulumi_vertex_training.kinds.staging_bucket.args import (
    AutoclassArgs,
    BucketEncryptionArgs,
    BucketLoggingArgs,
    BucketVersioningArgs,
    CorsRuleArgs,
    CustomPlacementConfigArgs,
    IpFilterArgs,
    LifecycleRuleArgs,
    RetentionPolicyArgs,
    SoftDeletePolicyArgs,
    WebsiteArgs,
)
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.preview.conflicts import conflict_inputs
from pulumi_vertex_training.program.resource import ownership, target_inputs, with_outputs
from pulumi_vertex_training.program.stack_key import key_input


class StagingBucket(Resource, module="stagingBucket", name="StagingBucket"):
    """A bucket in the region of its jobs, private by default.

    See docs/guides/data/buckets.md.
    """

    name: pulumi.Output[str]
    """Name of the bucket."""
    location: pulumi.Output[str]
    """Location of the bucket."""
    project: pulumi.Output[str]
    """Project id."""
    url: pulumi.Output[str]
    """gs:// URL of the bucket."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        name: pulumi.Input[str] | None = None,
        storage_class: pulumi.Input[str | None] = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        uniform_bucket_level_access: pulumi.Input[bool | None] = None,
        public_access_prevention: pulumi.Input[str | None] = None,
        versioning: pulumi.Input[BucketVersioningArgs | Mapping[str, Any] | None] = None,
        lifecycle_rules: pulumi.Input[
            Sequence[pulumi.Input[LifecycleRuleArgs | Mapping[str, Any]]] | None
        ] = None,
        force_destroy: pulumi.Input[bool | None] = None,
        release_holds: pulumi.Input[bool | None] = None,
        autoclass: pulumi.Input[AutoclassArgs | Mapping[str, Any] | None] = None,
        cors: pulumi.Input[Sequence[pulumi.Input[CorsRuleArgs | Mapping[str, Any]]] | None] = None,
        custom_placement_config: pulumi.Input[CustomPlacementConfigArgs | Mapping[str, Any] | None] = None,
        default_event_based_hold: pulumi.Input[bool | None] = None,
        enable_object_retention: pulumi.Input[bool | None] = None,
        encryption: pulumi.Input[BucketEncryptionArgs | Mapping[str, Any] | None] = None,
        hierarchical_namespace: pulumi.Input[bool | None] = None,
        ip_filter: pulumi.Input[IpFilterArgs | Mapping[str, Any] | None] = None,
        logging: pulumi.Input[BucketLoggingArgs | Mapping[str, Any] | None] = None,
        requester_pays: pulumi.Input[bool | None] = None,
        retention_policy: pulumi.Input[RetentionPolicyArgs | Mapping[str, Any] | None] = None,
        rpo: pulumi.Input[str | None] = None,
        soft_delete_policy: pulumi.Input[SoftDeletePolicyArgs | Mapping[str, Any] | None] = None,
        website: pulumi.Input[WebsiteArgs | Mapping[str, Any] | None] = None,
        adopt: bool = False,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a bucket.

        :param resource_name: Name of the resource in the program.
        :param name: Name of the bucket, globally unique on Google Cloud. Default: see
            docs/guides/programs/previews.md#ids.
        :param storage_class: Storage class of new objects.
        :param labels: Labels of the bucket.
        :param uniform_bucket_level_access: Grant access by IAM only, without access lists of objects.
        :param public_access_prevention: `enforced` or `inherited`.
        :param versioning: Keep noncurrent versions of objects: `{"enabled": True}`.
        :param lifecycle_rules: Lifecycle rules, such as `{"action": {"type": "Delete"}, "condition": {"age":
            30}}`.
        :param force_destroy: Delete the objects together with the bucket. By default, a bucket that is not
            empty is not deleted. The value of the last deployment counts.
        :param release_holds: With `force_destroy`, release temporary and event-based holds before deleting.
            By default, a bucket with held objects is not deleted.
        :param autoclass: Move objects between storage classes as they are used.
        :param cors: Requests that pages of other origins may send.
        :param custom_placement_config: The two regions of a configurable dual-region.
        :param default_event_based_hold: Put new objects on hold until the hold is released.
        :param enable_object_retention: Allow retention of single objects.
        :param encryption: Default encryption key, and the kinds of keys that are allowed.
        :param hierarchical_namespace: Give the bucket real folders.
        :param ip_filter: Networks that may reach the bucket.
        :param logging: Bucket for usage logs.
        :param requester_pays: Bill requests to the requester.
        :param retention_policy: Minimum age of objects to be deleted. Locking it is permanent.
        :param rpo: `ASYNC_TURBO` for turbo replication of a dual-region, or `DEFAULT`.
        :param soft_delete_policy: Time for which deleted objects can be restored. The service's default is 7
            days.
        :param website: Pages of a static website.
        :param adopt: Adopt the existing bucket of this name instead of creating one
            (docs/guides/running/adopt.md).
        :param project: Project id. Default: the stack's project.
        :param location: Region of the bucket. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
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
            "adopt": adopt or None,
            **unknown_arguments(self),
            "marks": ownership(resource_name) if name is None else None,
            **target_inputs(project, location),
        }
        props = {
            **with_outputs(inputs, "url", "name"),
            **key_input(self, "StagingBucket", resource_name, opts),
            **conflict_inputs(resource_name, opts, inputs, "name", gateway.labels_of, is_global=True),
        }
        super().__init__("StagingBucket", resource_name, props, opts)
