"""The rules of container images: their names, and whether Google's own match the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vertex_training.catalog.accelerators import is_gpu
from vertex_training.catalog.machines import is_tpu, machine
from vertex_training.catalog.prebuilt_images import PREBUILT_IMAGES, PrebuiltImage, prebuilt_image
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, shown
from vertex_training.topology.pools import MachineSpec
from vertex_training.topology.roles import is_reduction_server_image

_PREBUILT = 'Vertex AI documentation, "Prebuilt containers for serverless training"'

IMAGE = Rule(
    name="image",
    says="an image is REGISTRY/PATH in lower case, with a tag or digest if it has one",
    source="the grammar of image references, github.com/distribution/reference",
)
PREBUILT_NAME = Rule(
    name="prebuilt-name",
    says="an image in Google's repositories for training exists",
    source=_PREBUILT,
    level="warning",
)
PREBUILT_ACCELERATOR = Rule(
    name="prebuilt-accelerator",
    says="a prebuilt image is for the accelerators of its machine",
    source=_PREBUILT,
    level="warning",
)

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?)/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
_GOOGLE_S = re.compile(
    r"(?:(?:us|europe|asia)-docker\.pkg\.dev/(?P<repository>vertex-ai|vertex-ai-restricted)"
    r"|(?:[a-z]+\.)?gcr\.io/cloud-aiplatform)/training/(?P<name>[^:@]*)"
)


def image_problems(uri: str, path: str) -> Iterator[Problem]:
    """Check the name of an image."""
    match = _IMAGE.fullmatch(uri)
    if match is None:
        yield IMAGE.broken(
            path,
            f"{shown(uri, longest=200)} is not a container image; write REGISTRY/PATH:TAG or "
            "REGISTRY/PATH@sha256:DIGEST, the path in lower case",
        )
        return
    if (match["host"] or "").endswith("-docker.pkg.dev") and match["path"].count("/") < 2:
        yield IMAGE.broken(
            path,
            f"{shown(uri, longest=200)} does not name an image in its repository; write "
            f"{match['host']}/PROJECT/REPOSITORY/IMAGE:TAG",
        )
        return
    google = _GOOGLE_S.match(uri)
    if google is not None and not is_reduction_server_image(uri):
        yield from _name_problems(uri, google["name"], google["repository"] or "", path)


def _name_problems(uri: str, name: str, repository: str, path: str) -> Iterator[Problem]:
    known = ("reductionserver",) if repository == "vertex-ai-restricted" else PREBUILT_IMAGES
    if name in known or name.startswith("ray-"):
        return
    hint = nearest(name, known, count=1) or "its page in the documentation lists the images"
    yield PREBUILT_NAME.broken(path, f"{shown(uri, longest=200)} is not a known image of Google's; {hint}")


def fitting_problems(uri: str, spec: MachineSpec, path: str, machine_path: str) -> Iterator[Problem]:
    """Check that a prebuilt image matches the accelerators of its machine."""
    image = prebuilt_image(uri)
    if image is None or machine(spec.machine_type) is None:
        return
    fault = _misfit(image, spec)
    if fault:
        yield PREBUILT_ACCELERATOR.broken(
            path,
            f"{image.name} {fault}",
            rests_on=(
                path,
                f"{machine_path}.machine_type",
                f"{machine_path}.accelerator_type",
                f"{machine_path}.accelerator_count",
            ),
        )


def _misfit(image: PrebuiltImage, spec: MachineSpec) -> str:
    gpus = spec.accelerator_type if is_gpu(spec.accelerator_type or "") else None
    if is_tpu(spec.machine_type):
        fits = image.device in ("tpu", "xla")
        return "" if fits else f"is not for TPUs, which {spec.machine_type} has; use an image for them"
    if image.device in ("tpu", "xla"):
        return f"is for TPUs, and {spec.machine_type} has none; use an image for its accelerators"
    if image.device == "cpu" and gpus:
        return (
            f"does not use GPUs, and the machine has {spec.accelerator_count} x {gpus}; use an image for GPUs"
        )
    smaller = re.split("[:@]", image.name)[0].replace("-gpu.", "-cpu.")
    # Most prebuilt versions of PyTorch exist for GPUs only, but also run without a GPU.
    if image.device == "gpu" and not gpus and smaller in PREBUILT_IMAGES:
        return f"is for GPUs, and {spec.machine_type} has none here; use {smaller}, which is smaller"
    return ""
