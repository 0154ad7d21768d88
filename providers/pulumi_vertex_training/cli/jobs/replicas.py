"""The replicas of a job, and the tasks of its log, for `status` and `logs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.log_sources import SERVICE
from pulumi_vertex_training.views.kind_view import view_of


def replicas(endpoint: Endpoint, record: JobRecord) -> Sequence[ReplicaState] | None:
    """Return the replicas of a job, or None where the service does not report them."""
    name = view_of(record).replicas_of(record)
    if name is None:
        return None
    try:
        return emulator_api.replicas(endpoint, name.rpartition("/")[2])
    except NotFound:
        return None


def tasks(endpoint: Endpoint, record: JobRecord) -> list[str]:
    """Return the names that entries of its log can have, and those that `--task` takes."""
    own = [*_replica_names(record.wire), SERVICE]
    sources = gateway_of(record.name).log_sources(endpoint, record)
    labels = [source.label for source in sources if source.label]
    return [*own, *(f"{label}/{name}" for label in labels for name in own)]


def _replica_names(wire: Mapping[str, Any]) -> Iterator[str]:
    for index, pool in enumerate(_pools(wire)):
        for number in range(int(float(pool.get("replicaCount") or 0))):
            yield f"workerpool{index}-{number}"


def _pools(wire: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The worker pools of whatever runs in it."""
    for key in ("jobSpec", "trialJobSpec", "trainingTaskInputs"):
        inner = wire.get(key)
        if isinstance(inner, Mapping):
            return inner.get("workerPoolSpecs") or _pools(inner)
    return ()
