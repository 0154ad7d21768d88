"""`get_custom_job`: an existing job, with its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pulumi_vertex_training.program.arguments.named_arguments import checked_call
from pulumi_vertex_training.program.get_functions import read_job


@dataclass(frozen=True, kw_only=True)
class ExistingCustomJob:
    """A custom job that exists.

    `name` is its full name, `state` such as SUCCEEDED. Times are RFC 3339 strings, None before the event.
    `model_directory` is None unless the job succeeded; `metrics` are the contents of metrics.json there, {}
    without the file.
    """

    name: str
    job_id: str
    display_name: str
    state: str
    error: str | None
    create_time: str | None
    start_time: str | None
    end_time: str | None
    model_directory: str | None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@checked_call
def get_custom_job(job: str, *, project: str | None = None, location: str | None = None) -> ExistingCustomJob:
    """Return an existing job of the stack's endpoint, live or ended. Nothing is adopted.

    Raises `pulumi.RunError` if there is no such job. For an Output, use `.apply(vt.get_custom_job)`.

    :param job: Id or full name.
    :param project: Project id. Default: that of the full name, else the stack's project.
    :param location: Region. Default: that of the full name, else the stack's location.
    """
    record, found = read_job("customJobs", job, project=project, location=location)
    return ExistingCustomJob(
        name=record.name,
        job_id=record.job_id,
        display_name=record.display_name,
        state=record.state.word,
        error=record.error.message if record.error else None,
        create_time=record.create_time,
        start_time=record.start_time,
        end_time=record.end_time,
        model_directory=cast("str | None", found["model_directory"]),
        metrics=cast("Mapping[str, Any]", found["metrics"]),
        labels=record.labels,
    )
