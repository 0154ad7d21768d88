"""Which fields of a custom job the emulator carries out. Any other that a request sets is refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Union

from vertex_training.emulator.rpc import RpcError

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
        "scheduling": {"timeout": None, "disable_retries": None, "strategy": None},
        "service_account": None,
        "base_output_directory": {"output_uri_prefix": None},
    },
}
"""None: the whole field. Accelerators, disks and the service account have no effect here."""

OUTPUT_ONLY = (
    "name",
    "state",
    "create_time",
    "start_time",
    "end_time",
    "update_time",
    "error",
    "web_access_uris",
    "satisfies_pzs",
    "satisfies_pzi",
)

STRATEGIES = ("STRATEGY_UNSPECIFIED", "STANDARD")


def check(job: Any) -> None:
    """Raises `RpcError` UNIMPLEMENTED with the path of every field that is set and not supported."""
    found = list(_unsupported(job, FIELDS, ""))
    strategy = job.job_spec.scheduling.DESCRIPTOR.fields_by_name["strategy"].enum_type.values_by_number[
        job.job_spec.scheduling.strategy
    ]
    if strategy.name not in STRATEGIES:
        found.append(f"job_spec.scheduling.strategy {strategy.name}")
    if found:
        raise RpcError(
            "UNIMPLEMENTED",
            f"The emulator does not support {', '.join(found)}. Leave this out for local runs, or run the "
            "job on Google Cloud.",
        )


def _unsupported(message: Any, supported: Fields, path: str) -> Iterator[str]:
    for field, value in message.ListFields():
        below = f"{path}{field.name}"
        if field.name not in supported:
            yield below
            continue
        inner = supported[field.name]
        if inner is None:
            continue
        if field.is_repeated:
            for index, item in enumerate(value):
                yield from _unsupported(item, inner, f"{below}[{index}].")
        else:
            yield from _unsupported(value, inner, f"{below}.")
