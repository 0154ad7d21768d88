"""The fields of a custom job that the emulator carries out, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Union

from vertex_training.specs.job_spec import JobSpec

Fields = Mapping[str, Union["Fields", None]]

_ENV: Fields = {"name": None, "value": None}
FIELDS: Fields = {
    "display_name": None,
    "labels": None,
    "job_spec": {
        "worker_pool_specs": {
            "machine_spec": {"machine_type": None, "accelerator_type": None, "accelerator_count": None},
            "replica_count": None,
            "disk_spec": {"boot_disk_type": None, "boot_disk_size_gb": None},
            "container_spec": {"image_uri": None, "command": None, "args": None, "env": _ENV},
            "python_package_spec": {
                "executor_image_uri": None,
                "package_uris": None,
                "python_module": None,
                "args": None,
                "env": _ENV,
            },
        },
        "scheduling": {
            "timeout": None,
            "restart_job_on_worker_restart": None,
            "strategy": None,
            "disable_retries": None,
            "max_wait_duration": None,
        },
        "service_account": None,
        "base_output_directory": {"output_uri_prefix": None},
    },
}
"""None: the whole field. Accelerators, disks and the service account have no effect here."""

STRATEGIES = ("STRATEGY_UNSPECIFIED", "STANDARD", "SPOT", "FLEX_START")


def unsupported_fields(spec: JobSpec) -> Iterator[tuple[str, object]]:
    """Path and value of what the emulator would refuse in a job, in normal form, that is about to be
    submitted."""
    strategy = spec.scheduling.strategy if spec.scheduling else None
    if strategy is not None and strategy not in STRATEGIES:
        yield "scheduling.strategy", strategy
    supported = {**FIELDS, **(FIELDS["job_spec"] or {}), "base_output_directory": None}
    yield from _unsupported(spec, supported, "")


def _unsupported(message: Any, supported: Fields, path: str) -> Iterator[tuple[str, object]]:
    for field in dataclasses.fields(message):
        value, below = getattr(message, field.name), f"{path}{field.name}"
        if not value:
            continue
        inner = supported.get(field.name)
        if field.name not in supported:
            yield below, value
        elif inner is not None and isinstance(value, tuple):
            for index, item in enumerate(value):
                yield from _unsupported(item, inner, f"{below}[{index}].")
        elif inner is not None:
            yield from _unsupported(value, inner, f"{below}.")
