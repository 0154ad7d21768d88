"""Calls to Cloud Scheduler, in the JSON of its API.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.kinds.training_schedule.spec import full_name
from pulumi_vertex_training.kinds.training_schedule.wire import KEY_HEADER, OWNER_HEADER
from vertex_training.fields.labels import KEY_LABEL, OWNERSHIP_LABELS

SCHEDULER = "cloudscheduler.googleapis.com"

_JOB_FIELDS = "schedule,timeZone,description,attemptDeadline,retryConfig,httpTarget"


@dataclass(frozen=True, kw_only=True)
class ScheduleRecord:
    """A schedule as the service reports it."""

    job: Mapping[str, Any] = field(repr=False)

    @property
    def labels(self) -> Mapping[str, str]:
        """The key and the owner of the resource as labels, as other kinds have them."""
        headers = (self.job.get("httpTarget") or {}).get("headers", {})
        key, owner = headers.get(KEY_HEADER), str(headers.get(OWNER_HEADER) or "").split("/")
        owned = dict(zip(OWNERSHIP_LABELS, owner, strict=True)) if len(owner) == len(OWNERSHIP_LABELS) else {}
        return {**owned, **({KEY_LABEL: key} if key else {})}


def command_without_owner(record: ScheduleRecord) -> str:
    """Return the command that removes the key and the owner from a schedule."""
    _, project, _, location, _, schedule_id = str(record.job["name"]).split("/")
    return (
        f"gcloud scheduler jobs update http {schedule_id} --project {project} --location {location} "
        f"--remove-headers {KEY_HEADER},{OWNER_HEADER}"
    )


def get(endpoint: Endpoint, name: str) -> ScheduleRecord:
    """Fetch a schedule. Raises NotFound if Cloud Scheduler has no such job."""
    with _scheduler(endpoint, f"read schedule {name}"):
        return ScheduleRecord(job=rest.call(endpoint, "GET", _url(endpoint, name)))


def labels_of(endpoint: Endpoint, schedule_id: str) -> Mapping[str, str]:
    """Return the key of a schedule as a label. Raises NotFound."""
    return get(endpoint, full_name(endpoint.project, endpoint.location, schedule_id)).labels


def create_job(endpoint: Endpoint, wire: Mapping[str, Any]) -> rest.Json:
    """Create a job of Cloud Scheduler. Raises AlreadyExists."""
    parent = str(wire["name"]).rpartition("/")[0]
    with _scheduler(endpoint, f"create schedule {wire['name']}"):
        return rest.call(endpoint, "POST", _url(endpoint, parent), body=wire, idempotent=False)


def patch_job(endpoint: Endpoint, wire: Mapping[str, Any]) -> rest.Json:
    """Replace the settings of a job of Cloud Scheduler. Raises NotFound."""
    with _scheduler(endpoint, f"update schedule {wire['name']}"):
        return rest.call(
            endpoint, "PATCH", _url(endpoint, str(wire["name"])), query={"updateMask": _JOB_FIELDS}, body=wire
        )


def set_paused(endpoint: Endpoint, job: Mapping[str, Any], *, paused: bool) -> None:
    """Pause or resume a job of Cloud Scheduler, unless it is paused or running already."""
    if (job.get("state") == "PAUSED") == paused:
        return
    verb = "pause" if paused else "resume"
    with _scheduler(endpoint, f"{verb} schedule {job['name']}"):
        rest.call(endpoint, "POST", f"{_url(endpoint, str(job['name']))}:{verb}", body={})


def delete_job(endpoint: Endpoint, name: str) -> None:
    """Delete a job of Cloud Scheduler. Raises NotFound."""
    with _scheduler(endpoint, f"delete schedule {name}"):
        rest.call(endpoint, "DELETE", _url(endpoint, name))


def _url(endpoint: Endpoint, name: str) -> str:
    return f"{endpoint.service_url(SCHEDULER)}/v1/{name}"


def _scheduler(endpoint: Endpoint, action: str) -> AbstractContextManager[None]:
    return translated(
        endpoint,
        action,
        if_missing="Check the project, the location and the schedule's id.",
        if_denied=f"Run `gcloud services enable {SCHEDULER} --project {endpoint.project}` if the API is not "
        "enabled; the account needs the role roles/cloudscheduler.admin, and roles/iam.serviceAccountUser "
        "for the schedule's service account.",
    )
