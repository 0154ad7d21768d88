"""The provider of `TrainingPipeline`, and the model that a pipeline uploads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.connection import connect_if_running
from pulumi_vertex_training.core.operation import OPERATION, Operation
from pulumi_vertex_training.core.remote_queries import QUERIES, RemoteQueries
from pulumi_vertex_training.core.running.declaration import Counts, JobInputs, JobResourceType, root
from pulumi_vertex_training.core.running.provider import JobProvider
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.replica_counts import replica_counts
from pulumi_vertex_training.kinds.model import gateway as models
from pulumi_vertex_training.kinds.model import versions as model_versions
from pulumi_vertex_training.kinds.model.gateway import ModelRecord
from pulumi_vertex_training.kinds.persistent_resource import fit_rules
from pulumi_vertex_training.kinds.persistent_resource.fit_rules import OnPersistentResource
from pulumi_vertex_training.kinds.training_pipeline import kind as training_pipeline_kind
from pulumi_vertex_training.kinds.training_pipeline.gateway import GATEWAY
from pulumi_vertex_training.kinds.training_pipeline.spec import (
    TrainingPipelineSpec,
    backing_job,
    uploaded_model,
)
from pulumi_vertex_training.runs.deletion import delete_run
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.policies.run_status import LookupResult
from vertex_training.findings.problems import Problem

NO_MODEL: Mapping[str, Any] = {"model": None, "model_version": None}


def outputs(record: JobRecord) -> Mapping[str, Any]:
    """Return the full name of the uploaded model and its version, each None before the upload."""
    found = uploaded_model(record.wire)
    return NO_MODEL if found is None else {"model": found[0], "model_version": found[1] or None}


def results(endpoint: Endpoint, record: JobRecord, _directory: str | None) -> Mapping[str, Any]:
    """Return the outputs; query the version if the pipeline does not have it."""
    found = _version_of(endpoint, record)
    return NO_MODEL if found is None else {"model": found[0], "model_version": found[1]}


def progress(endpoint: Endpoint, record: JobRecord) -> Counts:
    """Count the replicas of the job that trains, and name it: `2/2` and `custom job 123 RUNNING`."""
    name = backing_job(record.wire)
    if record.state.is_terminal or name is None:
        return Counts()
    if "/customJobs/" not in name:
        return Counts(details=f"tuning job {name.rpartition('/')[2]}")
    try:
        job = custom_jobs.get(endpoint, name)
    except CloudError:
        return Counts()
    counts = replica_counts(endpoint, job)
    return Counts(
        counts.short, f"{counts.details}{', ' * bool(counts.details)}custom job {job.job_id} {job.state.word}"
    )


def log_of(record: JobRecord) -> str | None:
    """Return the name of the custom job that trains, or None: a tuning job has no log of its own."""
    name = backing_job(record.wire) or ""
    return name if "/customJobs/" in name else None


def discard(endpoint: Endpoint, record: JobRecord, kept_because: str, tell: Callable[[str], None]) -> None:
    """Delete the record of the job that trained, and the uploaded version, unless `kept_because` is given.

    The last version is deleted with its model.
    """
    if found := _version_of(endpoint, record):
        _discard_version(endpoint, record, found, kept_because, tell)
    if name := backing_job(record.wire):
        # The service keeps the job when its pipeline is deleted, and nothing else names it.
        delete_run(gateway_of(name), endpoint, name, label=name.rpartition("/")[2], tell=tell)


def _discard_version(
    endpoint: Endpoint,
    record: JobRecord,
    found: tuple[str, str],
    kept_because: str,
    tell: Callable[[str], None],
) -> None:
    name, version = found

    def is_ours(known: ModelRecord) -> bool:
        # A model that was deleted and created again has the same version numbers.
        return str(known.wire.get("trainingPipeline") or record.name).rpartition("/")[2] == record.job_id

    short = f"{name.rpartition('/')[2]}@{version}"
    if kept_because:
        tell(f"model {short} is kept: {kept_because}")
        return
    if model_versions.delete(endpoint, name, version, print_line=tell, is_ours=is_ours):
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


_DECIDING = frozenset({"endpoint", "project", "location", "model_id", "parent_model"})


def conflicting_pipeline(
    inputs: TrainingPipelineInputs,
    unknown: Collection[str],
    *,
    operation: Operation = OPERATION,
    questions: RemoteQueries = QUERIES,
) -> Problem | None:
    """Report another pipeline of this program that creates the same new model, or return None.

    An existing model gets a version from each pipeline. If its existence is unknown, the problem is a
    warning. The service finds the conflict only when both have trained: one uploads the model, the other
    fails.
    """
    me = str(inputs.marks.get("resource", ""))
    if not inputs.model_to_upload or not inputs.model_id or inputs.parent_model or not me:
        return None
    if _DECIDING & set(map(root, unknown)):
        return None
    name = f"projects/{inputs.project}/locations/{inputs.location}/models/{inputs.model_id}"
    first = operation.claim(f"the creation of {name}", me)
    if first == me:
        return None
    found = _existing_model(inputs, name, operation, questions)
    if found not in (None, LookupResult.ABSENT):
        return None
    return Problem(
        path="model_id",
        message=f"{inputs.model_id!r} is also the model_id of pipeline {first!r}. If the model does not "
        "exist yet, the first pipeline to end creates it, and the other fails after its training. "
        'Set parent_model=other.model here and wait="done" on the other pipeline, or choose '
        "another model_id",
        level="error" if found is LookupResult.ABSENT else "warning",
    )


def _existing_model(
    inputs: TrainingPipelineInputs, name: str, operation: Operation, questions: RemoteQueries
) -> Any:
    """Return the model, `LookupResult.ABSENT` if it does not exist, or None without an answer.

    A model of an emulator that does not run is absent.
    """
    target = inputs.target

    def ask() -> Any:
        endpoint = connect_if_running(*target, operation.settings)
        return LookupResult.ABSENT if endpoint is None else models.get(endpoint, name)

    return questions.ask(target, ask, unknown=f"whether the model {inputs.model_id} exists")


@dataclass(frozen=True, kw_only=True)
class TrainingPipelineInputs(OnPersistentResource, JobInputs, TrainingPipelineSpec):
    """The inputs of a `TrainingPipeline`."""


DECLARED = JobResourceType(
    refused={
        "capacity": "is not possible for a training pipeline: its state does not show whether its job has "
        "machines. Leave it out, or declare a CustomJob"
    },
    checks=(fit_rules.problems,),
    on_machines=fit_rules.problems_on,
    gateway=GATEWAY,
    spec=training_pipeline_kind.KIND,
    inputs=TrainingPipelineInputs,
    outputs=outputs,
    results=results,
    no_results=NO_MODEL,
    progress=progress,
    log_of=log_of,
    discard=discard,
    conflict=conflicting_pipeline,
)


class TrainingPipelineProvider(JobProvider):
    """The provider of `TrainingPipeline`."""

    declared = DECLARED
