"""Builds container images without Docker: from a Dockerfile without RUN, or from a base and a folder.

Nothing here uses the network but `fetch_wheels`, which runs pip. The caller brings manifests, configurations
and, where they are needed, layers of base images, and sends what was built.
"""

from __future__ import annotations

from vertex_training.packaging.images.build import build_image
from vertex_training.packaging.images.manifests import select_platform
from vertex_training.packaging.images.parts import BaseImage, Blob, BuiltImage
from vertex_training.packaging.images.plan import ImagePlan, RunInstruction, plan_image
from vertex_training.packaging.images.source import ImageSource
from vertex_training.packaging.images.wheels import Wheel, WheelFolder, fetch_wheels

__all__ = [
    "BaseImage",
    "Blob",
    "BuiltImage",
    "ImagePlan",
    "ImageSource",
    "RunInstruction",
    "Wheel",
    "WheelFolder",
    "build_image",
    "fetch_wheels",
    "plan_image",
    "select_platform",
]
