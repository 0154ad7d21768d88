"""Accelerators on the emulator: as many logical devices of the CPU as a replica's machine was asked to have.

Not on Google Cloud, where the devices are there. JAX, and XLA below other frameworks, make CPU devices by a
flag; TensorFlow makes them by a call, which the emulator's `sitecustomize` does for it; PyTorch has none, and
starts a process for each: `vertex_cluster.local_devices` gives the number.
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
    """How many devices each replica of a pool has on the emulator; 0 for a machine without accelerators."""
    return pool.machine_spec.accelerator_count if pool.machine_spec else 0


def local_device_variables(pool: WorkerPoolSpec, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that say so to each replica of a pool; none without accelerators.

    `given` are those that the replica has: flags of the job's own stay, and a number of theirs counts.
    """
    count = local_devices(pool)
    if not count:
        return {}
    flags = (given or {}).get(XLA_FLAGS, "")
    if not re.search(rf"{_FLAG}\b", flags):
        flags = f"{flags} {_FLAG}={count}".strip()
    return {DEVICES: (given or {}).get(DEVICES, str(count)), XLA_FLAGS: flags}
