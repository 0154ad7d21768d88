"""The machines and chips of one replica. Only a TPU slice of several hosts has more than one machine.

Source: Cloud TPU documentation for the chips of a machine, which are the last part of its name.
"""

from __future__ import annotations

import math
import re

from vertex_training.catalog import machines
from vertex_training.topology.pools import MachineSpec

CORES_OF_A_HOST = 8
"""The cores of a host of TPU v2 and v3, where `accelerator_count` counts cores."""

_CHIPS_OF_MACHINE = re.compile(r"-([0-9]{1,3})t\Z", re.ASCII)
_TOPOLOGY = re.compile(r"[0-9]{1,4}(?:x[0-9]{1,4}){1,3}", re.ASCII)


def chips_of_machine(machine_type: str) -> int:
    """Return the TPU chips of one machine, which are the last part of its name; 0 if it does not end so."""
    match = _CHIPS_OF_MACHINE.search(machine_type)
    return int(match[1]) if match else 0


def machines_of(spec: MachineSpec) -> int | None:
    """Return the number of machines of one replica; None for TPUs whose topology does not say it.

    A topology that the tables do not have counts as many machines as its chips need.
    """
    if not machines.is_tpu(spec.machine_type):
        return 1
    if spec.machine_type == machines.CLOUD_TPU:
        return max(1, math.ceil(spec.accelerator_count / CORES_OF_A_HOST))
    known = machines.machine(spec.machine_type)
    topology = spec.tpu_topology or ""
    if known is not None and topology in known.tpu_topologies:
        return known.tpu_topologies[topology]
    chips, each = _chips_of_topology(topology), chips_of_machine(spec.machine_type)
    return math.ceil(chips / each) if chips and each else None


def accelerators_of(spec: MachineSpec) -> int:
    """Return the accelerators of one replica: GPUs, cores of a TPU v2 or v3, or chips of a newer TPU.

    Without a topology, the chips of one machine count.
    """
    if spec.machine_type == machines.CLOUD_TPU or not machines.is_tpu(spec.machine_type):
        return spec.accelerator_count
    return (machines_of(spec) or 1) * chips_of_machine(spec.machine_type)


def _chips_of_topology(topology: str) -> int:
    """Return the product of the sides of a topology, 0 for any other text."""
    sides = topology.lower()
    return math.prod(map(int, sides.split("x"))) if _TOPOLOGY.fullmatch(sides) else 0
