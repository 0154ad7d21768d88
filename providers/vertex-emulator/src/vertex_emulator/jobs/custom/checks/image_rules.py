"""Decide which container images replicas can run on this machine, and what their logs say about it.

An image with the label of a stand-in runs with the host's root and Python, with its own layers on top. Any
other image runs in a root of its own. An image that cannot run is rejected by name; nothing is replaced
silently.
"""

from __future__ import annotations

import sys

from vertex_emulator.kernel.timeouts import DAEMON, Timeouts
from vertex_emulator.replicas.images.image import ImageError, ReplicaImage, host_python
from vertex_emulator.replicas.images.resolution import Images, look_up
from vertex_emulator.replicas.images.stand_ins import official_python, other_python
from vertex_emulator.replicas.preparation import interpreters
from vertex_emulator.replicas.sandbox.mounts import masks
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_training.catalog.image_packages import packages_of_image
from vertex_training.catalog.prebuilt_images import prebuilt_image
from vertex_training.topology.roles import is_reduction_server_image


def is_prebuilt(image_uri: str) -> bool:
    """Return whether an image is one of Google's prebuilt training images, with any tag or digest.

    The images of Ray are excluded: they start a cluster of their own.
    """
    image = prebuilt_image(image_uri)
    return image is not None and image.framework != "ray"


def resolve_for_replica(
    images: Images, image_uri: str, *, has_command: bool, is_executor: bool, sandbox: Sandbox
) -> ReplicaImage:
    """Resolve the image of a worker pool. Raises `ImageError` if it cannot run here.

    `is_executor`: the image is to run Python packages. `has_command`: the job sets the container's command.
    """
    image = look_up(images, image_uri)
    if image.root == "own":
        if is_executor:
            raise ImageError(
                f"{image.name} is not built on a prebuilt image, but only prebuilt images run Python "
                "packages. Use a prebuilt image, such as "
                "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
            )
        if sandbox.kind != "namespaces":
            raise ImageError(
                f"{image.name} needs its own root file system, which this machine cannot provide: "
                f"{sandbox.reason}. Build it on an image that the emulator has a stand-in for, such as "
                f"python:{host_python()}, or run the job on Google Cloud"
            )
    if not has_command and not is_executor and not (image.entrypoint or image.command):
        raise ImageError(f"{image.name} has neither entrypoint nor command; set command in container_spec")
    return image


def notice(
    image_uri: str,
    image: ReplicaImage,
    sandbox: Sandbox,
    *,
    timeouts: Timeouts = DAEMON,
    accelerators: str = "",
    gpus: int | None = None,
) -> str:
    """Return the first line of a replica's log.

    `accelerators` are its machine type's, `gpus` the NVIDIA GPUs of this machine (None: count them).
    """
    if image.root == "own":
        text = (
            f"Emulator: this replica runs the image {image.name} in its own root file system. Of the files "
            "of this machine, it sees the buckets in /gcs, its file shares, and parts of /proc and /sys."
        )
    elif is_reduction_server_image(image_uri):
        return (
            "Emulator: the reduction server is not run; this replica waits until the job ends, and the "
            "other replicas reduce their gradients without it."
        )
    elif not image.layers:
        text = f"Emulator: the image {image_uri} is not run; this replica uses {_python(image, timeouts)}."
    else:
        shown = "" if sandbox.kind == "namespaces" else " below its working directory, not at their own paths"
        text = (
            f"Emulator: this replica runs the image {image.name} with its files{shown}. Instead of its "
            f"base image {image.stand_in}, it uses the files of this machine, with "
            f"{_python(image, timeouts)}."
        )
    rights = sandbox.rights(own_root=image.root == "own")
    return " ".join(
        [text, rights, *_warnings(image, sandbox, timeouts), *_devices(image, accelerators, gpus)]
    )


def _python(image: ReplicaImage, timeouts: Timeouts) -> str:
    """Return in words which Python a replica on a stand-in has, as far as it is known before the start."""
    own = interpreters.own()
    named = official_python(image.stand_in)
    interpreter = (interpreters.find(named, timeouts=timeouts) if named else None) or own
    text = f"Python {interpreter.version} of this machine ({interpreter.executable})"
    if interpreter != own:
        return text
    if not packages_of_image(image.stand_in):
        return f"{text} and, of packages, only the job's and the image's own layers'"
    return f"{text}, with those packages of {sys.prefix} that the image has"


def _warnings(image: ReplicaImage, sandbox: Sandbox, timeouts: Timeouts) -> list[str]:
    warnings = []
    if image.user and sandbox.kind != "namespaces":
        warnings.append(f"WARNING: it runs as you, not as the image's user {image.user}.")
    wanted = other_python(image.stand_in) if image.stand_in else None
    if wanted and (
        official_python(image.stand_in) is None or interpreters.find(wanted, timeouts=timeouts) is None
    ):
        warnings.append(f"WARNING: the base image has Python {wanted}, not {host_python()}.")
    if image.architecture and image.layers:
        warnings.append(
            f"WARNING: the image is built for linux/{image.architecture}; its machine code does not run here."
        )
    return warnings


def _devices(image: ReplicaImage, accelerators: str, gpus: int | None) -> list[str]:
    """Return sentences about the accelerators of a replica."""
    if not accelerators:
        return []
    present = 0 if image.root == "own" else masks.nvidia_gpus() if gpus is None else gpus
    instead = ""
    if present:
        shown = "NVIDIA GPU" if present == 1 else f"{present} NVIDIA GPUs"
        instead = f", but it can use the {shown} of this machine, as all replicas can"
    return [
        f"It has no real {accelerators}{instead}.",
        "JAX and TensorFlow find the same number of CPU devices; other programs get the number from "
        "vertex_cluster.local_devices().",
    ]
