"""Resources that exist already, as the functions `get_custom_job`, `get_model` and so on return them.

Programs in Python call these functions; the package serves them as functions of its schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.running.declaration import declared_in
from pulumi_vertex_training.core.running.outcome import recorded_outcome
from vertex_emulator import LauncherError, chosen_data_dir, of_data_dir
from vertex_training.fields.resource_names import part_after

Arguments = TypeVar("Arguments")
Result = TypeVar("Result")
Job = TypeVar("Job", bound="ExistingJob")


def _given_place(arguments: Any) -> tuple[str | None, str | None]:
    return arguments.project, getattr(arguments, "location", None)


@dataclass(frozen=True, kw_only=True)
class Lookup(Generic[Arguments, Result]):
    """How an existing resource of a kind is read.

    `read` raises `CloudError`, also if there is no such resource. `noun` and `name` are for messages; the
    name is the first argument by default. `place` returns project and location by the arguments, None if the
    stack decides.
    """

    arguments: type[Arguments]
    result: type[Result]
    noun: str
    read: Callable[[Endpoint, Arguments], Result]
    name: Callable[[Arguments], str] = lambda arguments: str(next(iter(vars(arguments).values())))
    place: Callable[[Arguments], tuple[str | None, str | None]] = _given_place

    def failure(self, arguments: Arguments, error: Exception) -> str:
        """Return the message for an error of `read`."""
        return f"{self.noun} {self.name(arguments)} cannot be looked up: {error}"


def not_running(data_dir: Path | None) -> LauncherError:
    """Return the error of a function in a preview, which starts no emulator."""
    return LauncherError(
        f"the emulator of {chosen_data_dir(data_dir)} is not running, and a preview starts nothing. Run "
        f"`vertex-training emulator start{of_data_dir(data_dir)}`."
    )


@dataclass(frozen=True, kw_only=True)
class JobArguments:
    """The arguments of a function that returns a job."""

    job: str
    project: str | None = None
    location: str | None = None


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
    """Further values by the kind of job: trials and the best one, or the model and its version."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels."""


_OF_EVERY_JOB = ("state", "job", "error", "start_time", "end_time")


def job_lookup(result: type[Job], noun: str, collection: str) -> Lookup[JobArguments, Job]:
    """Return the lookup of the jobs of a collection, with the values of their `completion`.

    A job is given by its id or full name; a full name also gives project and location.
    """

    def read(endpoint: Endpoint, arguments: JobArguments) -> Job:
        declared, job = declared_in(collection), arguments.job
        name = job if "/" in job else f"{endpoint.parent}/{collection}/{job}"
        record = declared.gateway.get(endpoint, name)
        found = recorded_outcome(endpoint, record, declared)
        return result(
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

    return Lookup(
        arguments=JobArguments,
        result=result,
        noun=noun,
        read=read,
        place=lambda arguments: (
            arguments.project or part_after(arguments.job, "projects"),
            arguments.location or part_after(arguments.job, "locations"),
        ),
    )
