"""Build and push the image of a plan: resolve its base images, build, push missing blobs, tag."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pulumi_vertex_training.cloud import errors, objects
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.client import Manifest
from pulumi_vertex_training.cloud.container_registry.descriptors import ManifestParts, json_object, parts_of
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.container_registry.push import BlobUpload
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.images import (
    BaseImage,
    BuiltImage,
    ImagePlan,
    WheelLayer,
    build_image,
    select_platform,
)
from pulumi_vertex_training.images.dockerfile.rules import BASE_IMAGE
from pulumi_vertex_training.kinds.training_image import (
    cloud_build,
    container_tools,
    requirements_layer,
    tool_images,
)
from pulumi_vertex_training.kinds.training_image.container_tools import Tool, choose_builder
from pulumi_vertex_training.kinds.training_image.spec import Builder
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.temporary_folders import temporary_folder
from vertex_emulator import machine_clock
from vertex_training.findings.problems import Problem

_TELL_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class PushedImage:
    """An image that was pushed to its repository.

    `size` is the size of all its layers, `sent_bytes` the part that was uploaded. `base_digests` maps the
    names of the base images to the digests that they had.
    """

    image: ImageName
    size: int
    sent_bytes: int
    base_digests: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def build_and_push(
    endpoint: Endpoint,
    plan: ImagePlan,
    target: ImageName,
    *,
    tell: Callable[[str], None],
    before_push: Callable[[ImageName], None] | None = None,
    before_send: Callable[[ImageName], None] | None = None,
    builder: Builder = "auto",
    build_bucket: str | None = None,
) -> PushedImage:
    """Build the image of a plan, and push it to the repository of `target`.

    `tell` is called with progress lines of long transfers and the output of a container tool; `before_push`
    with the image's name, and so is `before_send` if the repository does not have the image. `builder` and
    `build_bucket` are used only if the Dockerfile has a RUN. Raises CloudError, and PackagingError with the
    problems of the build.
    """
    with temporary_folder("vertex-training-image-") as folder:
        if plan.needs_tool is None:
            return _build_without_tool(
                endpoint, plan, target, folder, tell=tell, before_push=before_push, before_send=before_send
            )
        return _build_with_tool(
            endpoint,
            plan,
            target,
            folder,
            tell=tell,
            before_push=before_push,
            before_send=before_send,
            builder=builder,
            build_bucket=build_bucket,
        )


def _build_without_tool(
    endpoint: Endpoint,
    plan: ImagePlan,
    target: ImageName,
    folder: Path,
    *,
    tell: Callable[[str], None],
    before_push: Callable[[ImageName], None] | None,
    before_send: Callable[[ImageName], None] | None,
) -> PushedImage:
    digests, bases = _bases(endpoint, plan, folder)
    (folder / "build").mkdir()

    def build(wheels: WheelLayer | None) -> PushedImage:
        built = build_image(plan, bases, wheels, folder / "build")
        image = target.at(built.digest)
        if before_push is not None:
            before_push(image)
        manifest = Manifest(digest=built.digest, media_type=built.media_type, content=built.manifest)
        progress = teller(target, tell)
        pushed = registry_push.push(
            endpoint, target, manifest, _parts(built), on_progress=progress, before_send=before_send
        )
        return PushedImage(
            image=image,
            size=sum(blob.size for blob in built.blobs) + len(built.config),
            sent_bytes=pushed.sent_bytes,
            base_digests=digests,
            problems=built.problems,
        )

    return _with_requirements(endpoint, plan, target, folder, build) if plan.needs_wheels else build(None)


def _with_requirements(
    endpoint: Endpoint,
    plan: ImagePlan,
    target: ImageName,
    folder: Path,
    build: Callable[[WheelLayer], PushedImage],
) -> PushedImage:
    """Build and push an image with the layer of its requirements, which is built only if it is nowhere."""
    with requirements_layer.locked_record(plan, endpoint.timeouts) as record:
        wheels = record.find(endpoint, target)
        if wheels is not None:
            with contextlib.suppress(errors.NotFound):  # deleted in this moment
                pushed = build(wheels)
                record.write(wheels, target.repository)
                return pushed
        wheels = requirements_layer.build_layer(plan, folder / "requirements", endpoint.timeouts)
        pushed = build(wheels)
        record.write(wheels, target.repository)
    return pushed


def _build_with_tool(
    endpoint: Endpoint,
    plan: ImagePlan,
    target: ImageName,
    folder: Path,
    *,
    tell: Callable[[str], None],
    before_push: Callable[[ImageName], None] | None,
    before_send: Callable[[ImageName], None] | None,
    builder: Builder,
    build_bucket: str | None,
) -> PushedImage:
    chosen = choose_builder(
        plan, builder=builder, build_bucket=build_bucket, on_google=not endpoint.is_emulator
    )
    if isinstance(chosen, Problem):
        raise PackagingError([chosen])
    if isinstance(chosen, Tool):
        archive = container_tools.build(chosen, plan, folder, tell=tell, timeouts=endpoint.timeouts)
        manifest, parts = tool_images.read_archive(archive, plan.source, folder)
    else:
        manifest, parts = _build_on_google(endpoint, plan, target, folder, chosen, tell)
    image = target.at(manifest.digest)
    if before_push is not None:
        before_push(image)
    pushed = registry_push.push(
        endpoint, target, manifest, parts, on_progress=teller(target, tell), before_send=before_send
    )
    return PushedImage(image=image, size=sum(part.size for part in parts), sent_bytes=pushed.sent_bytes)


def _build_on_google(
    endpoint: Endpoint,
    plan: ImagePlan,
    target: ImageName,
    folder: Path,
    bucket: str,
    tell: Callable[[str], None],
) -> tuple[Manifest, list[BlobUpload]]:
    """Build with Cloud Build. Return the manifest with the source's options set, and its new blobs."""
    packed = container_tools.pack_context(plan, folder)
    source = f"images/{plan.content_hash[:16]}/source.tar.gz"
    objects.ensure(endpoint, bucket, source, packed, content_type="application/gzip")
    tag = target.at(f"build-{plan.content_hash[:16]}")
    digest = cloud_build.build(
        endpoint,
        bucket=bucket,
        source=source,
        image=str(tag),
        options=container_tools.build_options(plan),
        tell=tell,
    )
    built = registry.manifest(endpoint, target.at(digest))
    if not tool_images.has_options(plan.source):
        return built, []
    described = json.loads(built.content)
    config = json.loads(registry.read_blob(endpoint, target, parts_of(built.content).config))
    layers = [
        (BlobUpload(digest=one["digest"], size=one["size"], source=target.repository), one["mediaType"])
        for one in described["layers"]
    ]
    return tool_images.assemble(config, layers, plan.source)


def set_tags(endpoint: Endpoint, image: ImageName, tags: Sequence[str]) -> None:
    """Set tags of the image, which is named by its digest.

    Raises NotFound, and FailedPrecondition if the repository has immutable tags.
    """
    if not tags:
        return
    manifest = registry.manifest(endpoint, image)
    for tag in tags:
        try:
            registry_push.tag(endpoint, image.at(tag), manifest)
        except (errors.PermissionDenied, errors.FailedPrecondition, errors.InvalidArgument) as error:
            raise type(error)(
                f"{error} If the repository has immutable tags, use new tags for each image, or none: "
                "tags=[].",
                code=error.code,
                resource=error.resource,
                endpoint=error.endpoint,
            ) from error


def remove_tags(endpoint: Endpoint, image: ImageName, tags: Collection[str]) -> None:
    """Remove the tags that still name the image, but not those that were moved to another one."""
    for tag in tags:
        if registry.digest_at(endpoint, image.at(tag)) == image.digest:
            registry.delete(endpoint, image.at(tag))


def remove(endpoint: Endpoint, image: ImageName, tags: Collection[str]) -> tuple[str, ...]:
    """Delete the image with these tags. If it has other tags, keep it and return them."""
    try:
        there = [tag for tag in registry.tags(endpoint, image) if tag not in tags]
    except errors.NotFound:
        return ()
    others = tuple(tag for tag in there if registry.digest_at(endpoint, image.at(tag)) == image.digest)
    remove_tags(endpoint, image, tags)
    if not others:
        registry.delete(endpoint, image)
    return others


def find_drift(
    endpoint: Endpoint, image: ImageName, tags: Sequence[str], base_digests: Mapping[str, str]
) -> list[str]:
    """Describe each tag and base image that names another digest now than when the image was built.

    Names whose digest cannot be read are skipped: the result is for information only.
    """
    lines = []
    for tag in tags:
        now = _current_digest(endpoint, image.at(tag))
        if now is not None and now != image.digest:
            change = f"moved to {now}" if now else "removed"
            lines.append(f"the tag {tag} was {change} outside this stack")
    for base, then in base_digests.items():
        name = parse(base)
        now = _current_digest(endpoint, name) if name.digest is None else then
        if now and now != then:
            lines.append(f"the base image {base} is now {now}; this image was built on {then}")
    return lines


def _current_digest(endpoint: Endpoint, name: ImageName) -> str | None:
    """Return the digest of a name, "" if it does not exist, None if the service does not answer."""
    try:
        return registry.digest_at(endpoint, name) or ""
    except errors.CloudError:
        return None


def _bases(endpoint: Endpoint, plan: ImagePlan, folder: Path) -> tuple[dict[str, str], dict[str, BaseImage]]:
    """Resolve the base images: return their digests by name, and their images for the plan's platform."""
    digests, bases = {}, {}
    for base in plan.base_images:
        name = parse(base)
        found = _base(endpoint, name, plan)
        digests[base] = found.digest
        if found.is_index:
            found = registry.manifest(endpoint, name.at(select_platform(found.content, plan.source.platform)))
        parts, config = _read_parts(endpoint, name, found)
        bases[base] = BaseImage(
            name=base,
            digest=found.digest,
            manifest=found.content,
            config=config,
            media_type=found.media_type,
            open_layer=_opener(endpoint, name, parts, folder),
        )
    return digests, bases


def _read_parts(endpoint: Endpoint, name: ImageName, found: Manifest) -> tuple[ManifestParts, bytes]:
    """Return the blobs of an image, and its configuration. Raises PackagingError for a damaged image."""
    try:
        parts = parts_of(found.content)
        config = registry.read_blob(endpoint, name, parts.config)
        json_object(config, "the configuration")
    except ValueError as error:
        message = f"{name} is damaged: {error}. Push the image again, or use another one."
        raise PackagingError([BASE_IMAGE.broken("base_image", message)]) from error
    return parts, config


def _base(endpoint: Endpoint, name: ImageName, plan: ImagePlan) -> Manifest:
    try:
        return registry.manifest(endpoint, name)
    except errors.NotFound as error:
        remedy = (
            "The emulator has Google's training images and python:3.x. Push any other image to the "
            "emulator's registry first."
            if endpoint.is_emulator
            else "Check the name and the tag."
        )
        raise errors.NotFound(
            f"the base image {name} of {plan.source.source} does not exist. {remedy} ({error})",
            code=error.code,
            resource=str(name),
            endpoint=endpoint,
        ) from error


def _opener(
    endpoint: Endpoint, name: ImageName, parts: ManifestParts, folder: Path
) -> Callable[[str], BinaryIO]:
    layers = {layer.digest: layer for layer in parts.layers}

    def open_layer(digest: str) -> BinaryIO:
        path = folder / f"layer-{digest.partition(':')[2]}"
        if not path.exists():
            registry.download_blob(endpoint, name, layers[digest], path)
        return path.open("rb")

    return open_layer


def _parts(built: BuiltImage) -> list[BlobUpload]:
    """Return the blobs to push. Foreign layers, which have URLs of their own, are not pushed."""
    layers = [
        BlobUpload(digest=blob.digest, size=blob.size, content=blob.path, source=blob.mounted_from)
        for blob in built.blobs
        if blob.path is not None or not blob.urls
    ]
    unique = {part.digest: part for part in layers}
    config = BlobUpload(digest=built.config_digest, size=len(built.config), content=built.config)
    return [*unique.values(), config]


def teller(target: ImageName, tell: Callable[[str], None]) -> registry_push.ProgressCallback:
    """Return a progress callback that reports every few seconds, so that a short push reports nothing."""
    last = machine_clock.monotonic()

    def progress(sent: int, wanted: int) -> None:
        nonlocal last
        now = machine_clock.monotonic()
        if now - last >= _TELL_SECONDS:
            last = now
            tell(f"{target}: {sent / 1e6:.0f} of {wanted / 1e6:.0f} MB sent")

    return progress
