"""`TrainingImage`: a folder as a container image in a repository, without Docker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.kinds.training_image.provider import TrainingImageProvider
from pulumi_vertex_training.kinds.training_image.spec import image_name
from pulumi_vertex_training.program.references import (
    BucketLike,
    ImageLike,
    RepositoryLike,
    bucket_name,
    image_uri,
    repository_url,
)
from pulumi_vertex_training.program.resource import as_secret_as, target_inputs, with_outputs

_OUTPUTS = ("content_hash", "base_images", "tag_uris", "base_digests", "size", "sent_bytes", "drift")


class TrainingImage(Resource, module="trainingImage", name="TrainingImage"):
    """A container image, built by us of a base image and a folder, or of a folder with a Dockerfile.

    `uri`, which is the id as well, is its name with its digest, HOST/PATH@sha256:...: a job that uses it runs
    what was built, whatever becomes of tags. Another content is another image, and replaces it; tags are
    updated in place. A base image is resolved when the image is built: that its tag has moved since, or one
    of the image's own, is shown by a refresh (`drift`) and not acted on.
    """

    content_hash: pulumi.Output[str]
    base_images: pulumi.Output[list[str]]
    base_digests: pulumi.Output[dict[str, str]]
    tag_uris: pulumi.Output[list[str]]
    size: pulumi.Output[int]
    sent_bytes: pulumi.Output[int]
    drift: pulumi.Output[list[str]]

    def __init__(
        self,
        resource_name: str,
        *,
        repository: RepositoryLike,
        source: pulumi.Input[str],
        name: pulumi.Input[str] | None = None,
        dockerfile: pulumi.Input[str] | None = None,
        base_image: ImageLike | None = None,
        requirements: pulumi.Input[str] | None = None,
        entrypoint: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        command: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        env: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        working_dir: pulumi.Input[str] | None = None,
        user: pulumi.Input[str] | None = None,
        build_args: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        build_contexts: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        target: pulumi.Input[str] | None = None,
        platform: pulumi.Input[str] | None = None,
        python_version: pulumi.Input[str] | None = None,
        exclude: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        tags: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        on_delete: pulumi.Input[str] | None = None,
        builder: pulumi.Input[str] | None = None,
        build_bucket: BucketLike | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare an image.

        :param repository: an ImageRepository, a `pulumi_gcp.artifactregistry.Repository`, or its address
            LOCATION-docker.pkg.dev/PROJECT/NAME.
        :param source: the folder, relative to the Pulumi program's; without a Dockerfile its content goes
            into the image.
        :param name: of the image in its repository; default: the resource's name.
        :param dockerfile: its name in the folder; default: `Dockerfile` where there is one and no base_image.
        :param base_image: what the folder's content is put on: a name, or another image.
        :param requirements: a lock file with a hash in every line; its wheels become a layer.
        :param env: variables set in the image. They are no place for secrets: whoever pulls it reads them.
        :param build_contexts: more folders, by name: `COPY --from=NAME` in the Dockerfile takes files of
            them; without a Dockerfile each is put into the image under its name.
        :param platform: `linux/amd64` (default), which Vertex AI runs, or `linux/arm64`.
        :param python_version: of the requirements' wheels, such as "3.11".
        :param exclude: patterns of files to leave out, as in a .dockerignore file.
        :param tags: names that stand for the image; default ["latest"].
        :param on_delete: `keep` (default) leaves the image in the repository when the resource is replaced or
            deleted; `delete` takes it away, unless it has tags that were not given here.
        :param builder: who builds a Dockerfile that has a RUN: `auto` (default), `docker`, `podman`,
            `buildah` or `cloud_build`.
        :param build_bucket: the bucket that Cloud Build gets the source from.
        :param more: fields that this version does not know are handed on to be refused by name.
        """
        inputs = {
            "repository": repository_url(repository),
            "name": image_name(resource_name) if name is None else name,
            "source": source,
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
            "target": target,
            "platform": platform,
            "python_version": python_version,
            "exclude": exclude,
            "tags": tags,
            "on_delete": on_delete,
            "builder": builder,
            "build_bucket": None if build_bucket is None else bucket_name(build_bucket),
            **more,
            **target_inputs(project, location),
        }
        # A hash of few unknown letters tells them to who tries all.
        props = {**with_outputs(inputs, *_OUTPUTS), "content_hash": as_secret_as(inputs)}
        super().__init__(TrainingImageProvider(), resource_name, props, opts)

    @property
    def uri(self) -> pulumi.Output[str]:
        """The image's name with its digest. It is the id, which stays known while tags are updated."""
        return self.id

    @property
    def digest(self) -> pulumi.Output[str]:
        """`sha256:...`, of the image's manifest."""
        return self.id.apply(lambda name: name.rpartition("@")[2])
