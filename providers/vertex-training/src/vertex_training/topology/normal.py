"""The normal form of worker pools, equal for two declarations of the same job.

Both spellings of an empty pool become `{}`, trailing empty pools are dropped, the service's defaults are
explicit, and values that vanish on the wire (zero, "", unspecified) are dropped. The normal form is
idempotent. Nothing is rejected here: a wrong value stays as it is, and `topology.rules` reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vertex_training.catalog import accelerators, enumerations, machines
from vertex_training.topology.pools import (
    EMPTY_POOL,
    DiskSpec,
    MachineSpec,
    ReservationAffinity,
    WorkerPoolSpec,
)

DEFAULT_DISK_SIZE_GB = 100


def normal_pools(pools: Sequence[WorkerPoolSpec]) -> tuple[WorkerPoolSpec, ...]:
    """Return the pools in normal form, without trailing empty ones."""
    normal = [normal_pool(pool) for pool in pools]
    while normal and normal[-1].is_empty:
        normal.pop()
    return tuple(normal)


def normal_pool(pool: WorkerPoolSpec) -> WorkerPoolSpec:
    """Return one pool in normal form, `EMPTY_POOL` for a pool without replicas."""
    if pool.is_empty:
        return EMPTY_POOL
    return replace(
        pool,
        machine_spec=pool.machine_spec and normal_machine(pool.machine_spec),
        disk_spec=normal_disk(pool.disk_spec, pool.machine_type),
    )


def default_disk(machine_type: str) -> DiskSpec:
    """Return the boot disk that the service gives a machine without a declared one.

    For a machine that the tables do not have, the type is "", that is, not known.
    """
    known = machines.machine(machine_type)
    return DiskSpec(
        boot_disk_type=known.default_boot_disk_type if known else "",
        boot_disk_size_gb=DEFAULT_DISK_SIZE_GB,
    )


def normal_machine(machine: MachineSpec) -> MachineSpec:
    """Return a machine without values that vanish on the wire."""
    return replace(
        machine,
        accelerator_type=None
        if machine.accelerator_type == accelerators.UNSPECIFIED
        else machine.accelerator_type or None,
        gpu_partition_size=machine.gpu_partition_size or None,
        tpu_topology=machine.tpu_topology or None,
        reservation_affinity=machine.reservation_affinity and _normal_affinity(machine.reservation_affinity),
    )


def _normal_affinity(affinity: ReservationAffinity) -> ReservationAffinity | None:
    normal = replace(affinity, key=affinity.key or None)
    unset = ReservationAffinity(reservation_affinity_type=enumerations.RESERVATION_UNSPECIFIED)
    return None if normal in (unset, replace(unset, reservation_affinity_type="")) else normal


def normal_disk(disk: DiskSpec | None, machine_type: str) -> DiskSpec | None:
    """Return a boot disk with the service's defaults, or None if these are not known and none is declared."""
    default = default_disk(machine_type)
    normal = DiskSpec(
        boot_disk_type=(disk and disk.boot_disk_type) or default.boot_disk_type,
        boot_disk_size_gb=(disk and disk.boot_disk_size_gb) or default.boot_disk_size_gb,
    )
    return None if normal == default and not default.boot_disk_type else normal
