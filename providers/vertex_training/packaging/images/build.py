"""Builds the image of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vertex_training.packaging.images.parts import BaseImage, BuiltImage
from vertex_training.packaging.images.plan import ImagePlan
from vertex_training.packaging.images.wheels import WheelFolder


def build_image(
    plan: ImagePlan, bases: Mapping[str, BaseImage], wheels: WheelFolder | None, folder: Path
) -> BuiltImage:
    """Makes the image; `bases` has the key of every one of `plan.base_images`, files are written to `folder`.

    The same plan, bases and wheels give the same bytes on every machine. Raises PackagingError with all
    problems, ValueError when a base or the wheels are missing or the plan needs a tool.
    """
    raise NotImplementedError
