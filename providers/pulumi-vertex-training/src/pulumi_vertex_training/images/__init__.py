"""Build container images without Docker: from a Dockerfile without RUN, or from a base image and a folder.

Only `fetch_wheels`, which runs pip, uses the network. The caller passes manifests and configurations of base
images, their layers where needed, and uploads the result.
"""

from __future__ import annotations

from pulumi_vertex_training.images.build import build_image
from pulumi_vertex_training.images.image import BaseImage, Blob, BuiltImage, ImageSource
from pulumi_vertex_training.images.manifests import select_platform
from pulumi_vertex_training.images.plan import ImagePlan, RunInstruction, plan_image
from pulumi_vertex_training.images.wheels.fetching import Wheel, WheelFolder, fetch_wheels
from pulumi_vertex_training.images.wheels.layout import WheelLayer

__all__ = [
    "BaseImage",
    "Blob",
    "BuiltImage",
    "ImagePlan",
    "ImageSource",
    "RunInstruction",
    "Wheel",
    "WheelFolder",
    "WheelLayer",
    "build_image",
    "fetch_wheels",
    "plan_image",
    "select_platform",
]
