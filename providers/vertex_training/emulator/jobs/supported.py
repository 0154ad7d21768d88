"""Refuses by name what a request sets and the emulator does not carry out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vertex_training.emulator.jobs import states
from vertex_training.emulator.jobs.supported_fields import FIELDS, STRATEGIES, Fields
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
    found = list(_unsupported(job, FIELDS, ""))
    strategy = states.strategy_of(job)
    if strategy not in STRATEGIES:
        found.append(f"job_spec.scheduling.strategy {strategy}")
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
