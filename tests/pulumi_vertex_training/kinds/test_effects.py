from __future__ import annotations

import dataclasses
from collections import Counter
from typing import ClassVar, get_args, get_origin

import pytest
from google.cloud import aiplatform_v1 as api

from pulumi_vertex_training.kinds.custom_job import kind as custom_job_effects
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import kind as hyperparameter_tuning_job_effects
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import spec as hyperparameter_tuning_job
from pulumi_vertex_training.kinds.image_repository import spec as image_repository
from pulumi_vertex_training.kinds.model import kind as registered_model
from pulumi_vertex_training.kinds.model import spec as model
from pulumi_vertex_training.kinds.persistent_resource import spec as persistent_resource
from pulumi_vertex_training.kinds.staged import spec as staged_object
from pulumi_vertex_training.kinds.staging_bucket import spec as bucket
from pulumi_vertex_training.kinds.training_image import spec as training_image
from pulumi_vertex_training.kinds.training_pipeline import kind as training_pipeline_effects
from pulumi_vertex_training.kinds.training_pipeline import spec as training_pipeline
from pulumi_vertex_training.kinds.training_pipeline.spec import TASKS
from pulumi_vertex_training.kinds.training_schedule import spec as training_schedule
from support.tables import not_empty
from vertex_training.catalog import accelerators, enumerations
from vertex_training.fields.effects import (
    CHANGES,
    WHOLE,
    Effect,
    FieldEffect,
    effect_of,
    field_patterns,
    field_table,
    pattern_of,
    replaces,
    strongest,
)
from vertex_training.fields.schema import field_types, without_none
from vertex_training.findings.problems import is_within
from vertex_training.job import custom_job, job_spec
from vertex_training.study import study

KINDS = {
    custom_job.CustomJobSpec: custom_job_effects.EFFECTS,
    hyperparameter_tuning_job.HyperparameterTuningJobSpec: hyperparameter_tuning_job_effects.EFFECTS,
    bucket.BucketSpec: bucket.EFFECTS,
    staged_object.StagedObjectSpec: staged_object.EFFECTS,
    image_repository.RepositorySpec: image_repository.EFFECTS,
    persistent_resource.PersistentResource: persistent_resource.EFFECTS,
    training_image.TrainingImageSpec: training_image.EFFECTS,
    training_pipeline.TrainingPipelineSpec: training_pipeline_effects.EFFECTS,
    registered_model.RegisteredModelSpec: registered_model.EFFECTS,
    training_schedule.ScheduleSpec: training_schedule.EFFECTS,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_every_kind_has_its_entry(kind):
    ours = [pattern for pattern, entry in KINDS[kind].items() if entry.effect is not Effect.SERVER]
    assert Counter(field_patterns(kind)) == Counter(ours)


def server_owned(kind, prefix="", around=()):
    """Yield the paths of output fields, which the decoder rejects, in the kind and in its messages.

    A message within itself, such as a parameter of a study, is followed once.
    """
    yield from (f"{prefix}{name}" for name in getattr(kind, "SERVER_OWNED", ()))
    for name, hint in field_types(kind).items():
        message, below = without_none(hint), f"{prefix}{name}."
        if get_origin(message) is tuple:
            message, below = get_args(message)[0], f"{prefix}{name}[]."
        if isinstance(message, type) and dataclasses.is_dataclass(message) and message not in around:
            yield from server_owned(message, below, (*around, message))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_decoder_rejects_the_output_fields(kind):
    service = {pattern for pattern, entry in KINDS[kind].items() if entry.effect is Effect.SERVER}
    assert service == set(server_owned(kind))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_entry_has_a_reason_that_ends_a_sentence(kind):
    assert all(entry.reason and not entry.reason.endswith(".") for entry in not_empty(KINDS[kind].values()))


@dataclasses.dataclass(frozen=True)
class Inner:
    a: str
    b: str = dataclasses.field(metadata={CHANGES: FieldEffect(effect=Effect.UPDATE, reason="b of {noun}")})


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: tuple[Inner, ...] = dataclasses.field(metadata={CHANGES: replaces()})
    free: Inner | None = None


@dataclasses.dataclass(frozen=True)
class Whole:
    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"state"})
    inner: tuple[Inner, ...] = dataclasses.field(metadata={CHANGES: replaces()})


def test_a_field_of_a_message_has_the_effect_of_what_holds_it_or_its_own():
    table = field_table(Whole, "x.", noun="a job")
    assert {pattern: (entry.effect, entry.reason) for pattern, entry in table.items()} == {
        "x.inner[].a": (Effect.REPLACE, "a job cannot change once it exists"),
        "x.inner[].b": (Effect.UPDATE, "b of a job"),
        "x.state": (Effect.SERVER, "only the service sets it"),
    }


@dataclasses.dataclass(frozen=True)
class Holder:
    part: Whole = dataclasses.field(metadata={CHANGES: replaces("the part of {noun}"), WHOLE: True})


def test_a_message_that_is_kept_as_a_whole_has_the_effect_of_what_holds_it():
    table = field_table(Holder, noun="a job")
    assert {pattern: entry.reason for pattern, entry in table.items()} == {
        "part.inner[].a": "the part of a job cannot change once it exists",
        "part.inner[].b": "the part of a job cannot change once it exists",
        "part.state": "only the service sets it",
    }


def test_a_field_without_an_effect_is_an_error():
    with pytest.raises(TypeError, match=r"Inner\.a declares no effect"):
        field_table(Outer, noun="a job")


FLATTENED = {"base_output_directory.output_uri_prefix": "base_output_directory"}
"""Messages of the API that a spec keeps as the value of their only field."""


def api_patterns(message, prefix="", around=()):
    """Yield the pattern of every field of a message, down to its values, as the installed API has them.

    A message within one of its own kind counts as a value.
    """
    for field in message.fields:
        repeated, inner = field.is_repeated, field.message_type
        path = f"{prefix}{field.name}"
        plain = inner is None or inner.GetOptions().map_entry
        if plain or inner.full_name.startswith("google.protobuf.") or inner in (message, *around):
            yield path
        else:
            below = f"{path}[]." if repeated else f"{path}."
            yield from api_patterns(inner, below, (message, *around))


WITHIN_OUTPUTS = ("error.", "trials[].")
"""Paths below a field that only the service sets."""


def known_patterns(message, outer=""):
    found = {path.removeprefix(outer) for path in api_patterns(message)}
    outputs = {path.rstrip(".[]") for path in WITHIN_OUTPUTS if any(one.startswith(path) for one in found)}
    flat = {path.replace(long, short) for path in found for long, short in FLATTENED.items()}
    return {path for path in flat if not path.startswith(WITHIN_OUTPUTS)} | outputs


def test_every_field_of_the_installed_api_is_classified():
    """Fail for a field that Google adds, until it is supported or listed as an output field."""
    assert known_patterns(api.CustomJob.pb().DESCRIPTOR, "job_spec.") == set(custom_job_effects.EFFECTS)


def test_every_field_of_the_installed_tuning_job_is_classified():
    found = known_patterns(api.HyperparameterTuningJob.pb().DESCRIPTOR)
    assert found == set(hyperparameter_tuning_job_effects.EFFECTS)


def proto_plus_names(path):
    """Convert the library's names `exec_` and `type_` to the API's `exec` and `type`."""
    return ".".join(part.rstrip("_") for part in path.split("."))


def test_every_field_of_a_pipeline_of_the_installed_api_is_classified():
    """Compare the fields, except for the tasks, which are `training_task_inputs` to the API."""
    flat = {
        "input_data_config.gcs_destination.output_uri_prefix": "input_data_config.gcs_destination",
        "input_data_config.bigquery_destination.output_uri": "input_data_config.bigquery_destination",
    }
    owned = {"error", *(f"model_to_upload.{name}" for name in model.ModelSpec.SERVER_OWNED)}
    found = {
        next((name for name in owned if is_within(path, name)), flat.get(path, path))
        for path in map(proto_plus_names, api_patterns(api.TrainingPipeline.pb().DESCRIPTOR))
    }
    ours = {path for path in training_pipeline_effects.EFFECTS if path.split(".")[0] not in TASKS}
    assert {path.replace("[].", ".") for path in found} == {path.replace("[].", ".") for path in ours}


def test_every_field_of_a_persistent_resource_of_the_installed_api_is_classified():
    found = set(api_patterns(api.PersistentResource.pb().DESCRIPTOR))
    of_service = {"error", "resource_runtime"}
    known = {path for path in found if path.split(".")[0] not in of_service} | of_service
    assert known == set(persistent_resource.EFFECTS)


@pytest.mark.parametrize(
    ("ours", "enum"),
    [
        (accelerators.NUMBERS, api.AcceleratorType),
        (enumerations.RESERVATION_NUMBERS, api.ReservationAffinity.Type),
        (job_spec.STRATEGIES, api.Scheduling.Strategy),
        (study.GOALS, api.StudySpec.MetricSpec.GoalType),
        (study.SCALES, api.StudySpec.ParameterSpec.ScaleType),
        (study.ALGORITHMS, api.StudySpec.Algorithm),
        (study.NOISES, api.StudySpec.ObservationNoise),
        (study.SELECTIONS, api.StudySpec.MeasurementSelectionType),
    ],
    ids=["accelerator", "reservation", "strategy", "goal", "scale", "algorithm", "noise", "selection"],
)
def test_every_name_of_the_installed_enums_is_known(ours, enum):
    assert dict(ours) == {member.name: member.value for member in enum}


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("worker_pool_specs[1].replica_count", "worker_pool_specs[].replica_count"),
        (
            "worker_pool_specs[0].container_spec.env[K].value",
            "worker_pool_specs[].container_spec.env[].value",
        ),
        ("labels.team", "labels.team"),
    ],
)
def test_patterns(path, pattern):
    assert pattern_of(path) == pattern


@pytest.mark.parametrize(
    "path",
    [
        "worker_pool_specs[0].container_spec.args",
        "worker_pool_specs[0].container_spec.env[K]",
        "worker_pool_specs[0].container_spec.command[3]",
        "worker_pool_specs[0]",
        "worker_pool_specs",
        "scheduling",
        "psc_interface_config",
        "worker_pool_specs[0].nfs_mounts[1]",
    ],
)
def test_a_change_of_any_part_of_a_job_replaces_it(path):
    assert effect_of(path, custom_job_effects.EFFECTS).effect is Effect.REPLACE


@pytest.mark.parametrize(
    "path",
    [
        "study_spec.metrics[0].goal",
        "study_spec.decay_curve_stopping_spec",
        "study_spec.parameters[1]",
        "study_spec.parameters[0].conditional_parameter_specs[2].parameter_spec.scale_type",
        "study_spec.parameters[0].conditional_parameter_specs[2].parameter_spec"
        ".conditional_parameter_specs[0].parameter_spec.parameter_id",
        "max_trial_count",
        "trial_job_spec.worker_pool_specs[0].container_spec.args",
        "trial_job_spec.scheduling.timeout",
    ],
)
def test_a_change_of_any_part_of_a_tuning_job_replaces_it(path):
    assert effect_of(path, hyperparameter_tuning_job_effects.EFFECTS).effect is Effect.REPLACE


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (custom_job.CustomJobSpec, "display_name labels"),
        (hyperparameter_tuning_job.HyperparameterTuningJobSpec, "display_name labels"),
        (training_pipeline.TrainingPipelineSpec, "display_name labels"),
        (persistent_resource.PersistentResource, "display_name labels resource_pools[].replica_count"),
        (
            image_repository.RepositorySpec,
            "cleanup_policies cleanup_policy_dry_run description docker_config.immutable_tags force_destroy "
            "labels vulnerability_scanning_config.enablement_config",
        ),
        (staged_object.StagedObjectSpec, "content_type"),
        (
            training_image.TrainingImageSpec,
            "build_bucket build_contexts builder dockerfile exclude on_delete requirements source tags "
            "vertex_cluster",
        ),
        (
            registered_model.RegisteredModelSpec,
            "description display_name is_default_version labels service_account version_aliases "
            "version_description",
        ),
        (
            training_schedule.ScheduleSpec,
            "attempt_deadline collection description on_delete overlap parent paused request "
            "retry_config.retry_count retry_config.max_retry_duration retry_config.min_backoff_duration "
            "retry_config.max_backoff_duration retry_config.max_doublings schedule service_account time_zone",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_field_replaces_except_those_that_keep_the_resource(kind, kept):
    """Jobs have no update method: name and labels wait for the next run. An image has a digest."""
    found = {path for path, entry in KINDS[kind].items() if entry.effect in (Effect.NONE, Effect.UPDATE)}
    fields = kept.split()
    assert found == {
        path for path in field_patterns(kind) if path in fields or path.partition("[")[0] in fields
    }


def test_the_entry_of_the_field_itself_wins():
    update, replace = (FieldEffect(effect=each, reason="") for each in (Effect.UPDATE, Effect.REPLACE))
    table = {"a.b": update, "a.c": replace, "a.d": update, "ab": replace}
    assert effect_of("a.b", table) is update
    assert effect_of("a.b.x", table) is update
    assert effect_of("a", table) is replace
    assert effect_of("a", {"a.b": update, "ab": replace}) is update


def test_a_path_without_an_entry_is_an_error():
    with pytest.raises(KeyError):
        effect_of("worker_pools", custom_job_effects.EFFECTS)


def test_the_strongest_effect_decides():
    entries = [
        FieldEffect(effect=effect, reason=effect.value)
        for effect in (Effect.NONE, Effect.REPLACE, Effect.UPDATE)
    ]
    assert strongest(entries).effect is Effect.REPLACE
    assert strongest([]) == FieldEffect(effect=Effect.NONE, reason="nothing changed")
    service = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")
    assert strongest([service, entries[0]]) is entries[0]
    assert strongest([entries[0], entries[2]]) is entries[2]
