from __future__ import annotations

import pytest

from vertex_training.catalog.prebuilt_images import PrebuiltImage, prebuilt_image

US = "us-docker.pkg.dev/vertex-ai/training"


@pytest.mark.parametrize(
    ("uri", "name", "framework", "device", "version"),
    [
        (f"{US}/tf-gpu.2-17.py310:latest", "tf-gpu.2-17.py310:latest", "tf", "gpu", (2, 17)),
        (f"{US}/sklearn-cpu.1-6", "sklearn-cpu.1-6", "sklearn", "cpu", (1, 6)),
        (
            "gcr.io/cloud-aiplatform/training/scikit-learn-cpu.0-23:latest",
            "scikit-learn-cpu.0-23:latest",
            "scikit-learn",
            "cpu",
            (0, 23),
        ),
        (
            "asia-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310",
            "pytorch-xla.2-4.py310",
            "pytorch",
            "xla",
            (2, 4),
        ),
        (
            f"{US}/tf-tpu.2-15.cp310@sha256:{'0' * 64}",
            f"tf-tpu.2-15.cp310@sha256:{'0' * 64}",
            "tf",
            "tpu",
            (2, 15),
        ),
    ],
)
def test_a_prebuilt_image(uri, name, framework, device, version):
    assert prebuilt_image(uri) == PrebuiltImage(
        name=name, framework=framework, device=device, version=version
    )


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "python:3.11",
        "us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-8:latest",
        "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest",
        "us-central1-docker.pkg.dev/vertex-ai/training/tf-gpu.2-17.py310:latest",
        f"{US}/tf-gpu.2-17.py310:latest ",
        f"{US}/tf-gpu.2-17.py310:la test",
        f"evil.example/{US}/tf-gpu.2-17.py310",
    ],
)
def test_any_other_image(uri):
    assert prebuilt_image(uri) is None
