"""Read resources that exist already, for the functions `get_custom_job`, `get_model` and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core import connection
from pulumi_vertex_training.core.running.declaration import declared_in
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.printed_commands import of_data_dir
from pulumi_vertex_training.program import messages, resource
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.program.waiting.outcome import outcome, with_results
from vertex_emulator.kernel.data_folder import chosen_data_dir
from vertex_emulator.launcher import LauncherError

T = TypeVar("T")


def read_existing(
    what: str, read: Callable[[Endpoint], T], *, project: str | None, location: str | None
) -> T:
    """Return the result of `read` for the stack's endpoint, with its project and location as defaults.

    A deployment starts the emulator if it does not run; a preview does not. `what` names the resource in
    messages. Raises `pulumi.RunError`, also if the resource does not exist.
    """
    settings = stack_settings()
    place = (settings.endpoint, project or resource.project(), location or resource.location(), settings)
    deploys = engine_address() and not pulumi.runtime.is_dry_run()
    try:
        endpoint = connection.connect(*place) if deploys else connection.connect_if_running(*place)
        if endpoint is None:
            option = of_data_dir(settings.data_dir)
            raise LauncherError(
                f"the emulator of {chosen_data_dir(settings.data_dir)} is not running, and a preview starts "
                f"nothing. Run `vertex-training emulator start{option}`."
            )
        return read(endpoint)
    except (CloudError, LauncherError) as error:
        raise pulumi.RunError(messages.in_shell(f"{what} cannot be looked up: {error}")) from None


@dataclass(frozen=True, kw_only=True)
class ExistingJob:
    """A job of any kind that exists."""

    name: str
    """Full name."""
    job_id: str
    """Id, the last part of the name."""
    display_name: str
    """Name for people."""
    state: str
    """State, such as SUCCEEDED."""
    error: str | None
    """Error message of the service, None without an error."""
    create_time: str | None
    """Time when the job was created (RFC 3339)."""
    start_time: str | None
    """Time when the job started to run (RFC 3339), None before that."""
    end_time: str | None
    """Time when the job ended (RFC 3339), None before that."""
    model_directory: str | None
    """gs:// directory of the model, None unless the job succeeded."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Contents of metrics.json in that directory, {} without the file."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """Further values of the `completion` of this kind of job: trials, or the model."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels."""


Job = TypeVar("Job", bound=ExistingJob)
_OF_EVERY_JOB = ("state", "job", "error", "start_time", "end_time")


def read_job(cls: type[Job], collection: str, job: str, *, project: str | None, location: str | None) -> Job:
    """Return a job of a collection, with the values of its `completion`.

    `job` is an id or a full name; a full name also gives project and location. Raises `pulumi.RunError`.
    """
    declared = declared_in(collection)
    project, location = project or _part(job, "projects"), location or _part(job, "locations")

    def read(endpoint: Endpoint) -> tuple[JobRecord, dict[str, Any]]:
        name = job if "/" in job else f"{endpoint.parent}/{collection}/{job}"
        record = declared.gateway.get(endpoint, name)
        directory = declared.spec.directory_of(record.wire)
        found = outcome(record, directory, declared)
        return record, with_results(found, endpoint, record, directory, declared)

    record, found = read_existing(f"{declared.noun} {job}", read, project=project, location=location)
    return cls(
        name=record.name,
        job_id=record.job_id,
        display_name=record.display_name,
        state=record.state.word,
        error=record.error.message if record.error else None,
        create_time=record.create_time,
        start_time=record.start_time,
        end_time=record.end_time,
        model_directory=found["model_directory"],
        metrics=found["metrics"],
        results={name: value for name, value in found.items() if name not in _OF_EVERY_JOB},
        labels=record.labels,
    )


def _part(name: str, collection: str) -> str | None:
    """Return the part of a full name that follows a collection, or None."""
    parts = name.split("/")
    return parts[parts.index(collection) + 1] if collection in parts[:-1] else None
