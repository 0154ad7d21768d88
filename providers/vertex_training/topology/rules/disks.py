"""The rules of a boot disk, against the table of machines."""

from __future__ import annotations

from collections.abc import Iterator

from vertex_training.catalog.machines import BOOT_DISK_TYPES, machine
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import one_of, shown
from vertex_training.topology.pools import DiskSpec

BOOT_DISK_SIZES_GB = range(100, 64001)

_COMPUTE = 'Vertex AI documentation, "Configure compute resources for serverless training"'

DISK_TYPE = Rule(
    name="disk-type", says="the boot disk is of a known type", source=_COMPUTE + ", Boot disk options"
)
DISK_MACHINE = Rule(
    name="disk-machine",
    says="the machine can have that type of boot disk",
    source='Compute Engine documentation, "About Google Cloud Hyperdisk", Machine type support',
)
DISK_SIZE = Rule(
    name="disk-size", says="the boot disk has 100 to 64000 GB", source=_COMPUTE + ", Boot disk options"
)


def disk_problems(disk: DiskSpec, machine_type: str, path: str, options: CheckOptions) -> Iterator[Problem]:
    """Every finding about the boot disk of a machine; the type "" is the service's choice."""
    below, known = f"{path}.boot_disk_type", machine(machine_type)
    if disk.boot_disk_type and disk.boot_disk_type not in BOOT_DISK_TYPES:
        yield DISK_TYPE.broken(
            below,
            f"{shown(disk.boot_disk_type)} is no type of boot disk; use {one_of(BOOT_DISK_TYPES)}",
            level=options.level_of_unknown,
        )
    elif disk.boot_disk_type and known and disk.boot_disk_type not in known.boot_disk_types:
        beside = f"{path.rpartition('.')[0]}.machine_spec.machine_type"
        yield DISK_MACHINE.broken(
            below,
            f"{disk.boot_disk_type} cannot be used on {machine_type}; use {one_of(known.boot_disk_types)}",
            rests_on=(below, beside),
            level=options.level_of_unknown,
        )
    if disk.boot_disk_size_gb not in BOOT_DISK_SIZES_GB:
        low, high = BOOT_DISK_SIZES_GB[0], BOOT_DISK_SIZES_GB[-1]
        yield DISK_SIZE.broken(
            f"{path}.boot_disk_size_gb", f"{disk.boot_disk_size_gb} GB; a boot disk has {low} to {high} GB"
        )
