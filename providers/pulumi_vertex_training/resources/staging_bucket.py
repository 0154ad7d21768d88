"""`StagingBucket`: a Cloud Storage bucket that holds what training jobs read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.providers.staging_bucket import StagingBucketProvider
from pulumi_vertex_training.resources.common import place, with_outputs


class StagingBucket(Resource, module="vertex-training", name="StagingBucket"):
    """A bucket in the region of its jobs, private by default.

    Name, project and location cannot change: another one replaces the bucket. Everything else is updated in
    place.
    """

    name: pulumi.Output[str]
    location: pulumi.Output[str]
    project: pulumi.Output[str]
    url: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        name: pulumi.Input[str],
        storage_class: pulumi.Input[str] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        uniform_bucket_level_access: pulumi.Input[bool] | None = None,
        public_access_prevention: pulumi.Input[str] | None = None,
        versioning: pulumi.Input[bool] | None = None,
        lifecycle_rules: pulumi.Input[Sequence[pulumi.Input[Mapping[str, Any]]]] | None = None,
        force_destroy: pulumi.Input[bool] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare a bucket.

        :param name: unique in the world on Google Cloud.
        :param storage_class: default STANDARD.
        :param uniform_bucket_level_access: default true.
        :param public_access_prevention: `enforced` (default) or `inherited`.
        :param versioning: default false.
        :param lifecycle_rules: `{"action": {"type": "Delete"}, "condition": {"age": 30}}` and so on.
        :param force_destroy: delete what is in the bucket when the bucket is deleted; default false: deleting
            a bucket that is not empty is refused.
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
            **more,
            **place(project, location),
        }
        super().__init__(StagingBucketProvider(), resource_name, with_outputs(inputs, "url"), opts)
