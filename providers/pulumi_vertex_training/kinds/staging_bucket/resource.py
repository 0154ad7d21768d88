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
    `enable_object_retention` replaces the bucket; the preview says so, and what becomes of its objects.
    Everything else is updated in place. Who may use it is for `pulumi_gcp.storage.BucketIAMMember` on its
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

        :param name: unique in the world on Google Cloud; default: made from project, program, stack and the
            resource's name, and kept when an alias renames the resource.
        :param storage_class: default STANDARD.
        :param uniform_bucket_level_access: default true.
        :param public_access_prevention: `enforced` (default) or `inherited`.
        :param versioning: default false.
        :param lifecycle_rules: `{"action": {"type": "Delete"}, "condition": {"age": 30}}` and so on, or
            `LifecycleRuleArgs`.
        :param force_destroy: delete what is in the bucket when the bucket is deleted; default false: deleting
            a bucket that is not empty is refused. It counts as it was deployed last.
        :param release_holds: with `force_destroy`, take temporary and event-based holds off what is deleted;
            default false: held objects keep the bucket.
        :param autoclass: objects move between storage classes by their use.
        :param cors: what pages of other origins may do.
        :param custom_placement_config: the two regions of a dual region.
        :param default_event_based_hold: new objects are held until the hold is taken off; default false.
        :param enable_object_retention: single objects can be retained; default false.
        :param encryption: a key of your own, and which kinds of keys are allowed.
        :param hierarchical_namespace: real folders; default false.
        :param ip_filter: from where the bucket can be reached at all.
        :param logging: where usage logs go.
        :param requester_pays: who reads, pays; default false.
        :param retention_policy: how old objects must be to be deleted. A lock of it is for good.
        :param rpo: `ASYNC_TURBO` for turbo replication of a dual region.
        :param soft_delete_policy: how long deleted objects can be restored; the service's default is 7 days.
        :param website: the pages of a static website.
        :param more: fields that this version does not know are handed on to be refused by name.
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
