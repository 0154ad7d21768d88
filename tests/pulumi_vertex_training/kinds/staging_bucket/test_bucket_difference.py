"""The summary of a bucket's changes, and the changes that a locked policy forbids."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given

from pulumi_vertex_training.kinds.staging_bucket.difference import compare_buckets, lock_refusal
from pulumi_vertex_training.kinds.staging_bucket.spec import EFFECTS, BucketSpec
from pulumi_vertex_training.kinds.staging_bucket.wire import patch
from support.client.specs.bucket_specs import buckets
from vertex_training.fields.decode import decode

LOCKED = {"retention_policy": {"retention_period": 60, "is_locked": True}}


def bucket(**more: Any) -> BucketSpec:
    spec = decode(BucketSpec, {"name": "my-bucket", "location": "us-central1", **more}).spec
    assert spec is not None
    return spec


@given(buckets)
def test_the_summary_of_an_unchanged_bucket_is_empty(spec: BucketSpec) -> None:
    assert compare_buckets(spec, spec).summary == ""


@given(buckets, buckets)
def test_every_change_in_place_is_sent(old: BucketSpec, new: BucketSpec) -> None:
    replaced = {path.partition(".")[0] for path in compare_buckets(old, new).replaces}
    new = dataclasses.replace(new, **{name: getattr(old, name) for name in replaced})
    difference = compare_buckets(old, new)
    assert not difference.replaces
    ours = ("force_destroy", "release_holds", "retention_policy.is_locked")
    sent = [change for change in difference.changes if not change.startswith(ours)]
    assert bool(patch(old, new)) == bool(sent)


@given(buckets, buckets)
def test_every_replacing_field_is_in_the_effects(old: BucketSpec, new: BucketSpec) -> None:
    assert set(compare_buckets(old, new).replaces) <= {path.partition(".")[0] for path in EFFECTS}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"versioning": {"enabled": True}}, "versioning.enabled: off -> on; changed in place"),
        ({"labels": {"a": "b"}}, "labels.a: not set -> b; changed in place"),
        (
            {"lifecycle_rules": [{"action": {"type": "Delete"}, "condition": {"age": 1}}]},
            "lifecycle_rules: 0 lifecycle rules -> 1 lifecycle rule; changed in place",
        ),
        (
            {"soft_delete_policy": {"retention_duration_seconds": 0}},
            "soft_delete_policy.retention_duration_seconds: 604800 (the default) -> 0; changed in place",
        ),
        ({"soft_delete_policy": {"retention_duration_seconds": 604800}}, ""),
        ({"rpo": "DEFAULT"}, ""),
        ({"autoclass": {"enabled": False}}, ""),
    ],
)
def test_the_summary_of_a_change_in_place(change: dict[str, Any], words: str) -> None:
    assert compare_buckets(bucket(), bucket(**change)).summary == words


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "other"}, "a bucket cannot be renamed"),
        ({"location": "us-east1"}, "a bucket cannot move to another location"),
        (
            {"hierarchical_namespace": True},
            "a hierarchical namespace can only be set when a bucket is created",
        ),
        (
            {"enable_object_retention": True},
            "retention of single objects can only be set when a bucket is created",
        ),
        (
            {"custom_placement_config": {"data_locations": ["us-east1", "us-west1"]}},
            "a bucket cannot move to other regions",
        ),
    ],
)
def test_the_summary_of_a_replacement_has_its_reason(change: dict[str, Any], reason: str) -> None:
    difference = compare_buckets(bucket(), bucket(**change))
    assert f"the bucket is replaced, because {reason}" in difference.summary
    assert difference.replaces == tuple(change)


def test_a_changed_lifecycle_rule_is_one_change() -> None:
    rules = [[{"action": {"type": "Delete"}, "condition": {"age": age}}] for age in (1, 2)]
    old, new = (bucket(lifecycle_rules=rule) for rule in rules)
    assert compare_buckets(old, new).summary == "lifecycle_rules: changed; changed in place"


def test_an_unknown_value_is_a_change() -> None:
    difference = compare_buckets(bucket(), bucket(), unknown={"location"})
    assert difference.changes == ("location: us-central1 -> (not known yet)",)
    assert difference.replaces == ("location",)


def test_another_project_replaces_the_bucket() -> None:
    difference = compare_buckets(bucket(), bucket(), moved={"project": "a -> b"})
    assert difference.replaces == ("project",)
    assert "project: a -> b; the bucket is replaced, because a bucket cannot move" in (difference.summary)


def test_a_new_lock_is_in_the_summary() -> None:
    old = bucket(retention_policy={"retention_period": 60})
    assert "locked permanently" in compare_buckets(old, bucket(**LOCKED)).summary


def test_an_existing_lock_is_not_in_the_summary() -> None:
    assert (
        "locked permanently"
        not in compare_buckets(bucket(**LOCKED), bucket(**LOCKED, versioning={"enabled": True})).summary
    )


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (None, "can never be removed"),
        ({"retention_period": 60}, "the lock of its retention policy can never be removed"),
        ({"retention_period": 59, "is_locked": True}, "can never be shortened: 60 -> 59 seconds"),
    ],
)
def test_changes_that_a_lock_forbids(policy: dict[str, Any] | None, words: str) -> None:
    more = {"retention_policy": policy} if policy else {}
    assert words in lock_refusal(bucket(**LOCKED), bucket(**more))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LOCKED, LOCKED),
        (LOCKED, {"retention_policy": {"retention_period": 90, "is_locked": True}}),
        ({"retention_policy": {"retention_period": 60}}, {}),
        ({}, LOCKED),
    ],
    ids=["the same", "longer", "not locked", "a new lock"],
)
def test_changes_that_a_lock_allows(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert lock_refusal(bucket(**old), bucket(**new)) == ""


def test_lists_are_shown_item_by_item() -> None:
    def placed(*regions: str) -> BucketSpec:
        return bucket(location="US", custom_placement_config={"data_locations": list(regions)})

    difference = compare_buckets(placed("US-EAST1", "US-WEST1"), placed("US-EAST1", "US-CENTRAL1"))
    assert difference.changes == (
        "custom_placement_config.data_locations: us-east1, us-west1 -> us-central1, us-east1",
    )
