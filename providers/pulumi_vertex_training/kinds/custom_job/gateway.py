"""The calls for custom jobs: the gateway, its methods as functions, and counts of running replicas."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi_vertex_training.cloud import clients, emulator_api
from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobError, JobRecord, JobState, from_wire
from pulumi_vertex_training.runs.gateway import RunGateway

__all__ = ["GATEWAY", "JobError", "JobRecord", "JobState", "from_wire"]

GATEWAY = RunGateway(
    noun="custom job",
    collection="customJobs",
    message="CustomJob",
    module="custom_job",
    field="custom_job",
    client=clients.job_service,
)

create = GATEWAY.create
get = GATEWAY.get
list_jobs = GATEWAY.list_jobs
list_by_label = GATEWAY.list_by_label
list_labelled = GATEWAY.list_labelled
list_live_labelled = GATEWAY.list_live_labelled
list_live = GATEWAY.list_live
list_by_display_name = GATEWAY.list_by_display_name
cancel = GATEWAY.cancel
delete = GATEWAY.delete


def replica_counts(endpoint: Endpoint, record: JobRecord) -> str:
    """Return the replica counts of a live custom job as text, or "" if the service does not report them."""
    if record.state.is_terminal:
        return ""
    try:
        return count_by_role(emulator_api.replicas(endpoint, record.job_id) or ())
    except CloudError:
        return ""


def count_by_role(replicas: Sequence[ReplicaState]) -> str:
    """Count running replicas, such as ` 3/4: chief 1/1, worker 1/2, evaluator 1/1`, in the order of pools."""
    if not replicas:
        return ""
    roles: dict[str, list[bool]] = {}
    for replica in replicas:
        roles.setdefault(replica.role, []).append(replica.state == "running")
    running = sum(map(sum, roles.values()))
    parts = [f"{role} {sum(up)}/{len(up)}" for role, up in roles.items()]
    return f" {running}/{len(replicas)}: {', '.join(parts)}"
