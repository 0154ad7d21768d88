"""The calls for custom jobs: the gateway, and its methods as functions."""

from __future__ import annotations

from pulumi_vertex_training.cloud.jobs import JobError, JobRecord, JobState, from_wire
from pulumi_vertex_training.runs.gateway import RunGateway

__all__ = ["GATEWAY", "JobError", "JobRecord", "JobState", "from_wire"]

GATEWAY = RunGateway(noun="custom job", collection="customJobs")

create = GATEWAY.create
get = GATEWAY.get
list_jobs = GATEWAY.list_jobs
list_by_label = GATEWAY.list_by_label
list_labelled = GATEWAY.list_labelled
list_live = GATEWAY.list_live
list_by_display_name = GATEWAY.list_by_display_name
cancel = GATEWAY.cancel
delete = GATEWAY.delete
