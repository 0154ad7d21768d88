"""The rules for Dockerfiles and images, each with its source."""

from __future__ import annotations

from typing import Final

from vertex_training.findings.rules import Rule

_REFERENCE: Final = 'Docker documentation, "Dockerfile reference"'

DOCKERFILE_SYNTAX: Final = Rule(
    name="dockerfile-syntax",
    says="A Dockerfile has known instructions, flags and forms, and begins with FROM or ARG.",
    source=_REFERENCE,
)
DOCKERFILE_VALUE: Final = Rule(
    name="dockerfile-value",
    says="The arguments of an instruction have the form that it requires.",
    source=_REFERENCE,
)
DOCKERFILE_STAGE: Final = Rule(
    name="dockerfile-stage",
    says="A stage has a unique name, uses only earlier stages, and refers to stages that exist.",
    source='Docker documentation, "Multi-stage builds"',
)
COPY_SOURCE: Final = Rule(
    name="copy-source",
    says="The sources of COPY and ADD are files, folders or links in the build context, and not excluded.",
    source=f'{_REFERENCE}, "COPY"',
)
COPY_DESTINATION: Final = Rule(
    name="copy-destination",
    says="The destination of several files is a folder, and its name ends with a slash. A file cannot "
    "replace a folder.",
    source=f'{_REFERENCE}, "COPY"',
)
NOT_BUILT_HERE: Final = Rule(
    name="not-built-here",
    says="Nothing is downloaded and no program runs while an image is built without a container tool.",
    source="ours: the same source gives the same image on every machine",
)
BUILD_ARGUMENT: Final = Rule(
    name="build-argument",
    says="The Dockerfile declares every build argument.",
    source=f'{_REFERENCE}, "ARG"',
    level="warning",
)
IMAGE_HABIT: Final = Rule(
    name="image-habit",
    says="An image contains what the job needs, and no settings that the platform ignores.",
    source="ours: such images are pushed again needlessly, or do not do what the Dockerfile suggests",
    level="warning",
)
IMAGE_SOURCE: Final = Rule(
    name="image-source",
    says="An image is made from a folder with a Dockerfile, or from a folder and a base image.",
    source="ours: an image can only be built from one of these",
)
BUILD_CONTEXT: Final = Rule(
    name="build-context",
    says="A named build context is a folder, has a name like an image's, and something is copied from it.",
    source='Docker documentation, "docker buildx build", "--build-context"',
)
BASE_IMAGE: Final = Rule(
    name="base-image",
    says="A base image has its own manifest, the wanted platform and no triggers.",
    source='OCI image specification, "Image Configuration"',
)
HASHED_LOCK: Final = Rule(
    name="hashed-lock",
    says="Every requirement of a lock file has one version and hashes, so that it never changes.",
    source='pip documentation, "Secure installs"',
)
