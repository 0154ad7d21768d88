"""Google's prebuilt training images, by their names.

Source: Vertex AI documentation, "Prebuilt containers for serverless training": one repository in each of
three multi-regions, and the older one of Container Registry.
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
    """`name`: without the repository, "tf-gpu.2-17.py310:latest"; `framework`: tf, pytorch, sklearn, xgboost,
    ...; `device`: cpu, gpu, tpu or xla; `version`: of the framework, major and minor."""

    name: str
    framework: str
    device: str
    version: tuple[int, int]


def prebuilt_image(image_uri: str) -> PrebuiltImage | None:
    """What the name of a prebuilt training image says, with any tag or digest; None for any other image."""
    match = _PREBUILT.fullmatch(image_uri)
    if match is None:
        return None
    return PrebuiltImage(
        name=match["name"],
        framework=match["framework"],
        device=match["device"],
        version=(int(match["major"]), int(match["minor"])),
    )
