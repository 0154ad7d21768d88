"""The fields of every message are those of the installed API, by name; the exceptions are listed here.

Cloud Storage publishes no message definitions with its client, so the bucket's messages are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import aiplatform_v1 as api

from pulumi_vertex_training.kinds.hyperparameter_tuning_job.spec import HyperparameterTuningJobSpec
from pulumi_vertex_training.kinds.image_repository.spec import RepositorySpec
from pulumi_vertex_training.kinds.model.spec import ModelSpec
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec
from pulumi_vertex_training.kinds.training_schedule.spec import ScheduleSettings
from scripts.arguments.catalog import ARGS_MODULES
from scripts.arguments.messages import fields_of
from vertex_emulator.server.rpc import descriptors
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.job_spec import JobSpec
from vertex_training.job.ladder import Rung

SCHEDULE = descriptors.pool().FindMessageTypeByName("google.cloud.scheduler.v1.Job")
REPOSITORY = descriptors.pool().FindMessageTypeByName("google.devtools.artifactregistry.v1.Repository")

ROOTS: dict[type, Any] = {
    JobSpec: api.CustomJobSpec.pb().DESCRIPTOR,
    HyperparameterTuningJobSpec: api.HyperparameterTuningJob.pb().DESCRIPTOR,
    TrainingPipelineSpec: api.TrainingPipeline.pb().DESCRIPTOR,
    ModelSpec: api.Model.pb().DESCRIPTOR,
    PersistentResource: api.PersistentResource.pb().DESCRIPTOR,
    RepositorySpec: REPOSITORY,
    ScheduleSettings: SCHEDULE,
}

OURS = {
    "TrainingPipelineSpec.custom_task": "training_task_inputs of a custom task",
    "TrainingPipelineSpec.tuning_task": "training_task_inputs of a tuning task",
    "RepositorySpec.location": "a part of the repository's name",
    "RepositorySpec.force_destroy": "only the provider uses it",
    "RepositorySpec.repository_id": "a part of the repository's name",
    "ScheduleSettings.location": "a part of the job's name",
    "ScheduleSettings.on_delete": "only the provider uses it",
    "ScheduleSettings.overlap": "only a check uses it",
    "ScheduleSettings.paused": "the job's state, by methods of its own",
    "ScheduleSettings.schedule_id": "a part of the job's name",
    "ScheduleSettings.service_account": "http_target.oauth_token",
}
"""Fields that the API's message does not have."""

THEIRS = {
    "RepositorySpec.name": "repository_id, location and the project",
    "ScheduleSettings.http_target": "made of the job that is scheduled",
    "ScheduleSettings.name": "schedule_id, location and the project",
    "RepositorySpec.disallow_unspecified_mode": "for requests without a mode; the provider always sends it",
}
"""Fields of the API's message that ours has under another name, or does not need."""


def named(theirs: Any) -> dict[str, Any]:
    """Return the fields of the API's message by name; `exec_` and `type_` are the library's names."""
    return {field.name.rstrip("_"): field for field in theirs.fields}


def pairs(message: type, theirs: Any, seen: set[type]) -> Iterator[tuple[type, Any]]:
    """Yield a message and those in it, each once, with the API's."""
    if message in seen:
        return
    seen.add(message)
    yield message, theirs
    for field in fields_of(message).values():
        other = named(theirs).get(field.name)
        inner = other.message_type if other is not None else None
        if field.message is not None and inner is not None:
            value = inner.fields_by_name["value"].message_type if inner.GetOptions().map_entry else inner
            yield from pairs(field.message, value, seen)


COMPARED = [pair for root, theirs in ROOTS.items() for pair in pairs(root, theirs, set())]


@pytest.mark.parametrize(("message", "theirs"), COMPARED, ids=[message.__name__ for message, _ in COMPARED])
def test_a_message_has_the_fields_of_the_api(message: type, theirs: Any) -> None:
    excluded = {*getattr(message, "SERVER_OWNED", ()), *getattr(message, "UNSUPPORTED", ())}
    ours = {name for name in fields_of(message) if f"{message.__name__}.{name}" not in OURS}
    those = {name for name in named(theirs) if f"{message.__name__}.{name}" not in THEIRS}
    assert ours == those - excluded


def test_a_custom_job_adds_the_fields_of_the_job_itself() -> None:
    own = set(fields_of(CustomJobSpec)) - set(fields_of(JobSpec))
    assert own == set(named(api.CustomJob.pb().DESCRIPTOR)) - CustomJobSpec.SERVER_OWNED - {"job_spec"}


def test_every_message_with_an_argument_class_is_compared() -> None:
    compared = {message for message, _ in COMPARED}
    for module, classes in ARGS_MODULES.items():
        if "staging_bucket" not in module and "notification" not in module:  # not of this API
            assert set(classes.values()) - {Rung} <= compared  # a rung is no message of the service


def test_no_exception_is_out_of_date() -> None:
    fields = {f"{message.__name__}.{name}" for message, _ in COMPARED for name in fields_of(message)}
    theirs = {f"{message.__name__}.{name}" for message, other in COMPARED for name in named(other)}
    assert set(OURS) <= fields - theirs
    assert set(THEIRS) <= theirs - fields
