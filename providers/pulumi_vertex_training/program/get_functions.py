"""Read resources that exist already, for the functions `get_custom_job`, `get_model` and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pulumi

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.plugin import connection
from pulumi_vertex_training.plugin.process import engine_address
from pulumi_vertex_training.plugin.running.declaration import declared_in
from pulumi_vertex_training.program import resource
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.program.waiting.outcome import outcome, with_results
from vertex_emulator.kernel.data_folder import chosen_data_dir
from vertex_emulator.launcher import LauncherError

T = TypeVar("T")
Outcome = dict[str, object]


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
            raise pulumi.RunError(
                f"{what} cannot be looked up: the emulator of {chosen_data_dir(settings.data_dir)} is not "
                "running, and a preview starts nothing. Run `vertex-training emulator start`."
            )
        return read(endpoint)
    except (CloudError, LauncherError) as error:
        raise pulumi.RunError(f"{what} cannot be looked up: {error}") from None


def read_job(
    collection: str, job: str, *, project: str | None, location: str | None
) -> tuple[JobRecord, Outcome]:
    """Return the record of a job and its outcome, the values of `completion`.

    `job` is an id or a full name; a full name also gives project and location. Raises `pulumi.RunError`.
    """
    declared = declared_in(collection)
    project, location = project or _part(job, "projects"), location or _part(job, "locations")

    def read(endpoint: Endpoint) -> tuple[JobRecord, Outcome]:
        name = job if "/" in job else f"{endpoint.parent}/{collection}/{job}"
        record = declared.gateway.get(endpoint, name)
        directory = declared.spec.directory_of(record.wire)
        found = outcome(record, directory, declared)
        return record, with_results(found, endpoint, record, directory, declared)

    return read_existing(f"{declared.noun} {job}", read, project=project, location=location)


def _part(name: str, collection: str) -> str | None:
    """Return the part of a full name that follows a collection, or None."""
    parts = name.split("/")
    return parts[parts.index(collection) + 1] if collection in parts[:-1] else None
