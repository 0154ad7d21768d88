"""The accelerators of Vertex AI: their names, and the retired ones.

Sources: enum `google.cloud.aiplatform.v1.AcceleratorType`, as published in google-cloud-aiplatform 2.7.0
(August 2026), and its comments; Vertex AI documentation, "Configure compute resources for serverless
training" and "Locations". To refresh: read the cautions of those two pages. `tests/vertex_training/catalog`
compares the names with the installed messages.

Inferred: the counts of a retired accelerator. They come from AI Platform Training's own table of GPUs per
machine, which is no longer published, and are the same for every machine here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from types import MappingProxyType

from vertex_training.catalog import enumerations

UNSPECIFIED = "ACCELERATOR_TYPE_UNSPECIFIED"

NUMBERS: Mapping[str, int] = MappingProxyType(
    {
        UNSPECIFIED: 0,
        "NVIDIA_TESLA_K80": 1,  # deprecated; the service rejects it for new jobs
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
"""Every name and its number in the enum."""

NAMES: tuple[str, ...] = tuple(name for name in NUMBERS if name != UNSPECIFIED)
"""The names that a worker pool can request."""


by_number = enumerations.by_number(NUMBERS)
"""Convert a number of the enum to its name; return any other value unchanged."""


AS_OF = "2026-08"
SOURCE = 'Vertex AI documentation, "Configure compute resources for serverless training"'

RETIRED: Mapping[str, tuple[int, ...]] = MappingProxyType({"NVIDIA_TESLA_K80": (1, 2, 4, 8)})
"""Accelerators that the service rejects for new jobs, with the counts it used to accept on N1 machines."""

END_OF_SUPPORT: Mapping[str, str] = MappingProxyType({"NVIDIA_TESLA_P100": "15 September 2026"})
"""Accelerators whose support ends, with the date."""

INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "TPU_V4_POD": "no machine for training has it",
        "TPU_V5_LITEPOD": "ask for TPU v5e by machine_type ct5lp-hightpu-4t and a tpu_topology",
    }
)
"""Names of the enum that training jobs cannot use, with the remedy for each."""


_MAKER = frozenset({"NVIDIA", "TESLA"})
_MEMORY = re.compile(r"([0-9]{2,3})(?:G|GB|GIB)?", re.ASCII)
_LONGEST = 100


def meant(name: str) -> str:
    """Return the accelerator that another spelling names, such as NVIDIA_L4 for NVIDIA_TESLA_L4; "" for none.

    The model decides, and then the memory: NVIDIA_A100_80GB for A100-SXM4-80GB.
    """
    given = _words(name) if len(name) <= _LONGEST else frozenset()
    found = [each for each in NAMES if _model(each) and _model(each) <= given]
    return max(
        found,
        key=lambda each: (len(_model(each)), len(_words(each) & given), each in _WITHOUT_MEMORY),
        default="",
    )


def _words(name: str) -> frozenset[str]:
    """Return the words of a name without the maker; memory is its number."""
    words = re.split(r"[^A-Z0-9]+", name.upper())
    found = frozenset(match[1] if (match := _MEMORY.fullmatch(word)) else word for word in words if word)
    return found - _MAKER


@functools.cache
def _model(name: str) -> frozenset[str]:
    return frozenset(word for word in _words(name) if not _MEMORY.fullmatch(word))


_WITHOUT_MEMORY = frozenset({"NVIDIA_TESLA_A100"})
"""Names that have no memory in them, of a model that another name has with one."""


def is_gpu(accelerator_type: str) -> bool:
    """Return whether a name has the form of a GPU's name, whether or not the tables have it."""
    return accelerator_type.startswith("NVIDIA_")
