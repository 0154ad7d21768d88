"""The properties that a diff reports: of any values, and of a resource of each family."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.core.call import Call, Difference, PropertyChange
from pulumi_vertex_training.core.interrupted import deletion_notes
from pulumi_vertex_training.core.property_changes import property_changes, text_of
from pulumi_vertex_training.core.provider import Provider
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.resource_context import ResourceContext
from pulumi_vertex_training.kinds.custom_job.provider import CustomJobProvider
from pulumi_vertex_training.kinds.image_repository.provider import ImageRepositoryProvider
from pulumi_vertex_training.kinds.persistent_resource.provider import PersistentResourceProvider
from pulumi_vertex_training.kinds.staging_bucket.provider import StagingBucketProvider
from vertex_training.fields.decode import UNKNOWN
from vertex_training.fields.effects import Effect, FieldEffect

EFFECTS = {
    "pools[].size": FieldEffect(effect=Effect.UPDATE, reason="-"),
    "pools[].machine": FieldEffect(effect=Effect.REPLACE, reason="-"),
    "labels": FieldEffect(effect=Effect.NONE, reason="-"),
}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {}, {"a": "update"}),
        ({}, {"a": 1}, {"a": "add"}),
        ({"a": 1}, {}, {"a": "delete"}),
        ({"a": 1}, {"a": 2.0}, {"a": "update"}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": "update"}),
        (
            {"a": {"b": 1, "c": 2, "e": 4}},
            {"a": {"b": 1, "c": 3, "d": 4}},
            {"a.c": "update", "a.e": "delete", "a.d": "add"},
        ),
        ({"a": [1, 2, 3]}, {"a": [1, 4]}, {"a[1]": "update", "a[2]": "delete"}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}, {"b": 3}]}, {"a[0].b": "update", "a[1]": "add"}),
        ({"a": {"b": 1}}, {"a": UNKNOWN}, {"a": "update"}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": UNKNOWN, "c": 2}}, {"a.b": "update"}),
        ({}, {"a": UNKNOWN}, {"a": "add"}),
        ({"a": {"__b": 1, "c": 1}}, {"a": {"__b": 2, "c": 2}}, {"a.c": "update"}),
        ({"a": {"b": None}}, {"a": {}}, {"a": "update"}),
    ],
    ids=lambda _: "",
)
def test_values_are_compared_inside_maps_and_lists(
    old: dict[str, Any], new: dict[str, Any], expected: dict[str, str]
) -> None:
    assert {text_of(each.path): each.kind for each in property_changes(old, new, ["a"])} == expected


@pytest.mark.parametrize("name", ["__run", "__provider", "marks"])
def test_internal_properties_are_left_out(name: str) -> None:
    assert property_changes({name: 1}, {name: 2}, [name]) == ()


@pytest.mark.parametrize(
    ("replacing", "changed", "replaced"),
    [
        ([], {"pools": [{"machine": 2, "size": 2}]}, set()),
        (["pools"], {"pools": [{"machine": 2, "size": 2}], "labels": {"a": "c"}}, {"pools[0].machine"}),
        (["pools", "labels"], {"pools": [{"machine": 2, "size": 1}], "labels": {}}, {"pools[0].machine"}),
        (["labels"], {"labels": {}}, {"labels.a"}),
        (["other", "labels"], {"other": 1, "labels": {}}, {"other"}),
    ],
    ids=str,
)
def test_a_table_of_effects_tells_what_replaces(
    replacing: list[str], changed: dict[str, Any], replaced: set[str]
) -> None:
    old = {"pools": [{"machine": 1, "size": 1}], "labels": {"a": "b"}}
    found = property_changes(old, {**old, **changed}, list(changed), replacing=replacing, effects=EFFECTS)
    assert {text_of(each.path) for each in found if each.replaces} == replaced


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("a", 1, "b_c"), "a[1].b_c"),
        (("labels", "a.b"), 'labels["a.b"]'),
        (("labels", "my-team"), 'labels["my-team"]'),
        (("labels", 'a "b" [c]'), r'labels["a \"b\" [c]"]'),
        (("labels", "ü", "b"), 'labels["ü"].b'),
        (("a b", 0), '["a b"][0]'),
        (("labels", "", "b"), 'labels[""].b'),
        (("labels", "ends\\", "b"), "labels"),
        (("labels", '\\"', "b"), "labels"),
        (("labels", "a\\b"), r'labels["a\b"]'),
    ],
    ids=str,
)
def test_paths_in_the_syntax_of_the_engine(path: tuple[str | int, ...], text: str) -> None:
    assert text_of(path) == text


PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
MARKS = {"marks": {"project": "p", "stack": "s", "resource": "r"}}
POOL: dict[str, Any] = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 2,
    "container_spec": {
        "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        "args": ["--epochs=10", "--rate=1"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    },
}
CHIEF = {**POOL, "replica_count": 1}
JOB = {
    **PLACE,
    **MARKS,
    "display_name": "train",
    "staging_bucket": "a-bucket",
    "labels": {"team": "a"},
    "worker_pool_specs": [CHIEF, POOL],
}
BUCKET = {
    **PLACE,
    **MARKS,
    "name": "a-bucket",
    "lifecycle_rules": [{"action": {"type": "Delete"}, "condition": {"age": 30}}],
}
REPOSITORY = {**PLACE, **MARKS, "repository_id": "images", "labels": {"team": "a"}}
MACHINES = {
    **PLACE,
    **MARKS,
    "persistent_resource_id": "machines",
    "resource_pools": [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}],
}


def with_worker(**changed: Any) -> dict[str, Any]:
    return {"worker_pool_specs": [CHIEF, {**POOL, **changed}]}


def with_container(**changed: Any) -> dict[str, Any]:
    return with_worker(container_spec={**POOL["container_spec"], **changed})


def difference(
    provider: Provider, before: dict[str, Any], now: dict[str, Any], outputs: dict[str, Any] | None = None
) -> Difference:
    """Return the answer to a diff in a deployment, of a resource that was created with `before`."""
    old = provider.check(Call(urn="urn", inputs=before)).inputs
    context = ResourceContext(given=now, recorded=old)
    new = provider.check(Call(urn="urn", inputs=now, old_inputs=old, context=context))
    assert not new.is_refused, new.problems
    context.checked = new.inputs
    recorded = {**old, **(outputs or {})}
    return provider.diff(Call(urn="urn", id="id", outputs=recorded, inputs=new.inputs, context=context))


def shown(found: Difference) -> dict[str, str]:
    return {text_of(each.path): each.kind + "-replace" * each.replaces for each in found.properties}


ENDED = {"state": "JOB_STATE_SUCCEEDED"}
WORKER = "worker_pool_specs[1]"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {}),
        (with_worker(replica_count=3), {f"{WORKER}.replica_count": "update-replace"}),
        (
            with_worker(machine_spec={"machine_type": "n1-standard-8"}),
            {f"{WORKER}.machine_spec.machine_type": "update-replace"},
        ),
        (
            with_container(args=["--epochs=10", "--rate=2", "--more"]),
            {
                f"{WORKER}.container_spec.args[1]": "update-replace",
                f"{WORKER}.container_spec.args[2]": "add-replace",
            },
        ),
        (
            with_container(env=[{"name": "A", "value": "1"}]),
            {f"{WORKER}.container_spec.env[1]": "delete-replace"},
        ),
        (
            with_container(env=[{"name": "A", "value": UNKNOWN}, {"name": "B", "value": "2"}]),
            {f"{WORKER}.container_spec.env[0].value": "update-replace"},
        ),
        ({"worker_pool_specs": [CHIEF]}, {WORKER: "delete-replace"}),
        ({"labels": {"team": "b"}}, {}),
        (
            {"labels": {"team": "b"}, **with_worker(replica_count=3)},
            {"labels.team": "update", f"{WORKER}.replica_count": "update-replace"},
        ),
        ({"run_token": "again"}, {"run_token": "add-replace"}),
        ({"staging_bucket": "another-bucket"}, {"staging_bucket": "update-replace"}),
        ({"location": "us-east1"}, {"location": "update-replace"}),
        ({"rerun": "always"}, {"state": "update-replace", "rerun": "update"}),
        ({"keep_runs": 3, "protect_running": True}, {"keep_runs": "update", "protect_running": "update"}),
        ({"marks": {"project": "p", "stack": "s", "resource": "renamed"}}, {}),
    ],
    ids=lambda _: "",
)
def test_the_changes_of_a_job(changed: dict[str, Any], expected: dict[str, str]) -> None:
    found = difference(CustomJobProvider(), JOB, {**JOB, **changed}, ENDED)
    assert shown(found) == expected
    assert found.changes == bool(expected)
    assert bool(found.replaces) == any(kind.endswith("-replace") for kind in expected.values())


RULE = "lifecycle_rules[0]"


@pytest.mark.parametrize(
    ("provider", "before", "changed", "expected"),
    [
        (
            StagingBucketProvider,
            BUCKET,
            {"lifecycle_rules": [{"action": {"type": "Delete"}, "condition": {"age": 7}}]},
            {f"{RULE}.condition.age": "update"},
        ),
        (StagingBucketProvider, BUCKET, {"lifecycle_rules": []}, {"lifecycle_rules": "delete"}),
        (
            StagingBucketProvider,
            BUCKET,
            {"project": UNKNOWN, "name": "b-bucket"},
            {"project": "update-replace", "name": "update-replace"},
        ),
        (
            ImageRepositoryProvider,
            REPOSITORY,
            {"labels": {"team": "b", "x": "y"}},
            {"labels.team": "update", "labels.x": "add"},
        ),
        (
            ImageRepositoryProvider,
            REPOSITORY,
            {"repository_id": "other"},
            {"repository_id": "update-replace"},
        ),
        (
            PersistentResourceProvider,
            MACHINES,
            {"resource_pools": [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2}]},
            {"resource_pools[0].replica_count": "update"},
        ),
        (
            PersistentResourceProvider,
            MACHINES,
            {"resource_pools": [{"machine_spec": {"machine_type": "n1-standard-8"}, "replica_count": 2}]},
            {
                "resource_pools[0].replica_count": "update",
                "resource_pools[0].machine_spec.machine_type": "update-replace",
            },
        ),
        (PersistentResourceProvider, MACHINES, {"reboot_token": "1"}, {"reboot_token": "add"}),
    ],
    ids=lambda _: "",
)
def test_the_changes_of_other_resources(
    provider: Any, before: dict[str, Any], changed: dict[str, Any], expected: dict[str, str]
) -> None:
    found = difference(provider(), before, {**before, **changed})
    assert shown(found) == expected
    assert found.changes


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((), {"id": "add-replace"}),
        (("labels", False), {"labels": "update", "id": "add-replace"}),
        (("name", True), {"name": "update-replace"}),
    ],
    ids=["unchanged", "updated", "replaced"],
)
def test_a_resource_that_was_deleted_is_created_again(
    found: tuple[str, bool] | tuple[()], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion_notes, "has_begun", lambda _: True)
    monkeypatch.setattr(QUERIES, "ask_endpoint", lambda *_, **__: False)
    changes = [PropertyChange(path=(found[0],), kind="update", replaces=found[1])] if found else []
    before = Difference(changes=bool(found), properties=changes)
    again = deletion_notes.continued(before, Call(id="name"), lambda _: None, title="bucket a-bucket")
    assert shown(again) == expected
    assert again.changes
    assert len(again.replaces) == 1
