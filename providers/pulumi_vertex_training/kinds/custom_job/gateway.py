"""Custom jobs of Vertex AI: the gateway of `cloud.jobs` for them, and its methods as functions."""

from __future__ import annotations

from pulumi_vertex_training.cloud import clients
from pulumi_vertex_training.cloud.jobs import Gateway, JobError, JobRecord, JobState, from_wire

__all__ = ["GATEWAY", "JobError", "JobRecord", "JobState", "from_wire"]

GATEWAY = Gateway(
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
