"""Check the options of a source before any file is read, and write the Dockerfile of one that has none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from pulumi_vertex_training.images.dockerfile.lines import Instruction
from pulumi_vertex_training.images.dockerfile.parser import Dockerfile, Stage
from pulumi_vertex_training.images.dockerfile.rules import IMAGE_SOURCE
from pulumi_vertex_training.images.image import PLATFORMS, ImageSource, canonical_name
from pulumi_vertex_training.images.stages.origins import build_context_problems
from vertex_training.findings.problems import Problem

DEFAULT_FOLDER: Final = "/usr/app"
"""Where the files go without a Dockerfile. The Vertex AI SDK and gcloud use the same for local packages."""

DEFAULT_EXCLUDES: Final = (
    "**/.*",
    "**/*.py[co]",
    "**/*.egg-info",
    "**/*~",
    "**/*.sw[op]",
    "**/node_modules",
    "**/__MACOSX",
    "**/Thumbs.db",
    "**/desktop.ini",
)
"""Patterns that are applied before .dockerignore if there is no Dockerfile: hidden and temporary files."""

_PYTHON = re.compile(r"3\.\d{1,2}")


def source_problems(source: ImageSource) -> Iterator[Problem]:
    """Yield the problems of the options, each at its option."""
    if not source.source.is_dir():
        what = "is a file, not a folder" if source.source.exists() else "does not exist"
        yield IMAGE_SOURCE.broken("source", f"{source.source} {what}. Set it to the folder with the files.")
    if source.dockerfile is None and source.base_image is None and source.source.is_dir():
        message = (
            "is missing, and so is dockerfile. Set one of the two: the image to build on, or a Dockerfile."
        )
        yield IMAGE_SOURCE.broken("base_image", message)
    if source.dockerfile is not None and source.base_image is not None:
        message = (
            f"is set together with {source.dockerfile}, whose FROM names the base. Remove one of the two."
        )
        yield IMAGE_SOURCE.broken("base_image", message)
    if source.dockerfile is None:
        yield from _without_dockerfile(source)
    yield from build_context_problems(source)
    if source.platform not in PLATFORMS:
        message = f"{source.platform!r} is not supported. Choose {' or '.join(PLATFORMS)}."
        yield IMAGE_SOURCE.broken("platform", message)
    if source.requirements is not None and source.python_version is None:
        message = "is missing. Wheels are built for one version: set that of the image, for example '3.11'."
        yield IMAGE_SOURCE.broken("python_version", message)
    if source.python_version is not None and not _PYTHON.fullmatch(source.python_version):
        message = f"{source.python_version!r} is not a version of Python 3. Write it like '3.11'."
        yield IMAGE_SOURCE.broken("python_version", message)
    for option, values in (("env", source.env), ("labels", source.labels)):
        for name, value in values.items():
            if not name or "=" in name or "\0" in name + value:
                message = f"{name!r} is not a valid name: it is empty, or has '=' or NUL. Rename it."
                yield IMAGE_SOURCE.broken(f"{option}[{name!r}]", message)


def _without_dockerfile(source: ImageSource) -> Iterator[Problem]:
    if source.base_image is not None and canonical_name(source.base_image) is None:
        message = (
            f"{source.base_image!r} is not the name of an image, HOST/PATH:TAG in lower case. Correct it."
        )
        yield IMAGE_SOURCE.broken("base_image", message)
    for option, given in (("build_args", bool(source.build_args)), ("target", source.target is not None)):
        if given:
            yield IMAGE_SOURCE.broken(option, "needs a Dockerfile. Remove it, or set dockerfile.")


def generated_dockerfile(source: ImageSource) -> Dockerfile:
    """Return the Dockerfile of a source that has none: FROM the base, WORKDIR, COPY of all files.

    The files of the source come first, then each named context's.
    """
    folder = source.working_dir or DEFAULT_FOLDER
    literal = re.sub(r"([\\'\"$\s])", r"\\\1", folder)
    instructions = [
        Instruction(line=1, name="WORKDIR", arguments=literal, text=f"WORKDIR {folder}"),
        Instruction(line=2, name="COPY", arguments='[".", "./"]', text="COPY . ./"),
    ]
    for line, name in enumerate(sorted(source.build_contexts), start=3):
        instructions.append(
            Instruction(
                line=line,
                name="COPY",
                arguments=json.dumps([".", f"./{name}/"]),
                text=f"COPY --from={name} . ./{name}/",
                flags=(("from", name),),
            )
        )
    stage = Stage(
        index=0,
        line=1,
        name=None,
        base=None if source.base_image == "scratch" else canonical_name(source.base_image or ""),
        text=f"FROM {source.base_image}",
        instructions=tuple(instructions),
    )
    return Dockerfile(file="source", escape="\\", global_arguments={}, stages=(stage,))
