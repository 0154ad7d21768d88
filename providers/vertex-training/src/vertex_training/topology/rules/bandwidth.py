"""The bandwidth of machines in Gbps, from which the number of reduction servers is calculated.

Maximum egress of a machine without the extra-cost Tier_1. Source: Compute Engine documentation,
"Networking and GPU machines" and the columns "Maximum egress bandwidth" of "General-purpose machine
family", "Compute-optimized machine family" and "Accelerator-optimized machine family". To refresh:
compare each row with those columns.

Inferred or uncertain, where Google's pages give only a family's maximum or differ:

* a3-highgpu-1g, -2g and -4g (one network card), a2 and g2 below the largest, and the smaller g4: a public
  list of the machine types (github.com/Cyclenerd/google-cloud-compute-machine-types);
* N1 with T4 or V100: 2 Gbps for each vCPU up to a limit by the number of GPUs, as that page had it for
  each count; the one combination that the documentation of reduction servers names, n1-highmem-96 with 8
  V100 at 100 Gbps, agrees;
* a4x-highgpu-4g: 2000 on Compute Engine's page, 400 + 2400 on Vertex AI's; the smaller is used here;
* TPU machines: not published, so unknown here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vertex_training.catalog.machines import machine as machine_named
from vertex_training.catalog.machines import series
from vertex_training.topology.pools import MachineSpec

AS_OF = "2026-08"
SOURCE = 'Compute Engine documentation, "Networking and GPU machines" and "General-purpose machine family"'

_BY_VCPUS: Mapping[str, Mapping[int, int]] = MappingProxyType(
    {
        "e2": {2: 4, 4: 8, 8: 16, 16: 16, 32: 16},
        "n4": {2: 10, 4: 10, 8: 16, 16: 32, 32: 32, 48: 32, 64: 45, 80: 50},
        "n2": {2: 10, 4: 10, 8: 16, 16: 32, 32: 32, 48: 32, 64: 32, 80: 32},
        "n1": {2: 10, 4: 10, 8: 16, 16: 32, 32: 32, 64: 32, 96: 32},
        "c2": {4: 10, 8: 16, 16: 32, 30: 32, 60: 32},
        "m1": {40: 32, 80: 32, 96: 32, 160: 32},
    }
)
"""Gbps by series and number of vCPUs."""

_BY_NAME: Mapping[str, int] = MappingProxyType(
    {
        "a4x-highgpu-4g": 2000,
        "a4-highgpu-8g": 3600,
        "a3-ultragpu-8g": 3600,
        "a3-megagpu-8g": 1800,
        "a3-highgpu-8g": 1000,
        **dict.fromkeys(("a3-highgpu-4g", "a3-highgpu-2g", "a3-highgpu-1g"), 200),
        **dict.fromkeys(("a2-megagpu-16g", "a2-highgpu-8g", "a2-ultragpu-8g"), 100),
        **dict.fromkeys(("a2-highgpu-4g", "a2-ultragpu-4g"), 50),
        **dict.fromkeys(("a2-highgpu-2g", "a2-ultragpu-2g"), 32),
        **dict.fromkeys(("a2-highgpu-1g", "a2-ultragpu-1g"), 24),
        "g2-standard-4": 10,
        **dict.fromkeys(("g2-standard-8", "g2-standard-12"), 16),
        **dict.fromkeys(("g2-standard-16", "g2-standard-24", "g2-standard-32"), 32),
        "g2-standard-48": 50,
        "g2-standard-96": 100,
        "g4-standard-48": 50,
        "g4-standard-96": 100,
        "g4-standard-192": 200,
        "g4-standard-384": 400,
    }
)

_N1_GPU_LIMITS: Mapping[tuple[str, int], int] = MappingProxyType(
    {
        ("NVIDIA_TESLA_T4", 2): 50,
        ("NVIDIA_TESLA_T4", 4): 100,
        ("NVIDIA_TESLA_V100", 4): 50,
        ("NVIDIA_TESLA_V100", 8): 100,
    }
)
"""Gbps of an N1 machine with this kind and number of GPUs; with any other it is 32."""


def bandwidth_gbps(machine: MachineSpec) -> int | None:
    """Return the most that one machine can send, or None if it is not known: TPUs, unknown machine types."""
    known = machine_named(machine.machine_type)
    if known is None:
        return None
    kind = series(known.name)
    if kind == "n1" and machine.accelerator_type and machine.accelerator_count > 0:
        limit = _N1_GPU_LIMITS.get((machine.accelerator_type, machine.accelerator_count), 32)
        return max(10, min(2 * known.vcpus, limit))
    if kind in _BY_VCPUS:
        return _BY_VCPUS[kind][known.vcpus]
    return _BY_NAME.get(known.name)
