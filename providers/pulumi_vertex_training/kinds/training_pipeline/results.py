"""What a training pipeline leaves in the Model Registry, and the job that trains for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import replica_counts
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model import versions as model_versions
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.training_pipeline.spec import backing_job, uploaded_model
from pulumi_vertex_training.runs.deletion import delete_run
from pulumi_vertex_training.runs.gateway import gateway_of

NO_MODEL: Mapping[str, Any] = {"model": None, "model_version": None}


def outputs(record: JobRecord) -> Mapping[str, Any]:
    """The full name of the model and the number of its version; None before they are uploaded."""
    found = uploaded_model(record.wire)
    return NO_MODEL if found is None else {"model": found[0], "model_version": found[1] or None}


def results(endpoint: Endpoint, record: JobRecord, _directory: str | None) -> Mapping[str, Any]:
    """As `outputs`, with the version asked for where the pipeline does not say it."""
    found = _version_of(endpoint, record)
    return NO_MODEL if found is None else {"model": found[0], "model_version": found[1]}


def progress(endpoint: Endpoint, record: JobRecord) -> str:
    """The state of the job that trains, and its replicas: ` customJobs/123 RUNNING 2/2: chief 1/1, ...`."""
    name = backing_job(record.wire)
    if record.state.is_terminal or name is None:
        return ""
    if "/customJobs/" not in name:
        return f" (tuning job {name.rpartition('/')[2]})"
    try:
        job = custom_jobs.get(endpoint, name)
    except CloudError:
        return ""
    return f" (custom job {job.job_id} {job.state.word}{replica_counts(endpoint, job)})"


def log_of(record: JobRecord) -> str | None:
    """The id of the custom job that trains; a tuning job has a log for each trial, and none itself."""
    name = backing_job(record.wire) or ""
    return name.rpartition("/")[2] if "/customJobs/" in name else None


def discard(endpoint: Endpoint, record: JobRecord, replaced: bool, tell: Callable[[str], None]) -> None:
    """Delete the version that the pipeline has uploaded, with its model where it is the last, and the record
    of the job that trained. The version of a pipeline which another one replaces is kept.
    """
    if found := _version_of(endpoint, record):
        _discard_version(endpoint, record, found, replaced, tell)
    if name := backing_job(record.wire):
        # The service keeps it when its pipeline is deleted, and nothing else names it.
        delete_run(gateway_of(name), endpoint, name, label=name.rpartition("/")[2], tell=tell)


def _discard_version(
    endpoint: Endpoint,
    record: JobRecord,
    found: tuple[str, str],
    replaced: bool,
    tell: Callable[[str], None],
) -> None:
    name, version = found

    def is_ours(known: ModelRecord) -> bool:
        # A model that was deleted and made anew has the same numbers again.
        return str(known.wire.get("trainingPipeline") or record.name).rpartition("/")[2] == record.job_id

    short = f"{name.rpartition('/')[2]}@{version}"
    if replaced:
        tell(f"model {short} is kept: the pipeline that uploaded it is replaced, its model is not")
        return
    if model_versions.remove(endpoint, name, version, say=tell, is_ours=is_ours):
        tell(f"model {short} is deleted with the pipeline that uploaded it")


def _version_of(endpoint: Endpoint, record: JobRecord) -> tuple[str, str] | None:
    found = uploaded_model(record.wire)
    if found is None or found[1]:
        return found
    try:
        known = models.versions(endpoint, found[0])
    except NotFound:
        return None
    ours = [one for one in known if one.wire.get("trainingPipeline") == record.name]
    return (found[0], ours[0].version) if ours else None
