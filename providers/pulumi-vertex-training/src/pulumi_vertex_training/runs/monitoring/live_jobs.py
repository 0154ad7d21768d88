"""Live jobs in words: state, size and elapsed time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from vertex_training.fields import timestamps
from vertex_training.findings.words import counted, duration

_LIVE_TRIALS = frozenset({"REQUESTED", "ACTIVE", "STOPPING"})


def now(endpoint: Endpoint, records: Iterable[JobRecord]) -> datetime:
    """Return the time by which jobs start and end: the emulator's clock can be moved.

    Without a running job nothing depends on it, and nothing is asked. Raises CloudError.
    """
    asks = endpoint.is_emulator and any(one.start_time and not one.state.is_terminal for one in records)
    ahead = emulator_api.clock_ahead(endpoint) if asks else 0.0
    return datetime.now(timezone.utc) + timedelta(seconds=ahead)


def described(state: str, size: str, since: str | None, *more: str, now: datetime | None = None) -> str:
    """Return a live job in words: `RUNNING (5 replicas, 2 h 10 min)`. `since` is in RFC 3339.

    A start in the future, which an emulator's clock that was moved has given it, is left out.
    """
    began = timestamps.parse_or_none(since)
    age = ((now or datetime.now(timezone.utc)) - began).total_seconds() if began else -1
    facts = (size, duration(age) if age >= 0 else "", *more)
    known = ", ".join(fact for fact in facts if fact)
    return f"{state} ({known})" if known else state


def since(record: JobRecord) -> str | None:
    """Return the time at which a job started, or was created."""
    return record.start_time or record.create_time


def run_again(folder: str) -> str:
    """Return how a job runs again after it was cancelled, as the end of a sentence.

    `folder` has the checkpoints from which it continues, "" if the new job gets none of this one.
    """
    return (
        f" and run it again, {f'from the checkpoints in {folder}' if folder else 'without its checkpoints'}"
    )


def size(record: JobRecord) -> str:
    """Return the number of replicas, or of live trials, in words; "" if the record does not tell."""
    trials = record.wire.get("trials") or ()
    if trials:
        return counted(sum(trial.get("state") in _LIVE_TRIALS for trial in trials), "live trial")
    if "trialJobSpec" in record.wire:
        return ""
    pools = next(_pools(record.wire), ())
    return counted(sum(int(pool.get("replicaCount", 0)) for pool in pools), "replica") if pools else ""


def _pools(value: object) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the worker pools of a job in the API's JSON, wherever its kind has them."""
    if isinstance(value, Mapping):
        if isinstance(value.get("workerPoolSpecs"), list):
            yield value["workerPoolSpecs"]
        for name, inner in value.items():
            if name != "trialJobSpec":
                yield from _pools(inner)
