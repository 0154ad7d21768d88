"""The machine types of training jobs: size, accelerators, boot disks, TPU topologies.

Source of names, accelerators, counts and topologies: Vertex AI documentation, "Configure compute
resources for serverless training", as of August 2026; of vCPUs and memory: Compute Engine documentation,
"Machine families resource and comparison guide", and Cloud TPU documentation. To refresh: go through the
tables of those pages in order; each row here is a row or a bullet there.
`tests/vertex_training/catalog/test_catalog.py` checks that the tables are consistent.

Inferred, not stated there:

* which machines take which disk type: Compute Engine documentation, "About Google Cloud Hyperdisk", has
  no Hyperdisk Balanced for E2, N1, N2, C2, A2 and G2, and no Persistent Disk for A3 Ultra and A4. N4,
  A4X, G4 and newer TPUs have no Persistent Disk there either, yet the page of Vertex AI gives them pd-ssd
  by default, so no type is rejected;
* the largest TPU v2 and v3 pods, 512 and 2048 cores, from Cloud TPU documentation, "TPU types"; for v3
  the page says "32+", and slices are multiples of 32;
* vCPUs and memory of cloud-tpu, which are those of one host of a v2-8 or v3-8 as users report them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

AS_OF = "2026-08"
SOURCE = 'Vertex AI documentation, "Configure compute resources for serverless training"'

PD_SSD, PD_STANDARD, HYPERDISK = "pd-ssd", "pd-standard", "hyperdisk-balanced"
BOOT_DISK_TYPES = (PD_SSD, PD_STANDARD, HYPERDISK)

_NONE: Mapping[str, tuple[int, ...]] = MappingProxyType({})
_NO_TOPOLOGIES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class MachineType:
    """One machine type.

    `memory_gb` is in GB as Google counts them. `accelerators` maps each possible accelerator to its possible
    counts, ascending; with `accelerator_required` the machine always has one. `tpu_topologies` maps each
    topology to the number of machines behind it, ascending. `reservation` says whether capacity must be
    reserved, or is seldom available without a reservation.
    """

    name: str
    vcpus: int
    memory_gb: float
    accelerators: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: _NONE)
    accelerator_required: bool = False
    boot_disk_types: tuple[str, ...] = BOOT_DISK_TYPES
    default_boot_disk_type: str = PD_SSD
    tpu_topologies: Mapping[str, int] = field(default_factory=lambda: _NO_TOPOLOGIES)
    reservation: Literal["required", "recommended"] | None = None


_GENERAL = (  # series and kind, GB for each vCPU, vCPUs
    ("e2-standard", 4, (4, 8, 16, 32)),
    ("e2-highmem", 8, (2, 4, 8, 16)),
    ("e2-highcpu", 1, (16, 32)),
    ("n4-standard", 4, (2, 4, 8, 16, 32, 48, 64, 80)),
    ("n4-highmem", 8, (2, 4, 8, 16, 32, 48, 64, 80)),
    ("n4-highcpu", 2, (2, 4, 8, 16, 32, 48, 64, 80)),
    ("n2-standard", 4, (4, 8, 16, 32, 48, 64, 80)),
    ("n2-highmem", 8, (2, 4, 8, 16, 32, 48, 64, 80)),
    ("n2-highcpu", 1, (16, 32, 48, 64, 80)),
    ("n1-standard", 3.75, (4, 8, 16, 32, 64, 96)),
    ("n1-highmem", 6.5, (2, 4, 8, 16, 32, 64, 96)),
    ("n1-highcpu", 0.9, (16, 32, 64, 96)),
    ("c2-standard", 4, (4, 8, 16, 30, 60)),
)

_MEMORY_OPTIMISED = (  # name, vCPUs, GB
    ("m1-ultramem-40", 40, 961),
    ("m1-ultramem-80", 80, 1922),
    ("m1-ultramem-160", 160, 3844),
    ("m1-megamem-96", 96, 1433.6),
)

_N1_GPUS = (  # vCPUs, counts of P4 and T4, of P100, of V100
    (2, (1, 2, 4), (1, 2, 4), (1, 2, 4, 8)),
    (4, (1, 2, 4), (1, 2, 4), (1, 2, 4, 8)),
    (8, (1, 2, 4), (1, 2, 4), (1, 2, 4, 8)),
    (16, (1, 2, 4), (1, 2, 4), (2, 4, 8)),
    (32, (2, 4), (2, 4), (4, 8)),
    (64, (4,), (4,), (8,)),
    (96, (4,), (), (8,)),
)
_NO_P100 = frozenset({"n1-standard-64", "n1-highmem-64"})
"""Machines with 64 vCPUs and too much memory for P100s: 4 x P100 serve at most 208 GB."""

_WITH_GPUS = (  # name, vCPUs, GB, accelerator, count
    ("a4x-highgpu-4g", 140, 884, "NVIDIA_GB200", 4),
    ("a4-highgpu-8g", 224, 3968, "NVIDIA_B200", 8),
    ("a3-ultragpu-8g", 224, 2952, "NVIDIA_H200_141GB", 8),
    ("a3-megagpu-8g", 208, 1872, "NVIDIA_H100_MEGA_80GB", 8),
    ("a3-highgpu-1g", 26, 234, "NVIDIA_H100_80GB", 1),
    ("a3-highgpu-2g", 52, 468, "NVIDIA_H100_80GB", 2),
    ("a3-highgpu-4g", 104, 936, "NVIDIA_H100_80GB", 4),
    ("a3-highgpu-8g", 208, 1872, "NVIDIA_H100_80GB", 8),
    ("a2-ultragpu-1g", 12, 170, "NVIDIA_A100_80GB", 1),
    ("a2-ultragpu-2g", 24, 340, "NVIDIA_A100_80GB", 2),
    ("a2-ultragpu-4g", 48, 680, "NVIDIA_A100_80GB", 4),
    ("a2-ultragpu-8g", 96, 1360, "NVIDIA_A100_80GB", 8),
    ("a2-highgpu-1g", 12, 85, "NVIDIA_TESLA_A100", 1),
    ("a2-highgpu-2g", 24, 170, "NVIDIA_TESLA_A100", 2),
    ("a2-highgpu-4g", 48, 340, "NVIDIA_TESLA_A100", 4),
    ("a2-highgpu-8g", 96, 680, "NVIDIA_TESLA_A100", 8),
    ("a2-megagpu-16g", 96, 1360, "NVIDIA_TESLA_A100", 16),
    ("g2-standard-4", 4, 16, "NVIDIA_L4", 1),
    ("g2-standard-8", 8, 32, "NVIDIA_L4", 1),
    ("g2-standard-12", 12, 48, "NVIDIA_L4", 1),
    ("g2-standard-16", 16, 64, "NVIDIA_L4", 1),
    ("g2-standard-24", 24, 96, "NVIDIA_L4", 2),
    ("g2-standard-32", 32, 128, "NVIDIA_L4", 1),
    ("g2-standard-48", 48, 192, "NVIDIA_L4", 4),
    ("g2-standard-96", 96, 384, "NVIDIA_L4", 8),
    ("g4-standard-48", 48, 180, "NVIDIA_RTX_PRO_6000", 1),
    ("g4-standard-96", 96, 360, "NVIDIA_RTX_PRO_6000", 2),
    ("g4-standard-192", 192, 720, "NVIDIA_RTX_PRO_6000", 4),
    ("g4-standard-384", 384, 1440, "NVIDIA_RTX_PRO_6000", 8),
)

_SLICES_OF_4 = {"2x2": 1, "2x4": 2, "4x4": 4, "4x8": 8, "8x8": 16, "8x16": 32, "16x16": 64}
_CUBES_OF_4 = {
    **{"2x2x1": 1, "2x2x2": 2, "2x2x4": 4, "2x4x4": 8, "4x4x4": 16},
    **{"4x4x8": 32, "4x8x8": 64, "8x8x8": 128, "8x8x16": 256},
}
_WITH_TPUS = (  # name, vCPUs, GB, machines behind each topology
    ("ct5lp-hightpu-1t", 24, 48, {"1x1": 1}),
    ("ct5lp-hightpu-4t", 112, 192, _SLICES_OF_4),
    ("ct5lp-hightpu-8t", 224, 384, {"2x4": 1}),
    ("ct6e-standard-1t", 44, 48, {"1x1": 1}),
    ("ct6e-standard-4t", 180, 720, _SLICES_OF_4),
    ("ct6e-standard-8t", 180, 1440, {"2x4": 1}),
    ("tpu7x-standard-4t", 224, 960, _CUBES_OF_4),
)

CLOUD_TPU = "cloud-tpu"
POD_CORES = 32
"""A TPU v2 or v3 with this many cores or more is a pod of several machines."""

_CLOUD_TPU = MachineType(
    name=CLOUD_TPU,
    vcpus=96,
    memory_gb=334,
    accelerators=MappingProxyType(
        {
            "TPU_V2": (8, *range(POD_CORES, 512 + 1, POD_CORES)),
            "TPU_V3": (8, *range(POD_CORES, 2048 + 1, POD_CORES)),
        }
    ),
    accelerator_required=True,
)

_NO_HYPERDISK = frozenset({"e2", "n2", "n1", "c2", "a2", "g2"})
_ONLY_HYPERDISK = frozenset({"a3-ultragpu-8g", "a4-highgpu-8g"})
_RESERVATIONS: Mapping[str, Literal["required", "recommended"]] = MappingProxyType(
    {
        "a4x-highgpu-4g": "required",
        "a4-highgpu-8g": "recommended",
        "a3-ultragpu-8g": "recommended",
        "a3-megagpu-8g": "recommended",
    }
)

TPU_FAMILIES: Mapping[str, str] = MappingProxyType({"ct5lp": "TPU v5e", "ct6e": "TPU v6e", "tpu7x": "TPU7x"})
"""Series of machines whose TPUs are requested by topology, and the documentation's name of the TPU."""


def _all_machines() -> Iterator[MachineType]:
    for prefix, gb, sizes in _GENERAL:
        for vcpus in sizes:
            name = f"{prefix}-{vcpus}"
            yield MachineType(
                name=name,
                vcpus=vcpus,
                memory_gb=round(vcpus * gb, 1),
                accelerators=MappingProxyType(_n1_gpus(name, vcpus)) if prefix.startswith("n1-") else _NONE,
                boot_disk_types=_boot_disk_types(name),
            )
    for name, vcpus, memory in _MEMORY_OPTIMISED:
        yield MachineType(name=name, vcpus=vcpus, memory_gb=memory, boot_disk_types=_boot_disk_types(name))
    for name, vcpus, memory, accelerator, count in _WITH_GPUS:
        yield MachineType(
            name=name,
            vcpus=vcpus,
            memory_gb=memory,
            accelerators=MappingProxyType({accelerator: (count,)}),
            accelerator_required=True,
            boot_disk_types=_boot_disk_types(name),
            default_boot_disk_type=_boot_disk_types(name)[0],
            reservation=_RESERVATIONS.get(name),
        )
    yield _CLOUD_TPU
    for name, vcpus, memory, topologies in _WITH_TPUS:
        yield MachineType(
            name=name, vcpus=vcpus, memory_gb=memory, tpu_topologies=MappingProxyType(topologies)
        )


def _n1_gpus(name: str, vcpus: int) -> dict[str, tuple[int, ...]]:
    p4, p100, v100 = next(counts for size, *counts in _N1_GPUS if size == vcpus)
    with_p100 = {} if name in _NO_P100 or not p100 else {"NVIDIA_TESLA_P100": p100}
    return {"NVIDIA_TESLA_P4": p4, **with_p100, "NVIDIA_TESLA_T4": p4, "NVIDIA_TESLA_V100": v100}


def _boot_disk_types(name: str) -> tuple[str, ...]:
    if name in _ONLY_HYPERDISK:
        return (HYPERDISK,)
    return (PD_SSD, PD_STANDARD) if series(name) in _NO_HYPERDISK else BOOT_DISK_TYPES


def series(machine_type: str) -> str:
    """Return the series of a machine type, known or not: "n1" of "n1-standard-4"."""
    return machine_type.partition("-")[0]


MACHINES: Mapping[str, MachineType] = MappingProxyType({each.name: each for each in _all_machines()})
"""Every machine type of training jobs by name."""


def machine(name: str) -> MachineType | None:
    """Return the machine type with this name, or None if the table does not have it."""
    return MACHINES.get(name)


def is_tpu(machine_type: str) -> bool:
    """Return whether a machine type has TPUs, judging an unknown one by its series."""
    return machine_type == CLOUD_TPU or series(machine_type) in TPU_FAMILIES


def machines_with(accelerator_type: str) -> tuple[MachineType, ...]:
    """Return the machine types that can have an accelerator, in the order of the table."""
    return tuple(each for each in MACHINES.values() if accelerator_type in each.accelerators)
