"""What a custom job takes from the quotas of a project and region. Pure.

Vertex AI's metrics are aiplatform.googleapis.com/custom_model_training_NAME. Errors of the service and public
instructions show NAME for T4, P4, L4 and H100 GPUs, for TPU v2 and for cpus; the others here
are named by analogy. Jobs on Spot VMs and with FLEX_START take from the preemptible ones (Vertex AI
documentation, "Schedule training jobs based on resource availability").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from vertex_training.catalog import accelerators, machines

PREFIX = "aiplatform.googleapis.com/custom_model_training_"

_PREEMPTIBLE = "preemptible_"
_SPECIAL = {
    "NVIDIA_H100_80GB": "nvidia_h100_gpus",
    "NVIDIA_H100_MEGA_80GB": "nvidia_h100_mega_gpus",
    "NVIDIA_H200_141GB": "nvidia_h200_gpus",
    "TPU_V4_POD": "tpu_v4",
    "TPU_V5_LITEPOD": "tpu_v5e",
}
_ONE_FOR_BOTH = frozenset({"e2", "n1"})
"""Machine series whose vCPUs the metric cpus counts ("Quotas and limits"); others have one each."""


def metric_of(accelerator: str) -> str:
    """The metric of an accelerator by its name in the API, without `PREFIX`."""
    if accelerator in _SPECIAL:
        return _SPECIAL[accelerator]
    name = accelerator.lower().replace("_tesla", "")
    return name if name.startswith("tpu") else f"{name}_gpus"


METRICS: Mapping[str, str] = {name: metric_of(name) for name in accelerators.NAMES}
"""The metric of each accelerator."""


def metric(name: str, *, preemptible: bool = False) -> str | None:
    """The metric that an accelerator's name, a metric or a part of one stands for; None: there is none."""
    short = METRICS.get(name, name).removeprefix(PREFIX)
    base = short.removeprefix(_PREEMPTIBLE)
    series = {machines.series(each) for each in machines.MACHINES} - _ONE_FOR_BOTH
    if base not in {*METRICS.values(), "cpus", *(f"{each}_cpus" for each in series)}:
        return None
    return _PREEMPTIBLE + base if preemptible or short != base else base


def known() -> list[str]:
    """The metrics without the preemptible ones, and the names of accelerators."""
    return [*METRICS, *sorted(set(METRICS.values())), "cpus"]


def demand(job: Any, *, strategy: str) -> Mapping[str, int]:
    """How much a job, a `CustomJob` message, takes of each metric; `strategy` by its name."""
    found: Counter[str] = Counter()
    for pool in job.job_spec.worker_pool_specs:
        if not pool.replica_count:
            continue
        spec = pool.machine_spec
        if spec.accelerator_count:
            kind = accelerators.by_number(spec.accelerator_type)
            found[METRICS.get(str(kind), str(kind))] += spec.accelerator_count * pool.replica_count
        found[_cpus(spec.machine_type)] += _vcpus(spec.machine_type) * pool.replica_count
    preemptible = _PREEMPTIBLE if strategy in ("SPOT", "FLEX_START") else ""
    return {preemptible + name: count for name, count in found.items() if count}


def _cpus(machine_type: str) -> str:
    series = machines.series(machine_type)
    return "cpus" if series in _ONE_FOR_BOTH else f"{series}_cpus"


def _vcpus(machine_type: str) -> int:
    known_type = machines.machine(machine_type)
    return known_type.vcpus if known_type else 0
