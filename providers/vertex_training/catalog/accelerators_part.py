"""What is known of single accelerators beside their names: which are retired, which will be, which are TPUs.

Source: Vertex AI documentation, "Configure compute resources for serverless training" and "Locations"; the
comments of the enum `AcceleratorType`. To refresh: read the cautions of those two pages; the names themselves
are in `topology.accelerators`.

Inferred: the counts of a retired accelerator, from AI Platform Training's own table of GPUs per machine,
which is no longer published; they are not told apart by machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

AS_OF = "2026-08"
SOURCE = 'Vertex AI documentation, "Configure compute resources for serverless training"'

RETIRED: Mapping[str, tuple[int, ...]] = MappingProxyType({"NVIDIA_TESLA_K80": (1, 2, 4, 8)})
"""Accelerators that the service refuses for new jobs, all of N1 machines, and the counts it used to take."""

END_OF_SUPPORT: Mapping[str, str] = MappingProxyType({"NVIDIA_TESLA_P100": "15 September 2026"})
"""Accelerators that will be retired, and when."""

INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "TPU_V4_POD": "no machine for training has it",
        "TPU_V5_LITEPOD": "ask for TPU v5e by machine_type ct5lp-hightpu-4t and a tpu_topology",
    }
)
"""Names of the enum that are for other services, and what to do about each."""


def is_gpu(accelerator_type: str) -> bool:
    """Whether a name is that of a GPU, known or not."""
    return accelerator_type.startswith("NVIDIA_")
