"""The accelerator names of Vertex AI.

Source: enum `google.cloud.aiplatform.v1.AcceleratorType`, as published in google-cloud-aiplatform 2.7.0
(August 2026). `tests/topology` compares this table with the installed messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vertex_training.catalog import enumerations

UNSPECIFIED = "ACCELERATOR_TYPE_UNSPECIFIED"

NUMBERS: Mapping[str, int] = MappingProxyType(
    {
        UNSPECIFIED: 0,
        "NVIDIA_TESLA_K80": 1,  # deprecated; the service refuses it for new jobs
        "NVIDIA_TESLA_P100": 2,
        "NVIDIA_TESLA_V100": 3,
        "NVIDIA_TESLA_P4": 4,
        "NVIDIA_TESLA_T4": 5,
        "TPU_V2": 6,
        "TPU_V3": 7,
        "NVIDIA_TESLA_A100": 8,
        "NVIDIA_A100_80GB": 9,
        "TPU_V4_POD": 10,
        "NVIDIA_L4": 11,
        "TPU_V5_LITEPOD": 12,
        "NVIDIA_H100_80GB": 13,
        "NVIDIA_H100_MEGA_80GB": 14,
        "NVIDIA_H200_141GB": 15,
        "NVIDIA_B200": 16,
        "NVIDIA_GB200": 17,
        "NVIDIA_RTX_PRO_6000": 18,
    }
)
"""Every name with its number in the enum."""

NAMES: tuple[str, ...] = tuple(name for name in NUMBERS if name != UNSPECIFIED)
"""The names that a pool can ask for."""


by_number = enumerations.by_number(NUMBERS)
"""The name of a number of the enum; any other value comes back as it is."""
