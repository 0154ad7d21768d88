"""The names of Google's prebuilt training images.

Source: Vertex AI documentation, "Prebuilt containers for serverless training": one repository in each of
three multi-regions, and the older one of Container Registry.

To refresh `PREBUILT_IMAGES`: copy the names in the tables of that page, without repository and tag. Ray
images are not listed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PREBUILT = re.compile(
    r"((us|europe|asia)-docker\.pkg\.dev/vertex-ai|((us|eu|asia)\.)?gcr\.io/cloud-aiplatform)/training/"
    r"(?P<name>(?P<framework>[a-z]+(-[a-z]+)*)-(?P<device>[a-z]+)\.(?P<major>\d{1,3})-(?P<minor>\d{1,3})"
    r"(\.[a-z0-9.-]+)?(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@sha256:[0-9a-f]{64})?)"
)


@dataclass(frozen=True, kw_only=True)
class PrebuiltImage:
    """The parts of a prebuilt image's name.

    `name` has no repository: "tf-gpu.2-17.py310:latest". `framework` is tf, pytorch, sklearn, xgboost, ...;
    `device` is cpu, gpu, tpu or xla; `version` is the framework's major and minor version.
    """

    name: str
    framework: str
    device: str
    version: tuple[int, int]


def prebuilt_image(image_uri: str) -> PrebuiltImage | None:
    """Parse the name of a prebuilt training image, with any tag or digest; None for any other image."""
    match = _PREBUILT.fullmatch(image_uri)
    if match is None:
        return None
    return PrebuiltImage(
        name=match["name"],
        framework=match["framework"],
        device=match["device"],
        version=(int(match["major"]), int(match["minor"])),
    )


AS_OF = "2026-08"
SOURCE = 'Vertex AI documentation, "Prebuilt containers for serverless training"'

_TF = ("1-15", "2-1", "2-2", "2-3", "2-4", "2-5", "2-6", "2-7", "2-8", "2-9", "2-11")
_TF_310 = ("2-8", "2-9", "2-11", "2-12", "2-13", "2-14", "2-15", "2-16", "2-17")
_PYTORCH = ("1-4", "1-6", "1-7", "1-9", "1-10", "1-11", "1-12", "1-13")
_PYTORCH_310 = ("1-12", "1-13", "2-0", "2-1", "2-2", "2-3", "2-4")

PREBUILT_IMAGES: tuple[str, ...] = (
    *(f"tf-{device}.{version}" for device in ("cpu", "gpu") for version in _TF),
    *(f"tf-{device}.{version}.py310" for device in ("cpu", "gpu") for version in _TF_310),
    *("tf-tpu.2-12", "tf-tpu.2-15.cp310"),
    "pytorch-cpu.1-4",
    *(f"pytorch-gpu.{version}" for version in _PYTORCH),
    *(f"pytorch-gpu.{version}.py310" for version in _PYTORCH_310),
    *(f"pytorch-xla.{version}" for version in ("1-6", "1-7", "1-9", "1-10", "1-11")),
    *(f"pytorch-xla.{version}.py310" for version in ("2-0", "2-1", "2-2", "2-3", "2-4")),
    *("pytorch-tpu.2-0", "pytorch-tpu.2-1.cp310", "pytorch-tpu.2-2.cp310"),
    "scikit-learn-cpu.0-23",
    *(f"sklearn-{device}.{version}" for device in ("cpu", "gpu") for version in ("1-0", "1-6")),
    *(f"xgboost-cpu.{version}" for version in ("1-1", "1-6", "2-1")),
    *(f"xgboost-gpu.{version}" for version in ("1-6", "2-1")),
)
"""Names as in us-docker.pkg.dev/vertex-ai/training/NAME:latest."""
