"""The rules that a Dockerfile is held to, each with its document."""

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
    says="The arguments of an instruction have the form that the instruction wants.",
    source=_REFERENCE,
)
DOCKERFILE_STAGE: Final = Rule(
    name="dockerfile-stage",
    says="A stage is named once, is built from what comes before it, and exists when it is asked for.",
    source='Docker documentation, "Multi-stage builds"',
)
COPY_SOURCE: Final = Rule(
    name="copy-source",
    says="What COPY and ADD take lies in the build context, is not left out, and is a file, folder or link.",
    source=f'{_REFERENCE}, "COPY"',
)
COPY_DESTINATION: Final = Rule(
    name="copy-destination",
    says="Several files are copied into a folder, whose name ends with a slash; a file replaces no folder.",
    source=f'{_REFERENCE}, "COPY"',
)
NOT_BUILT_HERE: Final = Rule(
    name="not-built-here",
    says="Nothing is downloaded and no program runs while an image is built without a container tool.",
    source="ours: the same source gives the same image on every machine",
)
BUILD_ARGUMENT: Final = Rule(
    name="build-argument",
    says="A build argument is one that the Dockerfile declares.",
    source=f'{_REFERENCE}, "ARG"',
    level="warning",
)
IMAGE_HABIT: Final = Rule(
    name="image-habit",
    says="An image holds what the job needs, and nothing that the platform does not look at.",
    source="ours: such images are sent anew without need, or do not do what they seem to",
    level="warning",
)
IMAGE_SOURCE: Final = Rule(
    name="image-source",
    says="An image is made from a folder with a Dockerfile, or from a folder and a base image.",
    source="ours: everything else has no place in an image",
)
BUILD_CONTEXT: Final = Rule(
    name="build-context",
    says="A named build context is a folder, has a name like an image's, and something is copied from it.",
    source='Docker documentation, "docker buildx build", "--build-context"',
)
BASE_IMAGE: Final = Rule(
    name="base-image",
    says="A base image has a manifest of its own, the wanted platform and no triggers.",
    source='OCI image specification, "Image Configuration"',
)
HASHED_LOCK: Final = Rule(
    name="hashed-lock",
    says="Every requirement of a lock file has one version and hashes, so that it is the same for ever.",
    source='pip documentation, "Secure installs"',
)
