"""Calls to Cloud Scheduler and Workflows, in the JSON of their APIs.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.kinds.training_schedule.spec import full_name, workflow_name
from pulumi_vertex_training.kinds.training_schedule.wire import KEY_HEADER
from vertex_training.fields.labels import KEY_LABEL

SCHEDULER = "cloudscheduler.googleapis.com"
WORKFLOWS = "workflows.googleapis.com"

_JOB_FIELDS = "schedule,timeZone,description,attemptDeadline,retryConfig,httpTarget"
_WORKFLOW_FIELDS = "description,labels,sourceContents,serviceAccount"


@dataclass(frozen=True, kw_only=True)
class ScheduleRecord:
    """A schedule as the services report it: the job of Cloud Scheduler, and the workflow if it has one."""

    job: Mapping[str, Any] = field(repr=False)
    workflow: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def calls_workflow(self) -> bool:
        """True if the job starts a workflow."""
        return WORKFLOWS.replace("workflows", "workflowexecutions") in str(
            (self.job.get("httpTarget") or {}).get("uri")
        )

    @property
    def labels(self) -> Mapping[str, str]:
        """The key of the resource as a label, as other kinds have it."""
        key = (self.job.get("httpTarget") or {}).get("headers", {}).get(KEY_HEADER)
        return {KEY_LABEL: key} if key else {}


def get(endpoint: Endpoint, name: str) -> ScheduleRecord:
    """Fetch a schedule with its workflow. Raises NotFound if Cloud Scheduler has no such job."""
    record = ScheduleRecord(job=get_job(endpoint, name))
    if not record.calls_workflow:
        return record
    return ScheduleRecord(job=record.job, workflow=find_workflow(endpoint, workflow_name(name)))


def labels_of(endpoint: Endpoint, schedule_id: str) -> Mapping[str, str]:
    """Return the key of a schedule as a label. Raises NotFound."""
    name = full_name(endpoint.project, endpoint.location, schedule_id)
    return ScheduleRecord(job=get_job(endpoint, name)).labels


def get_job(endpoint: Endpoint, name: str) -> rest.Json:
    """Fetch a job of Cloud Scheduler. Raises NotFound."""
    with _scheduler(endpoint, f"read schedule {name}"):
        return rest.call(endpoint, "GET", _url(endpoint, SCHEDULER, name))


def create_job(endpoint: Endpoint, wire: Mapping[str, Any]) -> rest.Json:
    """Create a job of Cloud Scheduler. Raises AlreadyExists."""
    parent = str(wire["name"]).rpartition("/")[0]
    with _scheduler(endpoint, f"create schedule {wire['name']}"):
        return rest.call(endpoint, "POST", _url(endpoint, SCHEDULER, parent), body=wire, idempotent=False)


def patch_job(endpoint: Endpoint, wire: Mapping[str, Any]) -> rest.Json:
    """Replace the settings of a job of Cloud Scheduler. Raises NotFound."""
    with _scheduler(endpoint, f"update schedule {wire['name']}"):
        return rest.call(
            endpoint,
            "PATCH",
            _url(endpoint, SCHEDULER, str(wire["name"])),
            query={"updateMask": _JOB_FIELDS},
            body=wire,
        )


def set_paused(endpoint: Endpoint, job: Mapping[str, Any], *, paused: bool) -> None:
    """Pause or resume a job of Cloud Scheduler, unless it is paused or running already."""
    if (job.get("state") == "PAUSED") == paused:
        return
    verb = "pause" if paused else "resume"
    with _scheduler(endpoint, f"{verb} schedule {job['name']}"):
        rest.call(endpoint, "POST", f"{_url(endpoint, SCHEDULER, str(job['name']))}:{verb}", body={})


def delete_job(endpoint: Endpoint, name: str) -> None:
    """Delete a job of Cloud Scheduler. Raises NotFound."""
    with _scheduler(endpoint, f"delete schedule {name}"):
        rest.call(endpoint, "DELETE", _url(endpoint, SCHEDULER, name))


def find_workflow(endpoint: Endpoint, name: str) -> rest.Json | None:
    """Fetch a workflow. Return None if it does not exist."""
    try:
        with _workflows(endpoint, f"read workflow {name}"):
            return rest.call(endpoint, "GET", _url(endpoint, WORKFLOWS, name))
    except NotFound:
        return None


def create_workflow(endpoint: Endpoint, name: str, wire: Mapping[str, Any]) -> None:
    """Create a workflow, and wait until it is deployed. Raises AlreadyExists."""
    parent, _, workflow_id = name.rpartition("/")
    action = f"create workflow {name}"
    with _workflows(endpoint, action):
        operation = rest.call(
            endpoint,
            "POST",
            _url(endpoint, WORKFLOWS, parent),
            query={"workflowId": workflow_id},
            body=wire,
            idempotent=False,
        )
    _wait(endpoint, operation, action)


def patch_workflow(endpoint: Endpoint, name: str, wire: Mapping[str, Any]) -> None:
    """Replace a workflow, and wait until it is deployed. Raises NotFound."""
    action = f"update workflow {name}"
    with _workflows(endpoint, action):
        operation = rest.call(
            endpoint,
            "PATCH",
            _url(endpoint, WORKFLOWS, name),
            query={"updateMask": _WORKFLOW_FIELDS},
            body={**wire, "name": name},
        )
    _wait(endpoint, operation, action)


def delete_workflow(endpoint: Endpoint, name: str) -> None:
    """Delete a workflow, if there is one, and wait until it is gone."""
    action = f"delete workflow {name}"
    try:
        with _workflows(endpoint, action):
            operation = rest.call(endpoint, "DELETE", _url(endpoint, WORKFLOWS, name))
    except NotFound:
        return
    _wait(endpoint, operation, action)


def _wait(endpoint: Endpoint, operation: rest.Json, action: str) -> None:
    rest.wait(
        endpoint,
        operation,
        action=action,
        timeout=endpoint.timeouts.schedule_operation,
        url=_host(endpoint, WORKFLOWS),
    )


def _url(endpoint: Endpoint, host: str, name: str) -> str:
    return f"{_host(endpoint, host)}/v1/{name}"


def _host(endpoint: Endpoint, host: str) -> str:
    return endpoint.service_url(host)


def _scheduler(endpoint: Endpoint, action: str) -> AbstractContextManager[None]:
    return _translated(endpoint, action, SCHEDULER, "roles/cloudscheduler.admin")


def _workflows(endpoint: Endpoint, action: str) -> AbstractContextManager[None]:
    return _translated(endpoint, action, WORKFLOWS, "roles/workflows.editor")


def _translated(endpoint: Endpoint, action: str, api: str, role: str) -> AbstractContextManager[None]:
    return translated(
        endpoint,
        action,
        if_missing="Check the project, the location and the schedule's id.",
        if_denied=f"Run `gcloud services enable {api} --project {endpoint.project}` if the API is not "
        f"enabled; the account needs the role {role}, and roles/iam.serviceAccountUser for the schedule's "
        "service account.",
    )
