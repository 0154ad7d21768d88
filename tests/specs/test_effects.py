from __future__ import annotations

from collections import Counter

import pytest
from google.cloud import aiplatform_v1 as api

from vertex_training.specs import bucket, custom_job, staged_object
from vertex_training.specs.effects import (
    Effect,
    FieldEffect,
    effect_of,
    field_patterns,
    pattern_of,
    strongest,
)
from vertex_training.topology import pools

KINDS = {
    custom_job.CustomJobSpec: custom_job.EFFECTS,
    bucket.BucketSpec: bucket.EFFECTS,
    staged_object.StagedObjectSpec: staged_object.EFFECTS,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_every_kind_has_its_entry(kind):
    ours = [pattern for pattern, entry in KINDS[kind].items() if entry.effect is not Effect.SERVER]
    assert Counter(field_patterns(kind)) == Counter(ours)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_the_service_sets_is_what_the_decoder_refuses(kind):
    service = {pattern for pattern, entry in KINDS[kind].items() if entry.effect is Effect.SERVER}
    assert service == set(getattr(kind, "SERVER_OWNED", ()))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_entry_has_a_reason_that_ends_a_sentence(kind):
    assert all(entry.reason and not entry.reason.endswith(".") for entry in KINDS[kind].values())


@pytest.mark.parametrize(
    ("message", "kind", "elsewhere"),
    [
        (api.CustomJob, custom_job.CustomJobSpec, {"job_spec"}),
        (api.CustomJobSpec, custom_job.CustomJobSpec, set()),
        (api.Scheduling, custom_job.Scheduling, set()),
        (api.WorkerPoolSpec, pools.WorkerPoolSpec, set()),
        (api.MachineSpec, pools.MachineSpec, set()),
        (api.DiskSpec, pools.DiskSpec, set()),
        (api.ContainerSpec, pools.ContainerSpec, set()),
        (api.PythonPackageSpec, pools.PythonPackageSpec, set()),
        (api.EnvVar, pools.EnvVar, set()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_field_of_the_installed_api_is_classified(message, kind, elsewhere):
    """A field that Google adds fails here until supported, refused by name or known as the service's."""
    known = (
        set(kind.__dataclass_fields__)
        | getattr(kind, "UNSUPPORTED", set())
        | getattr(kind, "SERVER_OWNED", set())
    )
    assert {field.name for field in message.pb().DESCRIPTOR.fields} - known == elsewhere


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
    ],
)
def test_a_change_of_any_part_of_a_job_replaces_it(path):
    assert effect_of(path, custom_job.EFFECTS).effect is Effect.REPLACE


def test_a_path_that_no_table_knows_is_an_error():
    with pytest.raises(KeyError):
        effect_of("worker_pools", custom_job.EFFECTS)


def test_the_strongest_effect_decides():
    entries = [
        FieldEffect(effect=effect, reason=effect.value)
        for effect in (Effect.NONE, Effect.REPLACE, Effect.UPDATE)
    ]
    assert strongest(entries).effect is Effect.REPLACE
    assert strongest([]).effect is Effect.NONE
