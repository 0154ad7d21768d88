"""The packages of Google's training images, by the modules that programs import."""

from __future__ import annotations

import pytest

from vertex_training.catalog.image_packages import distribution_in_image, packages_of_image

TRAINING = "us-docker.pkg.dev/vertex-ai/training"
DEEP_LEARNING = "gcr.io/deeplearning-platform-release"


@pytest.mark.parametrize(
    ("module", "image", "distribution"),
    [
        ("numpy", f"{TRAINING}/sklearn-cpu.1-6:latest", "numpy"),
        ("sklearn", f"{TRAINING}/sklearn-cpu.1-6:latest", "scikit-learn"),
        ("google.cloud.storage", f"{TRAINING}/sklearn-cpu.1-6:latest", "google-cloud-storage"),
        ("google.cloud.bigquery", f"{TRAINING}/sklearn-cpu.1-6:latest", None),
        ("numpy.rec", f"{TRAINING}/sklearn-cpu.1-6:latest", None),
        ("torch", f"{TRAINING}/sklearn-cpu.1-6:latest", None),
        ("torch_xla", f"{TRAINING}/pytorch-xla.2-4.py310:latest", "torch-xla"),
        ("torch", f"{DEEP_LEARNING}/pytorch-gpu.2-0", "torch"),
        ("xgboost", f"{TRAINING}/xgboost-cpu.2-1:latest", "xgboost"),
        ("numpy", "docker.io/library/python:3.12", None),
    ],
)
def test_the_distribution_of_a_module(module: str, image: str, distribution: str | None) -> None:
    assert distribution_in_image(module, image) == distribution
    assert distribution is None or distribution in packages_of_image(image)
