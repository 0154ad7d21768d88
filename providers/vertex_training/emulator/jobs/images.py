"""Which container images the emulator can run, and how.

Google's prebuilt training images are answered by a stand-in: the program runs with the host's Python, and the
first line of its log says so. In place of a reduction server a process waits. Any other image is refused by
name; nothing is replaced silently.
"""

from __future__ import annotations

import platform
import sys

from vertex_training.topology.prebuilt_images import prebuilt_image
from vertex_training.topology.roles import is_reduction_server_image


def is_prebuilt(image_uri: str) -> bool:
    """Whether the image is one of Google's prebuilt training images, with any tag or digest; not those of
    Ray, which start a cluster of their own."""
    found = prebuilt_image(image_uri)
    return found is not None and found.framework != "ray"


def is_answered(image_uri: str) -> bool:
    """Whether replicas with this image run something: a prebuilt image, or the reduction server."""
    return is_prebuilt(image_uri) or is_reduction_server_image(image_uri)


def refusal(image_uri: str) -> str:
    """Why an image that is not prebuilt is not run."""
    return (
        f"the emulator does not run the image {image_uri!r}: it has no container runtime yet and answers "
        "only Google's prebuilt training images, with the host's Python. Use one of those, such as "
        "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest, or run this job on Google Cloud."
    )


def notice(image_uri: str, *, accelerators: str = "") -> str:
    """The first line of a replica's log."""
    if is_reduction_server_image(image_uri):
        return (
            "Emulator: the reduction server is not run; this replica waits until the job ends, and the "
            "others "
            "reduce their gradients among themselves."
        )
    text = (
        f"Emulator: the image {image_uri} is not run; this replica uses Python {platform.python_version()} "
        f"of this machine ({sys.executable}) and the packages installed there."
    )
    return f"{text} It has no {accelerators} of its own." if accelerators else text
