"""`ImageRepository`: a repository of Artifact Registry that holds the images of training jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.kinds.image_repository import gateway
from pulumi_vertex_training.kinds.image_repository.provider import ImageRepositoryProvider
from pulumi_vertex_training.program.existing import conflict_inputs
from pulumi_vertex_training.program.resource import ownership, target_inputs, with_outputs


class ImageRepository(Resource, module="imageRepository", name="ImageRepository"):
    """A repository of Artifact Registry for container images.

    A change of name, project, location, format, mode or key replaces the repository. Everything else is
    updated in place. `url` is the prefix of its image names, `LOCATION-docker.pkg.dev/PROJECT/NAME`, and
    known in a preview; `registry_host` is its first part.
    """

    name: pulumi.Output[str]
    """Id of the repository."""
    location: pulumi.Output[str]
    """Location of the repository."""
    project: pulumi.Output[str]
    """Project id."""
    registry_host: pulumi.Output[str]
    """Host of the registry, LOCATION-docker.pkg.dev."""
    url: pulumi.Output[str]
    """Prefix of the image names, LOCATION-docker.pkg.dev/PROJECT/NAME. Known in a preview."""

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

        :param resource_name: Name of the resource in the program.
        :param name: Id of the repository. Default: derived from the names of program, stack and resource, and
            kept when one of them changes.
        :param format: Only DOCKER: repositories of other formats hold no images.
        :param mode: Only STANDARD_REPOSITORY: repositories of other modes accept no pushes.
        :param description: Description of the repository.
        :param labels: Labels of the repository.
        :param kms_key_name: Full name of the encryption key, in the repository's location.
        :param cleanup_policies: Policies that delete or keep versions, such as `{"id": "old", "action":
            "DELETE", "condition": {"older_than": "30d"}}` or `{"id": "new", "action": "KEEP",
            "most_recent_versions": {"keep_count": 5}}`.
        :param cleanup_policy_dry_run: Only log what the policies would delete.
        :param immutable_tags: Forbid moving or removing tags.
        :param vulnerability_scanning: `INHERITED` from the project, or `DISABLED`.
        :param force_destroy: Delete the images together with the repository. By default, a repository with
            images is not deleted.
        :param project: Project id. Default: the stack's project.
        :param location: Location of the repository. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        :param more: Unsupported arguments; each one is rejected by name.
        """
        inputs = {
            "name": name,
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
        props = {
            **with_outputs(inputs, "registry_host", "url", "name"),
            **conflict_inputs(resource_name, opts, inputs, "name", gateway.labels_of),
        }
        super().__init__(ImageRepositoryProvider(), resource_name, props, opts)
