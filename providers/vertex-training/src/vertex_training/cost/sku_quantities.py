"""The machines, accelerators and disks of one replica, as quantities of SKUs.

A replica has one machine, or all machines of a TPU slice. Sources: Compute Engine documentation,
"Accelerator-optimized machine family", for the sizes of local SSDs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from vertex_training.catalog import machines
from vertex_training.cost.prices import Use
from vertex_training.topology.normal import normal_disk
from vertex_training.topology.pools import DiskSpec, MachineSpec
from vertex_training.topology.slices import chips_of_machine, machines_of

Quantities = tuple[tuple[str, float], ...]
"""Pairs of a SKU and how much of it."""

_CHIPS: Mapping[str, str] = MappingProxyType(
    {series: f"{name} chip" for series, name in machines.TPU_FAMILIES.items()}
)

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
    """Yield what a replica with this machine and boot disk uses: machines, accelerators, disks."""
    known = machines.machine(machine.machine_type)
    hosts = machines_of(machine)
    if known is None:
        yield Part(
            field="machine_spec.machine_type",
            what=machine.machine_type or "machine",
            why="the machine type is not in the tables",
        )
    elif not machines.is_tpu(known.name):
        yield _machine(known, use)
    elif chip := _CHIPS.get(machines.series(known.name)):
        yield _slice(known.name, chip, machine.tpu_topology, hosts, use)
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
        disks = hosts or 1  # Without a topology, the machines are a gap.
        yield Part(
            field="disk_spec",
            what=f"{size} GB {kind}",
            count=disks,
            choices=(((kind, size * disks),),),
        )


def _slice(name: str, chip: str, topology: str | None, hosts: int | None, use: Use) -> Part:
    """Return the machines of a TPU slice, which are as many as its topology needs."""
    if hosts is None:
        why = f"{topology!r} is not a topology" if topology else "the topology is missing"
        return Part(field="machine_spec.tpu_topology", what=name, why=why)
    return Part(
        field="machine_spec.machine_type",
        what=name,
        count=hosts,
        choices=(((chip, chips_of_machine(name) * hosts),),),
        use=use,
    )


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
    """Return the accelerators of a machine. What a machine always has counts, whatever is declared."""
    if known is not None and known.accelerator_required and len(known.accelerators) == 1:
        ((name, counts),) = known.accelerators.items()
        if len(counts) == 1:
            return name, counts[0]
    return machine.accelerator_type or "", machine.accelerator_count


def _accelerator(name: str, count: int, use: Use) -> Part:
    field = "machine_spec.accelerator_type"
    if name.startswith("TPU_") and count != _CORES_OF_TPU:
        return Part(field=field, what=name, count=count, why="a pod has a price of its own")
    return Part(field=field, what=name, count=count, choices=(((name, count),),), use=use)
