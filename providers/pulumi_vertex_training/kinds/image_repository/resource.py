"""`ImageRepository`: a repository of Artifact Registry that holds the images of training jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.kinds.image_repository.provider import ImageRepositoryProvider
from pulumi_vertex_training.program.resource import ownership, target_inputs, with_outputs


class ImageRepository(Resource, module="imageRepository", name="ImageRepository"):
    """A repository of Artifact Registry for container images.

    A change of name, project, location, format, mode or key replaces the repository. Everything else is
    updated in place. `url` is the prefix of its image names, `LOCATION-docker.pkg.dev/PROJECT/NAME`, and
    known in a preview; `registry_host` is its first part.
    """

    name: pulumi.Output[str]
    location: pulumi.Output[str]
    project: pulumi.Output[str]
    registry_host: pulumi.Output[str]
    url: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        name: pulumi.Input[str] | None = None,
        format: pulumi.Input[str] | None = None,  # noqa: A002  the API's name
        mode: pulumi.Input[str] | None = None,
        description: pulumi.Input[str] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        kms_key_name: pulumi.Input[str] | None = None,
        cleanup_policies: pulumi.Input[Sequence[pulumi.Input[Mapping[str, Any]]]] | None = None,
        cleanup_policy_dry_run: pulumi.Input[bool] | None = None,
        immutable_tags: pulumi.Input[bool] | None = None,
        vulnerability_scanning: pulumi.Input[str] | None = None,
        force_destroy: pulumi.Input[bool] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare a repository.

        :param name: the repository's id; default: the resource's name.
        :param format: only DOCKER, the default; repositories of other formats hold no images.
        :param mode: only STANDARD_REPOSITORY, the default; repositories of other modes accept no pushes.
        :param kms_key_name: full name of the encryption key, in the repository's location.
        :param cleanup_policies: `{"id": "old", "action": "DELETE", "condition": {"older_than": "30d"}}`,
            `{"id": "new", "action": "KEEP", "most_recent_versions": {"keep_count": 5}}`, or similar.
        :param cleanup_policy_dry_run: only log what the policies would delete; default false.
        :param immutable_tags: forbid moving or removing tags; default false.
        :param vulnerability_scanning: `INHERITED` from the project (default) or `DISABLED`.
        :param force_destroy: delete the images together with the repository. Default false: a repository with
            images is not deleted.
        :param more: unsupported arguments; each one is rejected by name.
        """
        inputs = {
            "name": resource_name if name is None else name,
            "format": format,
            "mode": mode,
            "description": description,
            "labels": labels,
            "kms_key_name": kms_key_name,
            "cleanup_policies": cleanup_policies,
            "cleanup_policy_dry_run": cleanup_policy_dry_run,
            "immutable_tags": immutable_tags,
            "vulnerability_scanning": vulnerability_scanning,
            "force_destroy": force_destroy,
            "marks": ownership(resource_name),
            **more,
            **target_inputs(project, location),
        }
        super().__init__(
            ImageRepositoryProvider(), resource_name, with_outputs(inputs, "registry_host", "url"), opts
        )
