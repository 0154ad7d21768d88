"""Create, update and delete the parts of a schedule. After a kill, each step can be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, NotFound, Unavailable
from pulumi_vertex_training.kinds.training_schedule import gateway, wire
from pulumi_vertex_training.kinds.training_schedule.spec import ScheduleSpec, uses_workflow, workflow_name
from vertex_training.fields.labels import has_key


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The names, key and labels of a schedule and its runs.

    `name` is the full name, `key` that of the resource ("" without one), `owner` its project/stack/resource.
    `run_labels` are the labels of every run, `labels` those of the workflow.
    """

    name: str
    key: str
    owner: str
    run_labels: Mapping[str, str]
    labels: Mapping[str, str]

    @property
    def workflow(self) -> str:
        return workflow_name(self.name)


def create(endpoint: Endpoint, spec: ScheduleSpec, identity: Identity) -> bool:
    """Create a schedule. Return whether it was adopted from a killed deployment of the same resource.

    Raises AlreadyExists for another resource's schedule.
    """
    put_workflow(endpoint, spec, identity)
    job_wire = _job_wire(spec, identity)
    adopted = False
    try:
        job = gateway.create_job(endpoint, job_wire)
    except (AlreadyExists, Unavailable) as error:
        try:
            found = gateway.get(endpoint, identity.name)
        except NotFound:
            raise error from None
        if not has_key(found.labels, identity.key):
            raise
        job = gateway.patch_job(endpoint, job_wire)
        adopted = True
    gateway.set_paused(endpoint, job, paused=spec.paused)
    return adopted


def update(endpoint: Endpoint, spec: ScheduleSpec, identity: Identity) -> None:
    """Change a schedule in place. Its workflow is there before it is called, and goes after the last call."""
    put_workflow(endpoint, spec, identity)
    try:
        job = gateway.patch_job(endpoint, _job_wire(spec, identity))
    except NotFound:
        job = gateway.create_job(endpoint, _job_wire(spec, identity))
    gateway.set_paused(endpoint, job, paused=spec.paused)
    if not uses_workflow(spec):
        gateway.delete_workflow(endpoint, identity.workflow)


def delete(endpoint: Endpoint, name: str) -> None:
    """Delete a schedule with its workflow; neither needs to exist. Runs that have begun go on."""
    with suppress(NotFound):
        gateway.delete_job(endpoint, name)
    gateway.delete_workflow(endpoint, workflow_name(name))


def delete_interrupted(endpoint: Endpoint, name: str, key: str) -> None:
    """Delete the parts of a schedule with this key. Raises NotFound without any."""
    workflow = gateway.find_workflow(endpoint, workflow_name(name))
    has_workflow = workflow is not None and has_key(workflow.get("labels") or {}, key)
    try:
        has_job = has_key(gateway.get(endpoint, name).labels, key)
    except NotFound:
        has_job = False
    if has_job:
        with suppress(NotFound):
            gateway.delete_job(endpoint, name)
    if has_workflow:
        gateway.delete_workflow(endpoint, workflow_name(name))
    if not (has_job or has_workflow):
        raise NotFound(f"there is no schedule {name} with this key", resource=name, endpoint=endpoint)


def put_workflow(endpoint: Endpoint, spec: ScheduleSpec, identity: Identity) -> None:
    """Create or replace the workflow of a schedule that needs one.

    Raises AlreadyExists if there is another resource's workflow of this name.
    """
    if not uses_workflow(spec):
        return
    wanted = wire.workflow_wire(spec, labels=identity.labels)
    found = gateway.find_workflow(endpoint, identity.workflow)
    if found is None:
        gateway.create_workflow(endpoint, identity.workflow, wanted)
        return
    if not has_key(found.get("labels") or {}, identity.key):
        raise AlreadyExists(
            f"workflow {identity.workflow} already exists and belongs to something else. Give the schedule "
            "another schedule_id.",
            resource=identity.workflow,
            endpoint=endpoint,
        )
    if any(found.get(name) != value for name, value in wanted.items()):
        gateway.patch_workflow(endpoint, identity.workflow, wanted)


def _job_wire(spec: ScheduleSpec, identity: Identity) -> dict[str, object]:
    return wire.job_wire(
        spec, identity.name, labels=identity.run_labels, key=identity.key, owner=identity.owner
    )
