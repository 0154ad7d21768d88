"""Reads a source and says what the image of it needs."""

from __future__ import annotations

from dataclasses import dataclass

from vertex_training.packaging.images.source import ImageSource
from vertex_training.topology.problems import Problem


@dataclass(frozen=True, kw_only=True)
class RunInstruction:
    """A RUN that stands between us and the image: `line` in `file`, counted from 1, and its text."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class ImagePlan:
    """What is to be built, with the hash of every file that takes part.

    `base_images` are the canonical names of the images that the build starts from or copies from, each once;
    `needs_tool` is the first RUN, which only a container tool can run, or None. `content_hash` (SHA-256, hex)
    covers all that decides the image but its bases: files, instructions, options, pinned requirements.
    `needs_layers` tells whether `BaseImage.open_layer` may be called. `problems` are warnings.
    """

    source: ImageSource
    base_images: tuple[str, ...]
    needs_tool: RunInstruction | None
    content_hash: str
    summary: str
    needs_layers: bool = False
    needs_wheels: bool = False
    problems: tuple[Problem, ...] = ()


def plan_image(source: ImageSource) -> ImagePlan:
    """Reads the folder, its Dockerfile, .dockerignore and requirements; no network.

    Raises PackagingError with all problems at once.
    """
    raise NotImplementedError
