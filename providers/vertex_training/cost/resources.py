"""The machine, accelerators and disks of one replica, as quantities of SKUs.

Sources: Compute Engine documentation, "Accelerator-optimized machine family", for the sizes of local SSDs;
Cloud TPU documentation for the chips of a machine, which are the last part of its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from vertex_training.catalog import machines
from vertex_training.cost.prices import Use
from vertex_training.topology.normal import normal_disk
from vertex_training.topology.pools import DiskSpec, MachineSpec

Quantities = tuple[tuple[str, float], ...]
"""Pairs of a SKU and how much of it."""

_CHIPS: Mapping[str, str] = MappingProxyType(
    {series: f"{name} chip" for series, name in machines.TPU_FAMILIES.items()}
)
_CHIPS_OF_MACHINE = re.compile(r"-([0-9]+)t\Z", re.ASCII)

_CORES_OF_TPU = 8
"""Cores of a TPU v2 or v3 that is no pod."""

LOCAL_SSD = "local-ssd"
"""The SKU of local SSDs, the only one without a fee."""

LOCAL_SSD_GIB: Mapping[str, int] = MappingProxyType(
    {"a2-ultragpu": 375, "a3-highgpu": 750, "a3-megagpu": 750, "a3-ultragpu": 1500, "a4-highgpu": 1500}
)
"""GiB of local SSD for each GPU, by kind of machine. On demand, Vertex AI does not bill them."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a replica that has a price.

    `field` is the path of the field that asks for it, within the pool, and `what` the part in words, with
    `count` of them. `choices` has the SKUs in which it can be priced; the first that a table has counts.
    Without any, `why` is the reason. `use` is None for a part that has one price for all uses.
    """

    field: str
    what: str
    count: int = 1
    choices: tuple[Quantities, ...] = ()
    why: str = ""
    use: Use | None = None


def parts_of(machine: MachineSpec, disk: DiskSpec | None, use: Use) -> Iterator[Part]:
    """Yield what a replica with this machine and boot disk uses: machine, accelerators, disks."""
    known = machines.machine(machine.machine_type)
    if known is None:
        yield Part(
            field="machine_spec.machine_type",
            what=machine.machine_type or "machine",
            why="the machine type is not in the tables",
        )
    elif not machines.is_tpu(known.name):
        yield _machine(known, use)
    elif chip := _CHIPS.get(machines.series(known.name)):
        found = _CHIPS_OF_MACHINE.search(known.name)
        chips = int(found.group(1)) if found else 0
        yield Part(field="machine_spec.machine_type", what=known.name, choices=(((chip, chips),),), use=use)
    name, count = _accelerators(machine, known)
    if name and count:
        yield _accelerator(name, count, use)
    if known is not None and use != "on_demand" and count:
        gib = LOCAL_SSD_GIB.get(_kind(known.name), 0) * count
        if gib:
            yield Part(
                field="machine_spec.machine_type",
                what=f"{gib} GiB local SSD",
                choices=(((LOCAL_SSD, gib),),),
                use=use,
            )
    if boot := normal_disk(disk, machine.machine_type):
        size, kind = boot.boot_disk_size_gb, boot.boot_disk_type
        yield Part(field="disk_spec", what=f"{size} GB {kind}", choices=(((kind, size),),))


def _machine(known: machines.MachineType, use: Use) -> Part:
    series = machines.series(known.name)
    return Part(
        field="machine_spec.machine_type",
        what=known.name,
        choices=(
            ((f"{series} core", known.vcpus), (f"{series} ram", known.memory_gb)),
            ((f"{_kind(known.name)} vcpu", known.vcpus),),
        ),
        use=use,
    )


def _kind(machine_type: str) -> str:
    """Return a machine type without its size: "n1-standard" of "n1-standard-4"."""
    return machine_type.rpartition("-")[0]


def _accelerators(machine: MachineSpec, known: machines.MachineType | None) -> tuple[str, int]:
    """Return the accelerators of a machine, also those that a machine always has and nobody declared."""
    if machine.accelerator_type or known is None or not known.accelerator_required:
        return machine.accelerator_type or "", machine.accelerator_count
    names = list(known.accelerators.items())
    return (names[0][0], names[0][1][0]) if len(names) == 1 and len(names[0][1]) == 1 else ("", 0)


def _accelerator(name: str, count: int, use: Use) -> Part:
    field = "machine_spec.accelerator_type"
    if name.startswith("TPU_") and count != _CORES_OF_TPU:
        return Part(field=field, what=name, count=count, why="a pod has a price of its own")
    return Part(field=field, what=name, count=count, choices=(((name, count),),), use=use)
