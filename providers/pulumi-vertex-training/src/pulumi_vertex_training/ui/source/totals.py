"""The machines of a job in total: vCPUs, memory and accelerators of all replicas."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi_vertex_training.views.pools_view import machines_of
from vertex_training.catalog import machines
from vertex_training.topology.pools import WorkerPoolSpec


def in_words(pools: Sequence[WorkerPoolSpec]) -> tuple[str, ...]:
    """Return the known totals, such as ("9 replicas", "60 vCPU", "270 GB", "5 GPUs")."""
    replicas = vcpus = gpus = 0
    memory = 0.0
    are_known = True
    for pool in pools:
        count = pool.replica_count * machines_of(pool)
        replicas += pool.replica_count
        machine = machines.machine(pool.machine_type)
        are_known = are_known and (machine is not None or not count)
        if machine is not None:
            vcpus += count * machine.vcpus
            memory += count * machine.memory_gb
        if pool.machine_spec is not None:
            gpus += count * int(pool.machine_spec.accelerator_count or 0)
    found = [f"{replicas} replica{'s' if replicas != 1 else ''}"]
    if are_known and replicas:
        found += [f"{vcpus:,} vCPU", f"{memory:,.0f} GB"]
    if gpus:
        found.append(f"{gpus} GPU{'s' if gpus != 1 else ''}")
    return tuple(found)
