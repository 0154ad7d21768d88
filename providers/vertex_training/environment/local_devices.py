"""Accelerators on the emulator: the CPU as so many logical devices as the machine should have accelerators.

These variables are not set on Google Cloud, where the accelerators exist. JAX, and XLA below other
frameworks, create CPU devices if a flag asks for them. TensorFlow creates them by a call, which the
emulator's `sitecustomize` makes. PyTorch has no such devices: a program starts one process for each, with the
number from `vertex_cluster.local_devices`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vertex_training.topology.pools import WorkerPoolSpec

DEVICES = "VERTEX_CLUSTER_LOCAL_DEVICES"
"""Read by `vertex_cluster.local_devices`."""

XLA_FLAGS = "XLA_FLAGS"
_FLAG = "--xla_force_host_platform_device_count"


def local_devices(pool: WorkerPoolSpec) -> int:
    """Return how many devices each replica of a pool has on the emulator: 0 without accelerators."""
    return pool.machine_spec.accelerator_count if pool.machine_spec else 0


def local_device_variables(pool: WorkerPoolSpec, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that make the devices of a pool's replicas; none without accelerators.

    `given` has the replica's own variables: its other flags are kept, and its own number of devices wins.
    """
    count = local_devices(pool)
    if not count:
        return {}
    flags = (given or {}).get(XLA_FLAGS, "")
    if not re.search(rf"{_FLAG}\b", flags):
        flags = f"{flags} {_FLAG}={count}".strip()
    return {DEVICES: (given or {}).get(DEVICES, str(count)), XLA_FLAGS: flags}
