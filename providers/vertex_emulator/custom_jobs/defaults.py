"""What the service makes of a job that it was sent: how it is answered from its creation on. Pure.

Seen in its answers: a boot disk for every pool with replicas. Everything else stays as it was sent, trailing
empty pools too, but for messages that say nothing. Vertex AI documentation, "Configure compute resources for
serverless training", has the machines with another kind of disk.
"""

from __future__ import annotations

from typing import Any

_DISK, _SIZE = "pd-ssd", 100
_HYPERDISK = "hyperdisk-balanced"
_HYPERDISK_MACHINES = frozenset({"a3-ultragpu-8g", "a4-highgpu-8g"})
_MAY_BE_EMPTY = ("scheduling", "psc_interface_config")


def fill_in(job_spec: Any) -> None:
    """Change a `CustomJobSpec` message, which has been checked."""
    for pool in job_spec.worker_pool_specs:
        if pool.replica_count:
            hyperdisk = pool.machine_spec.machine_type in _HYPERDISK_MACHINES
            pool.disk_spec.boot_disk_type = pool.disk_spec.boot_disk_type or (
                _HYPERDISK if hyperdisk else _DISK
            )
            pool.disk_spec.boot_disk_size_gb = pool.disk_spec.boot_disk_size_gb or _SIZE
    for name in _MAY_BE_EMPTY:
        if not getattr(job_spec, name).ListFields():
            job_spec.ClearField(name)
