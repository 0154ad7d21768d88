"""Create, update and delete a schedule and its runs. After a kill, each step can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, NotFound, Unavailable
from pulumi_vertex_training.kinds.training_schedule import gateway, wire
from pulumi_vertex_training.kinds.training_schedule.spec import ScheduleSpec
from pulumi_vertex_training.runs.deletion import delete_run
from pulumi_vertex_training.runs.gateway import gateway_in
from pulumi_vertex_training.runs.identity import RUN_LABEL
from vertex_training.fields.labels import has_key
from vertex_training.fields.resource_names import resource_id


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The names and keys of a schedule.

    `name` is the full name, `key` that of the resource ("" without one), `owner` its project/stack/resource.
    `run_labels` are the labels of every run.
    """

    name: str
    key: str
    owner: str
    run_labels: Mapping[str, str]


def create(endpoint: Endpoint, spec: ScheduleSpec, identity: Identity) -> bool:
    """Create a schedule. Return whether it was adopted from a killed deployment of the same resource.

    Raises AlreadyExists for another resource's schedule.
    """
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
    """Change a schedule in place. One that was deleted since is created again."""
    try:
        job = gateway.patch_job(endpoint, _job_wire(spec, identity))
    except NotFound:
        job = gateway.create_job(endpoint, _job_wire(spec, identity))
    gateway.set_paused(endpoint, job, paused=spec.paused)


def delete(endpoint: Endpoint, name: str) -> None:
    """Delete a schedule, which need not exist. Runs that have begun go on."""
    with suppress(NotFound):
        gateway.delete_job(endpoint, name)


def delete_runs(endpoint: Endpoint, collection: str, run_key: str, *, tell: Callable[[str], None]) -> None:
    """Cancel the live runs of a deleted schedule, and delete the records of all. `endpoint` is the runs' own.

    A model that a pipeline uploaded is kept. Raises StillRunningError if a run does not end in time.
    """
    runs = gateway_in(collection)
    found = runs.list_by_label(endpoint, {RUN_LABEL: run_key})
    for record in found:
        delete_run(runs, endpoint, record.name, label=resource_id(record.name), tell=tell)
    if found:
        tell(f"deleted the records of its runs: {len(found)}")


def delete_interrupted(endpoint: Endpoint, name: str, key: str) -> None:
    """Delete a schedule with this key. Raises NotFound without one."""
    if not has_key(gateway.get(endpoint, name).labels, key):
        raise NotFound(f"there is no schedule {name} with this key", resource=name, endpoint=endpoint)
    delete(endpoint, name)


def _job_wire(spec: ScheduleSpec, identity: Identity) -> dict[str, object]:
    return wire.job_wire(
        spec, identity.name, labels=identity.run_labels, key=identity.key, owner=identity.owner
    )
