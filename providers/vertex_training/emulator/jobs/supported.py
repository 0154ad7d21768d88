"""Refuses by name what a request sets and the emulator does not carry out."""

from __future__ import annotations

from typing import Any

from vertex_training.emulator.jobs.supported_fields import REFUSED
from vertex_training.emulator.rpc import RpcError

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


def check(job: Any) -> None:
    """Raises `RpcError` UNIMPLEMENTED with the path of every field that is set and not supported."""
    found = [f"job_spec.{name}" for name in REFUSED if getattr(job.job_spec, name)]
    if found:
        raise RpcError(
            "UNIMPLEMENTED",
            f"The emulator does not support {', '.join(found)}. Leave this out for local runs, or run the "
            "job on Google Cloud.",
        )
