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

from vertex_training.catalog import api, enumerations

UNSPECIFIED = "ACCELERATOR_TYPE_UNSPECIFIED"

NUMBERS = api.ENUMS["AcceleratorType"]
"""Every name and its number in the enum."""

NAMES: tuple[str, ...] = tuple(name for name in NUMBERS if name != UNSPECIFIED)
"""The names that a worker pool can request."""


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

by_number = enumerations.ByNumber(NUMBERS, old=(*RETIRED, *INSTEAD))
"""Convert a number of the enum to its name; return any other value unchanged."""


_MAKER = frozenset({"NVIDIA", "TESLA"})
_MEMORY = re.compile(r"([0-9]{2,3})(?:G|GB|GIB)?", re.ASCII)
_LONGEST = 100


def meant(name: str) -> str:
    """Return the accelerator that another spelling names, such as NVIDIA_L4 for NVIDIA_TESLA_L4; "" for none.

    The model decides, and then the memory: NVIDIA_A100_80GB for A100-SXM4-80GB.
    """
    given = _words(name) if len(name) <= _LONGEST else frozenset()
    candidates = [each for each in NAMES if _model(each) and _model(each) <= given]
    return max(
        candidates,
        key=lambda each: (len(_model(each)), len(_words(each) & given), each in _WITHOUT_MEMORY),
        default="",
    )


def _words(name: str) -> frozenset[str]:
    """Return the words of a name without the maker; memory is its number."""
    words = re.split(r"[^A-Z0-9]+", name.upper())
    words_left = frozenset(match[1] if (match := _MEMORY.fullmatch(word)) else word for word in words if word)
    return words_left - _MAKER


@functools.cache
def _model(name: str) -> frozenset[str]:
    return frozenset(word for word in _words(name) if not _MEMORY.fullmatch(word))


_WITHOUT_MEMORY = frozenset({"NVIDIA_TESLA_A100"})
"""Names that have no memory in them, of a model that another name has with one."""


def is_gpu(accelerator_type: str) -> bool:
    """Return whether a name has the form of a GPU's name, whether or not the tables have it."""
    return accelerator_type.startswith("NVIDIA_")
