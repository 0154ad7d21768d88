"""The quotas of custom training that the emulator serves, and how much of each a job takes.

The id of a quota looks like CustomModelTrainingT4GPUsPerProjectPerRegion (Google's page of quotas); those of
the other metrics are formed in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_training.catalog import accelerators, machines, quota_metrics
from vertex_training.catalog.quota_metrics import OF_ACCELERATORS, PREEMPTIBLE, PREFIX
from vertex_training.topology import slices
from vertex_training.topology.pools import MachineSpec

SERVICE = "aiplatform.googleapis.com"
_UNITS = {"gpus": "GPUs", "cpus": "CPUs"}
_MAKER = "nvidia"


def metric(name: str, *, preemptible: bool = False) -> str | None:
    """Return the metric for the name of an accelerator, of a metric or of a part of a metric.

    Return None if the name is unknown.
    """
    short = OF_ACCELERATORS.get(name, name).removeprefix(PREFIX)
    base = short.removeprefix(PREEMPTIBLE)
    if base not in _base_metrics():
        return None
    return PREEMPTIBLE + base if preemptible or short != base else base


def metric_names() -> list[str]:
    """Return the metrics except for the preemptible ones, and the names of accelerators."""
    return [*OF_ACCELERATORS, *sorted(set(OF_ACCELERATORS.values())), "cpus"]


@lru_cache(maxsize=1)
def all_metrics() -> tuple[str, ...]:
    """Return all metrics without `PREFIX`, in order."""
    base = _base_metrics()
    return tuple(sorted([*base, *(PREEMPTIBLE + name for name in base)]))


@lru_cache(maxsize=1)
def _base_metrics() -> frozenset[str]:
    cpus = (quota_metrics.of_vcpus(each) for each in machines.MACHINES)
    return frozenset({*OF_ACCELERATORS.values(), *cpus})


def quota_id(metric: str) -> str:
    """Return the id of a metric's quota, such as CustomModelTrainingT4GPUsPerProjectPerRegion."""
    base = metric.removeprefix(PREEMPTIBLE)
    words = [_UNITS.get(word, word.upper()) for word in base.split("_") if word != _MAKER]
    first = "Preemptible" if base != metric else ""
    return f"CustomModelTraining{first}{''.join(words)}PerProjectPerRegion"


def display_name(metric: str) -> str:
    """Return the words for a metric, such as "Custom model training Nvidia T4 GPUs"."""
    words = [
        each.capitalize() if each in (_MAKER, "preemptible") else _UNITS.get(each, each.upper())
        for each in metric.split("_")
    ]
    return f"Custom model training {' '.join(words)}"


def demand(job: DynamicMessage, *, strategy: str) -> Mapping[str, int]:
    """Return how much a `CustomJob` message takes of each metric; `strategy` is the name of its strategy."""
    found: Counter[str] = Counter()
    for pool in job.job_spec.worker_pool_specs:
        if not pool.replica_count:
            continue
        spec = pool.machine_spec
        if spec.accelerator_count:
            kind = accelerators.by_number(spec.accelerator_type)
            found[OF_ACCELERATORS.get(str(kind), str(kind))] += spec.accelerator_count * pool.replica_count
        vcpus = _vcpus(spec.machine_type) * _machines(spec)
        found[quota_metrics.of_vcpus(spec.machine_type)] += vcpus * pool.replica_count
    preemptible = PREEMPTIBLE if strategy in ("SPOT", "FLEX_START") else ""
    return {preemptible + name: count for name, count in found.items() if count}


def _machines(spec: DynamicMessage) -> int:
    """Return the machines of a replica: several for a TPU slice."""
    topology = MachineSpec(
        machine_type=spec.machine_type,
        accelerator_count=spec.accelerator_count,
        tpu_topology=spec.tpu_topology,
    )
    return slices.machines_of(topology) or 1


def _vcpus(machine_type: str) -> int:
    known_type = machines.machine(machine_type)
    return known_type.vcpus if known_type else 0
