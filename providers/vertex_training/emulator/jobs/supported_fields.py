"""The fields of a custom job that the emulator carries out, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

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

STRATEGIES = ("STRATEGY_UNSPECIFIED", "STANDARD")


def unsupported_fields(spec: Mapping[str, Any]) -> Iterator[str]:
    """The paths of what the emulator would refuse in a job that is about to be submitted.

    `spec` has plain values under the API's names in snake case, the fields of `job_spec` beside those of the
    job.
    """
    strategy = (spec.get("scheduling") or {}).get("strategy")
    if strategy is not None and strategy not in STRATEGIES:
        yield "scheduling.strategy"
    supported = {**FIELDS, **(FIELDS["job_spec"] or {}), "base_output_directory": None}
    yield from _unsupported(spec, supported, "")


def _unsupported(values: Mapping[str, Any], supported: Fields, path: str) -> Iterator[str]:
    for name, value in values.items():
        below = f"{path}{name}"
        inner = supported.get(name)
        if name not in supported:
            yield below
        elif inner is not None and isinstance(value, Mapping):
            yield from _unsupported(value, inner, f"{below}.")
        elif inner is not None and isinstance(value, Sequence):
            for index, item in enumerate(value):
                yield from _unsupported(item, inner, f"{below}[{index}].")
