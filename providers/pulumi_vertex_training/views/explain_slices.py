"""TPU slices of several machines: one replica of a worker pool, and a machine for each host of the slice."""

from __future__ import annotations

from vertex_training.catalog.machines import CLOUD_TPU, machine
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import WorkerPoolSpec

_CORES_OF_A_HOST = 8
"""Of TPU v2 and v3, whose `accelerator_count` counts cores."""


def machines_of(pool: WorkerPoolSpec) -> int:
    """The machines behind each replica: more than 1 for a TPU slice of several hosts alone."""
    spec = pool.machine_spec
    if spec is None:
        return 1
    if spec.machine_type == CLOUD_TPU:
        return max(1, spec.accelerator_count // _CORES_OF_A_HOST)
    known = machine(spec.machine_type)
    return known.tpu_topologies.get(spec.tpu_topology or "", 1) if known else 1


def machines_of_slices(spec: CustomJobSpec | None) -> dict[int, int]:
    """The machines of each replica, by the position of the pool, where they are several."""
    pools = spec.worker_pool_specs if spec else ()
    counts = {i: machines_of(pool) for i, pool in enumerate(pools) if not pool.is_empty}
    return {i: count for i, count in counts.items() if count > 1}
