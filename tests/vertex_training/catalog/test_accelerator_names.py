"""Other spellings of accelerators: the model that was named is kept."""

from __future__ import annotations

from support.tables import every_row
from vertex_training.catalog.accelerators import NAMES, meant


@every_row(
    "name, accelerator",
    [
        *((name, name) for name in NAMES),
        *((name.lower().replace("_", "-"), name) for name in NAMES),
        ("NVIDIA_TESLA_L4", "NVIDIA_L4"),
        ("NVIDIA_TESLA_A100_80GB", "NVIDIA_A100_80GB"),
        ("A100-SXM4-80GB", "NVIDIA_A100_80GB"),
        ("NVIDIA_A100_80GIB", "NVIDIA_A100_80GB"),
        ("NVIDIA_A100", "NVIDIA_TESLA_A100"),
        ("A100_40GB", "NVIDIA_TESLA_A100"),
        ("NVIDIA_H100", "NVIDIA_H100_80GB"),
        ("H100-80GB-HBM3", "NVIDIA_H100_80GB"),
        ("h100 mega", "NVIDIA_H100_MEGA_80GB"),
        ("H200", "NVIDIA_H200_141GB"),
        ("NVIDIA_TESLA_B200", "NVIDIA_B200"),
        ("nvidia-l4-vws", "NVIDIA_L4"),
        ("V100_16GB", "NVIDIA_TESLA_V100"),
        ("T4", "NVIDIA_TESLA_T4"),
        ("NVIDIA_L40S", ""),
        ("NVIDIA_TESLA_V10", ""),
        ("80GB", ""),
        ("", ""),
        ("L4_" * 1000, ""),
    ],
)
def test_another_spelling_keeps_the_model(name: str, accelerator: str) -> None:
    assert meant(name) == accelerator
