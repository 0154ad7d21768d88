"""The quota metrics of training jobs, by accelerator and by machine series.

Sources: Vertex AI documentation, "Quotas and limits" and, for Spot VMs and FLEX_START, "Schedule training
jobs based on resource availability"; error texts of the service, such as
`aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus`. To refresh: compare with the metrics of
service aiplatform.googleapis.com that the Cloud Quotas API lists.

Inferred: the metrics of accelerators that no document names, by the pattern of those that are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vertex_training.catalog import accelerators, machines

PREFIX = "aiplatform.googleapis.com/custom_model_training_"
PREEMPTIBLE = "preemptible_"
"""Added to `PREFIX` for machines of the strategies SPOT and FLEX_START."""

_NAMED = {
    "NVIDIA_H100_80GB": "nvidia_h100_gpus",
    "NVIDIA_H100_MEGA_80GB": "nvidia_h100_mega_gpus",
    "NVIDIA_H200_141GB": "nvidia_h200_gpus",
    "TPU_V4_POD": "tpu_v4",
    "TPU_V5_LITEPOD": "tpu_v5e",
}


def _metric(accelerator: str) -> str:
    if accelerator in _NAMED:
        return _NAMED[accelerator]
    name = accelerator.lower().replace("_tesla", "")
    return name if name.startswith("tpu") else f"{name}_gpus"


OF_ACCELERATORS: Mapping[str, str] = MappingProxyType({name: _metric(name) for name in accelerators.NAMES})
"""The metric of each accelerator, without the prefix."""

_SHARED = frozenset({"e2", "n1"})
"""Series that have one metric for their vCPUs; each other series has its own."""


def of_vcpus(machine_type: str) -> str:
    """Return the metric of a machine's vCPUs, without the prefix."""
    series = machines.series(machine_type)
    return "cpus" if series in _SHARED else f"{series}_cpus"


def full_name(metric: str, *, preemptible: bool) -> str:
    """Return the metric as the service names it."""
    return f"{PREFIX}{PREEMPTIBLE if preemptible else ''}{metric}"
