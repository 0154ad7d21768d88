"""The normal form of worker pools: what two declarations of the same job have in common.

Both spellings of an empty pool become `{}`, trailing empty pools go, what the service fills in is made
explicit, values that vanish on the wire (zero, "", unspecified) are dropped. The normal form of a normal form
is itself. Nothing is refused here: a wrong value stays as it is, for `topology.validation` to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vertex_training.topology import accelerators
from vertex_training.topology.pools import EMPTY_POOL, DiskSpec, MachineSpec, WorkerPoolSpec

HYPERDISK_BY_DEFAULT = frozenset({"a3-ultragpu-8g", "a4-highgpu-8g"})
"""Machines whose boot disk is hyperdisk-balanced unless one is given (Vertex AI documentation, "Configure
compute resources for serverless training")."""


def normal_pools(pools: Sequence[WorkerPoolSpec]) -> tuple[WorkerPoolSpec, ...]:
    """The pools in normal form, without trailing empty ones."""
    normal = [normal_pool(pool) for pool in pools]
    while normal and normal[-1].is_empty:
        normal.pop()
    return tuple(normal)


def normal_pool(pool: WorkerPoolSpec) -> WorkerPoolSpec:
    """One pool in normal form; `EMPTY_POOL` for a pool without replicas."""
    if pool.is_empty:
        return EMPTY_POOL
    return replace(
        pool,
        machine_spec=pool.machine_spec and _normal_machine(pool.machine_spec),
        disk_spec=_normal_disk(pool.disk_spec, pool.machine_type),
    )


def default_disk(machine_type: str) -> DiskSpec:
    """The boot disk that the service gives to a machine."""
    if machine_type in HYPERDISK_BY_DEFAULT:
        return DiskSpec(boot_disk_type="hyperdisk-balanced")
    return DiskSpec()


def _normal_machine(machine: MachineSpec) -> MachineSpec:
    if machine.accelerator_type in ("", accelerators.UNSPECIFIED):
        return replace(machine, accelerator_type=None)
    return machine


def _normal_disk(disk: DiskSpec | None, machine_type: str) -> DiskSpec:
    default = default_disk(machine_type)
    if disk is None:
        return default
    return DiskSpec(
        boot_disk_type=disk.boot_disk_type or default.boot_disk_type,
        boot_disk_size_gb=disk.boot_disk_size_gb or default.boot_disk_size_gb,
    )
