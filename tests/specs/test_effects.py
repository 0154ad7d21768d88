from __future__ import annotations

import dataclasses
from collections import Counter
from typing import get_args, get_origin

import pytest
from google.cloud import aiplatform_v1 as api

from vertex_training.specs import (
    bucket,
    bucket_effects,
    custom_job,
    custom_job_effects,
    image_repository,
    persistent_resource,
    persistent_resource_effects,
    scheduling,
    staged_object,
    training_image,
)
from vertex_training.specs.effects import (
    Effect,
    FieldEffect,
    effect_of,
    field_patterns,
    pattern_of,
    strongest,
)
from vertex_training.specs.hints import field_types, without_none
from vertex_training.topology import accelerators, reservations

KINDS = {
    custom_job.CustomJobSpec: custom_job_effects.EFFECTS,
    bucket.BucketSpec: bucket_effects.EFFECTS,
    staged_object.StagedObjectSpec: staged_object.EFFECTS,
    image_repository.RepositorySpec: image_repository.EFFECTS,
    persistent_resource.PersistentResource: persistent_resource_effects.EFFECTS,
    training_image.TrainingImageSpec: training_image.EFFECTS,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_every_kind_has_its_entry(kind):
    ours = [pattern for pattern, entry in KINDS[kind].items() if entry.effect is not Effect.SERVER]
    assert Counter(field_patterns(kind)) == Counter(ours)


def server_owned(kind, prefix=""):
    """The paths of what the decoder refuses as the service's own, in the kind and in its messages."""
    yield from (f"{prefix}{name}" for name in getattr(kind, "SERVER_OWNED", ()))
    for name, hint in field_types(kind).items():
        message, below = without_none(hint), f"{prefix}{name}."
        if get_origin(message) is tuple:
            message, below = get_args(message)[0], f"{prefix}{name}[]."
        if isinstance(message, type) and dataclasses.is_dataclass(message):
            yield from server_owned(message, below)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_the_service_sets_is_what_the_decoder_refuses(kind):
    service = {pattern for pattern, entry in KINDS[kind].items() if entry.effect is Effect.SERVER}
    assert service == set(server_owned(kind))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_entry_has_a_reason_that_ends_a_sentence(kind):
    assert all(entry.reason and not entry.reason.endswith(".") for entry in KINDS[kind].values())


FLATTENED = {"base_output_directory.output_uri_prefix": "base_output_directory"}
"""Messages of the API that a spec keeps as the value of their only field."""


def api_patterns(message, prefix=""):
    """The pattern of every field of a message, down to its values, as the installed API has them."""
    for field in message.fields:
        repeated, inner = field.is_repeated, field.message_type
        path = f"{prefix}{field.name}"
        if inner is None or inner.GetOptions().map_entry or inner.full_name.startswith("google.protobuf."):
            yield path
        else:
            yield from api_patterns(inner, f"{path}[]." if repeated else f"{path}.")


def test_every_field_of_the_installed_api_is_classified():
    """A field that Google adds fails here until it is supported, or known as the service's own."""
    found = {path.removeprefix("job_spec.") for path in api_patterns(api.CustomJob.pb().DESCRIPTOR)}
    known = {FLATTENED.get(path, path) for path in found if path.split(".")[0] != "error"} | {"error"}
    assert known == set(custom_job_effects.EFFECTS)


def test_every_field_of_a_persistent_resource_of_the_installed_api_is_classified():
    found = set(api_patterns(api.PersistentResource.pb().DESCRIPTOR))
    of_service = {"error", "resource_runtime"}
    known = {path for path in found if path.split(".")[0] not in of_service} | of_service
    assert known == set(persistent_resource_effects.EFFECTS)


@pytest.mark.parametrize(
    ("ours", "enum"),
    [
        (accelerators.NUMBERS, api.AcceleratorType),
        (reservations.NUMBERS, api.ReservationAffinity.Type),
        (scheduling.STRATEGIES, api.Scheduling.Strategy),
    ],
    ids=["accelerator", "reservation", "strategy"],
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
        "labels.team",
        "scheduling",
        "psc_interface_config",
        "worker_pool_specs[0].nfs_mounts[1]",
    ],
)
def test_a_change_of_any_part_of_a_job_replaces_it(path):
    assert effect_of(path, custom_job_effects.EFFECTS).effect is Effect.REPLACE


def test_a_path_that_no_table_knows_is_an_error():
    with pytest.raises(KeyError):
        effect_of("worker_pools", custom_job_effects.EFFECTS)


def test_the_strongest_effect_decides():
    entries = [
        FieldEffect(effect=effect, reason=effect.value)
        for effect in (Effect.NONE, Effect.REPLACE, Effect.UPDATE)
    ]
    assert strongest(entries).effect is Effect.REPLACE
    assert strongest([]).effect is Effect.NONE
