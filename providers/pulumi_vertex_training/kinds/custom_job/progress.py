"""How many replicas of a job run, role by role, on the row of the job."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi_vertex_training.cloud import emulator_view
from pulumi_vertex_training.cloud.emulator_view import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord


def replica_counts(endpoint: Endpoint, record: JobRecord) -> str:
    """Of a custom job that has not ended; "" where only Google knows them."""
    if record.state.is_terminal:
        return ""
    try:
        return counts(emulator_view.replicas(endpoint, record.job_id) or ())
    except CloudError:
        return ""


def counts(replicas: Sequence[ReplicaState]) -> str:
    """` 3/4: chief 1/1, worker 1/2, evaluator 1/1`, running of all, the roles in the order of the pools."""
    if not replicas:
        return ""
    roles: dict[str, list[bool]] = {}
    for replica in replicas:
        roles.setdefault(replica.role, []).append(replica.state == "running")
    running = sum(map(sum, roles.values()))
    parts = [f"{role} {sum(up)}/{len(up)}" for role, up in roles.items()]
    return f" {running}/{len(replicas)}: {', '.join(parts)}"
