"""The match of Google's training images and the machine."""

from __future__ import annotations

import pytest

from vertex_training.topology.pools import MachineSpec
from vertex_training.topology.rules.images import fitting_problems

PLAIN = MachineSpec(machine_type="n1-standard-4")
T4 = MachineSpec(machine_type="n1-standard-4", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1)


def said(image: str, machine: MachineSpec) -> list[str]:
    uri = f"us-docker.pkg.dev/vertex-ai/training/{image}"
    return [problem.message for problem in fitting_problems(uri, machine, "image", "machine")]


@pytest.mark.parametrize("tag", ["", ":latest", "@sha256:" + "0" * 64])
def test_the_smaller_image_is_named(tag: str) -> None:
    assert said(f"tf-gpu.2-17.py310{tag}", PLAIN) == [
        f"tf-gpu.2-17.py310{tag} is for GPUs, and n1-standard-4 has none here; use tf-cpu.2-17.py310, "
        "which is smaller"
    ]


def test_a_version_that_is_there_for_gpus_only_fits() -> None:
    assert said("pytorch-gpu.2-4.py310:latest", PLAIN) == []


@pytest.mark.parametrize("image", ["tf-gpu.2-17.py310", "pytorch-gpu.2-4.py310"])
def test_an_image_for_gpus_fits_a_gpu(image: str) -> None:
    assert said(image, T4) == []
