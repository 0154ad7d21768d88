"""Tables of names of legacy AI Platform and their equivalents on Vertex AI.

Refresh: AI Platform ended on 31 January 2025, so only the prebuilt images of Vertex AI can change ("Prebuilt
containers for serverless training").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from vertex_training.topology.rules.reduction_servers import image_for

AS_OF = "2026-08"
SOURCE = (
    'AI Platform documentation, "Machine types" (legacy machine types), confirmed by the sums in "Pricing"; '
    'AI Platform Training API v1, TrainingInput; Vertex AI documentation, "Prebuilt containers for training"'
)

CLOUD_TPU = "cloud_tpu"
"""The machine type that is a TPU; the only legacy one that takes an accelerator config."""


@dataclass(frozen=True, kw_only=True)
class LegacyMachine:
    """A machine name of AI Platform.

    `machine_type` is the one on Vertex AI. `ran_on` is the Compute Engine type of AI Platform if Vertex AI
    does not train on that type.
    """

    machine_type: str
    accelerator_type: str | None = None
    accelerator_count: int = 0
    ran_on: str | None = None


def _gpus(machine_type: str, kind: str, count: int) -> LegacyMachine:
    return LegacyMachine(machine_type=machine_type, accelerator_type=kind, accelerator_count=count)


_K80, _P100, _V100 = "NVIDIA_TESLA_K80", "NVIDIA_TESLA_P100", "NVIDIA_TESLA_V100"

MACHINES: Mapping[str, LegacyMachine] = MappingProxyType(
    {
        "standard": LegacyMachine(machine_type="n1-standard-4"),
        "large_model": LegacyMachine(machine_type="n1-highmem-8"),
        "complex_model_s": LegacyMachine(machine_type="n1-standard-8", ran_on="n1-highcpu-8"),
        "complex_model_m": LegacyMachine(machine_type="n1-highcpu-16"),
        "complex_model_l": LegacyMachine(machine_type="n1-highcpu-32"),
        "standard_gpu": _gpus("n1-standard-8", _K80, 1),
        "complex_model_m_gpu": _gpus("n1-standard-16", _K80, 4),
        "complex_model_l_gpu": _gpus("n1-standard-32", _K80, 8),
        "standard_p100": _gpus("n1-standard-8", _P100, 1),
        "complex_model_m_p100": _gpus("n1-standard-16", _P100, 4),
        "standard_v100": _gpus("n1-standard-8", _V100, 1),
        "large_model_v100": _gpus("n1-highmem-8", _V100, 1),
        "complex_model_m_v100": _gpus("n1-standard-16", _V100, 4),
        "complex_model_l_v100": _gpus("n1-standard-32", _V100, 8),
        CLOUD_TPU: LegacyMachine(machine_type="cloud-tpu", accelerator_type="TPU_V2", accelerator_count=8),
    }
)

ACCELERATORS: Mapping[str, str] = MappingProxyType({"TPU_V2_POD": "TPU_V2", "TPU_V3_POD": "TPU_V3"})
"""Accelerators with another name on Vertex AI. The number of cores says whether it is a pod."""

CUSTOM = "CUSTOM"
DEFAULT_TIER = "BASIC"


@dataclass(frozen=True, kw_only=True)
class ScaleTier:
    """A fixed cluster: machine names of AI Platform, and the number of machines."""

    master: str
    worker: tuple[str, int] = ("standard", 0)
    parameter_server: tuple[str, int] = ("standard", 0)


TIERS: Mapping[str, ScaleTier] = MappingProxyType(
    {
        "BASIC": ScaleTier(master="standard"),
        "STANDARD_1": ScaleTier(
            master="complex_model_s", worker=("complex_model_s", 4), parameter_server=("standard", 3)
        ),
        "PREMIUM_1": ScaleTier(
            master="complex_model_m", worker=("complex_model_m", 19), parameter_server=("large_model", 11)
        ),
        "BASIC_GPU": ScaleTier(master="standard_gpu"),
        "BASIC_TPU": ScaleTier(master="standard", worker=(CLOUD_TPU, 1)),
    }
)
"""Every tier except CUSTOM. Their prices were the sums of these machines, to the cent."""

RUNTIME_VERSIONS = (
    *("1.0", "1.2", *(f"1.{minor}" for minor in range(4, 16))),
    *(f"2.{minor}" for minor in range(1, 12)),
)
"""Runtime versions of AI Platform, each the version of TensorFlow in it."""


def nearest_runtime(version: str) -> str | None:
    """Return the nearest runtime version by number, the newer of two; None for text without a version."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})(?:\D|$)", version)
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])

    def distance(known: str) -> tuple[int, int, int]:
        its_major, its_minor = _order(known)
        if its_major == major:
            return 0, abs(its_minor - minor), -its_minor
        return abs(its_major - major), its_minor if its_major > major else -its_minor, 0

    return min(RUNTIME_VERSIONS, key=distance)


PYTHON_VERSIONS = ("2.7", "3.5", "3.7")
IMAGE_PYTHON = "3.7"
"""The Python of the images below."""

IMAGE_VERSIONS = ("1.15", *(f"2.{minor}" for minor in range(1, 10)), "2.11")
"""Versions of TensorFlow that have a prebuilt image with Python 3.7, for CPUs and for GPUs."""

TPU_IMAGE_VERSIONS = ("2.12",)


def multi_region(location: str | None) -> str:
    """Return the multi-region of the prebuilt images nearest to a region: us, europe or asia; us for None."""
    return image_for(location).partition("-docker.pkg.dev/")[0]


@dataclass(frozen=True, kw_only=True)
class TrainingImage:
    """A prebuilt image; `version` is its TensorFlow's."""

    uri: str
    version: str


def training_image(
    runtime_version: str, *, accelerator_type: str | None = None, location: str | None = None
) -> TrainingImage | None:
    """Return the prebuilt image with the TensorFlow of a runtime version, or with the next version.

    Return None for an unknown version, and for TensorFlow 1 on a TPU.
    """
    if runtime_version not in RUNTIME_VERSIONS:
        return None
    on_tpu = (accelerator_type or "").startswith("TPU")
    if on_tpu and runtime_version.startswith("1."):
        return None
    versions = TPU_IMAGE_VERSIONS if on_tpu else IMAGE_VERSIONS
    version = min((v for v in versions if _order(v) >= _order(runtime_version)), key=_order)
    device = "tpu" if on_tpu else "gpu" if accelerator_type else "cpu"
    name = f"tf-{device}.{version.replace('.', '-')}"
    return TrainingImage(
        uri=f"{multi_region(location)}-docker.pkg.dev/vertex-ai/training/{name}:latest", version=version
    )


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
