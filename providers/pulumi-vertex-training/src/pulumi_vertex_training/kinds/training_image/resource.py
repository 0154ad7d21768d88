"""`TrainingImage`: a container image of a folder, built without Docker and pushed to a repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from pulumi_vertex_training.core.promotion.entries import INPUT, PromotedImage
from pulumi_vertex_training.kinds.training_image.spec import image_name
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.arguments.references import (
    BucketLike,
    ImageLike,
    RepositoryLike,
    bucket_name,
    image_uri,
    repository_url,
)
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.preview.local_files import check_files
from pulumi_vertex_training.program.promotions import known_in_preview, promoted_input
from pulumi_vertex_training.program.resource import (
    as_secret_as,
    target_inputs,
    with_outputs,
)
from pulumi_vertex_training.program.stack_key import key_input

_OUTPUTS = ("content_hash", "base_images", "tag_uris", "base_digests", "size", "sent_bytes", "drift")


class TrainingImage(Resource, module="trainingImage", name="TrainingImage"):
    """A container image, built from a base image and a folder, or from a folder with a Dockerfile.

    `uri`, which is also the id, is its name with its digest, HOST/PATH@sha256:...: a job that uses it runs
    exactly this build, even if tags move. If the stack has a promoted image for this resource, that image is
    used, and nothing is built. See docs/guides/data/images.md.
    """

    content_hash: pulumi.Output[str]
    """Hash of the content that the image is built from."""
    base_images: pulumi.Output[list[str]]
    """Names of the base images."""
    base_digests: pulumi.Output[dict[str, str]]
    """Digest of each base image at build time."""
    tag_uris: pulumi.Output[list[str]]
    """Names of the image with its tags."""
    size: pulumi.Output[int]
    """Size of the image in bytes."""
    sent_bytes: pulumi.Output[int]
    """Bytes that the push sent."""
    drift: pulumi.Output[list[str]]
    """Tags that have moved since the build, found by a refresh."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        repository: RepositoryLike,
        source: pulumi.Input[str],
        name: pulumi.Input[str] | None = None,
        dockerfile: pulumi.Input[str | None] = None,
        base_image: ImageLike | None = None,
        requirements: pulumi.Input[str | None] = None,
        entrypoint: pulumi.Input[Sequence[pulumi.Input[str]] | None] = None,
        command: pulumi.Input[Sequence[pulumi.Input[str]] | None] = None,
        env: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        working_dir: pulumi.Input[str | None] = None,
        user: pulumi.Input[str | None] = None,
        build_args: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        build_contexts: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        vertex_cluster: pulumi.Input[bool | None] = None,
        target: pulumi.Input[str | None] = None,
        platform: pulumi.Input[str | None] = None,
        python_version: pulumi.Input[str | None] = None,
        exclude: pulumi.Input[Sequence[pulumi.Input[str]] | None] = None,
        tags: pulumi.Input[Sequence[pulumi.Input[str]] | None] = None,
        on_delete: pulumi.Input[str | None] = None,
        builder: pulumi.Input[str | None] = None,
        build_bucket: BucketLike | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare an image.

        :param resource_name: Name of the resource in the program.
        :param repository: Repository to push to: an `ImageRepository`, a
            `pulumi_gcp.artifactregistry.Repository`, or the address LOCATION-docker.pkg.dev/PROJECT/NAME.
        :param source: Folder, relative to the Pulumi program's folder. Without a Dockerfile, its content is
            copied into the image.
        :param name: Name of the image in its repository. Default: the resource's name.
        :param dockerfile: Name of the Dockerfile in the folder. Default: `Dockerfile`, if it exists and there
            is no `base_image`.
        :param base_image: Image that the folder's content is added to: a name, or another image.
        :param requirements: Lock file with a hash in every line. Its wheels become a layer.
        :param entrypoint: ENTRYPOINT of the image.
        :param command: CMD of the image.
        :param env: Environment variables of the image. Do not put secrets here: everyone who pulls the image
            can read them.
        :param labels: Labels of the image.
        :param working_dir: Working directory of the image.
        :param user: User that the image runs as.
        :param build_args: Build arguments of the Dockerfile.
        :param build_contexts: Further folders, by name. `COPY --from=NAME` in the Dockerfile copies from
            them; without a Dockerfile, each is copied into the image under its name.
        :param vertex_cluster: Add the package `vertex_cluster`, as it is installed here, as the build context
            of this name.
        :param target: Stage of the Dockerfile to build. Default: the last.
        :param platform: `linux/amd64`, which Vertex AI runs, or `linux/arm64`.
        :param python_version: Python version of the requirements' wheels, such as "3.11".
        :param exclude: Patterns of files to leave out, as in a .dockerignore file.
        :param tags: Tags of the image.
        :param on_delete: `keep` leaves the image in the repository when the resource is replaced or deleted;
            `delete` removes it, unless it has tags that are not declared here.
        :param builder: Builder of a Dockerfile that has a RUN: `auto`, `docker`, `podman`, `buildah` or
            `cloud_build`.
        :param build_bucket: Bucket for Cloud Build's source.
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        promoted = promoted_input(PromotedImage, "image", resource_name)
        inputs = {
            "repository": repository_url(repository),
            "name": image_name(resource_name) if name is None else name,
            "source": source
            if promoted
            else check_files(resource_name, source, requirements=requirements, build_contexts=build_contexts),
            "dockerfile": dockerfile,
            "base_image": None if base_image is None else image_uri(base_image),
            "requirements": requirements,
            "entrypoint": entrypoint,
            "command": command,
            "env": env,
            "labels": labels,
            "working_dir": working_dir,
            "user": user,
            "build_args": build_args,
            "build_contexts": build_contexts,
            "vertex_cluster": vertex_cluster,
            "target": target,
            "platform": platform,
            "python_version": python_version,
            "exclude": exclude,
            "tags": tags,
            "on_delete": on_delete,
            "builder": builder,
            "build_bucket": None if build_bucket is None else bucket_name(build_bucket),
            **promoted,
            **unknown_arguments(self),
            **target_inputs(project, location),
        }
        # The hash of a short secret could be reversed by trying all values.
        props = {
            **with_outputs(inputs, *_OUTPUTS),
            "content_hash": as_secret_as(inputs),
            # Images that are kept need no key: nothing looks for them.
            **key_input(self, "TrainingImage", resource_name, opts, is_kept=on_delete in (None, "keep")),
        }
        super().__init__("TrainingImage", resource_name, props, opts)
        self._promoted_uri = (
            pulumi.Output.concat(inputs["repository"], "/", inputs["name"], "@", promoted[INPUT]["digest"])
            if promoted
            else None
        )

    @property
    def uri(self) -> pulumi.Output[str]:
        """The image's name with its digest."""
        return self.id if self._promoted_uri is None else known_in_preview(self, self._promoted_uri)

    @property
    def digest(self) -> pulumi.Output[str]:
        """The digest of the image's manifest, `sha256:...`."""
        return self.uri.apply(lambda name: name.rpartition("@")[2])
