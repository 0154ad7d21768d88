"""The prebuilt training images that there are.

To refresh: the names in the tables of the page, without repository and tag. Ray's are not listed here.
"""

from __future__ import annotations

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
