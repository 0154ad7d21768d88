"""`ImageRepository`: a repository of Artifact Registry that holds the images of training jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from pulumi_vertex_training.kinds.image_repository import gateway
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.preview.conflicts import conflict_inputs
from pulumi_vertex_training.program.resource import ownership, target_inputs, with_outputs
from pulumi_vertex_training.program.stack_key import key_input


class ImageRepository(Resource, module="imageRepository", name="ImageRepository"):
    """A repository of Artifact Registry for container images.

    `url` is the prefix of its image names, `LOCATION-docker.pkg.dev/PROJECT/NAME`, and
    known in a preview; `registry_host` is its first part.
    """

    repository_id: pulumi.Output[str]
    """Id of the repository."""
    location: pulumi.Output[str]
    """Location of the repository."""
    project: pulumi.Output[str]
    """Project id."""
    registry_host: pulumi.Output[str]
    """Host of the registry, LOCATION-docker.pkg.dev."""
    url: pulumi.Output[str]
    """Prefix of the image names, LOCATION-docker.pkg.dev/PROJECT/NAME. Known in a preview."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        repository_id: pulumi.Input[str] | None = None,
        format: pulumi.Input[str | None] = None,  # noqa: A002  the API's name
        mode: pulumi.Input[str | None] = None,
        description: pulumi.Input[str | None] = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        kms_key_name: pulumi.Input[str | None] = None,
        cleanup_policies: pulumi.Input[Sequence[pulumi.Input[Mapping[str, Any]]] | None] = None,
        cleanup_policy_dry_run: pulumi.Input[bool | None] = None,
        force_destroy: pulumi.Input[bool | None] = None,
        adopt: bool = False,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        docker_config: pulumi.Input[Mapping[str, Any] | None] = None,
        vulnerability_scanning_config: pulumi.Input[Mapping[str, Any] | None] = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a repository.

        :param resource_name: Name of the resource in the program.
        :param repository_id: Id of the repository. Default: see docs/guides/programs/previews.md#ids.
        :param format: Only DOCKER: repositories of other formats hold no images.
        :param mode: Only STANDARD_REPOSITORY: repositories of other modes accept no pushes.
        :param description: Description of the repository.
        :param labels: Labels of the repository.
        :param kms_key_name: Full name of the encryption key, in the repository's location.
        :param cleanup_policies: Policies that delete or keep versions, such as `{"id": "old", "action":
            "DELETE", "condition": {"older_than": "30d"}}` or `{"id": "new", "action": "KEEP",
            "most_recent_versions": {"keep_count": 5}}`.
        :param cleanup_policy_dry_run: Only log what the policies would delete.
        :param force_destroy: Delete the images together with the repository. By default, a repository with
            images is not deleted.
        :param adopt: Adopt the existing repository of this name instead of creating one
            (docs/guides/running/adopt.md).
        :param project: Project id. Default: the stack's project.
        :param location: Location of the repository. Default: the stack's location.
        :param docker_config: Settings of images, such as `{"immutable_tags": True}`.
        :param vulnerability_scanning_config: Scanning of images, such as `{"enablement_config": "DISABLED"}`.
        :param opts: Pulumi's options of the resource.
        """
        inputs = {
            "repository_id": repository_id,
            "format": format,
            "mode": mode,
            "description": description,
            "labels": labels,
            "kms_key_name": kms_key_name,
            "cleanup_policies": cleanup_policies,
            "cleanup_policy_dry_run": cleanup_policy_dry_run,
            "force_destroy": force_destroy,
            "docker_config": docker_config,
            "vulnerability_scanning_config": vulnerability_scanning_config,
            "marks": ownership(resource_name),
            "adopt": adopt or None,
            **unknown_arguments(self),
            **target_inputs(project, location),
        }
        props = {
            **with_outputs(inputs, "registry_host", "url", "repository_id"),
            **key_input(self, "ImageRepository", resource_name, opts),
            **conflict_inputs(resource_name, opts, inputs, "repository_id", gateway.labels_of),
        }
        super().__init__("ImageRepository", resource_name, props, opts)
