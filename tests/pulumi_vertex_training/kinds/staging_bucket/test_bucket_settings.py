"""Every setting of the API is classified, and defaults of the service are never a difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given

from pulumi_vertex_training.kinds.staging_bucket.rules import read
from pulumi_vertex_training.kinds.staging_bucket.spec import EFFECTS, BucketSpec, comparable
from pulumi_vertex_training.kinds.staging_bucket.wire import as_live, from_wire, patch, sets_lock, to_wire
from support.client.specs.bucket_specs import buckets
from support.specs.bucket_rules import CASES
from support.tables import every_row
from vertex_training.fields.decode import UNKNOWN, decode, encode
from vertex_training.fields.effects import Effect
from vertex_training.findings.problems import errors

MINIMAL = {"name": "my-bucket", "location": "us-central1"}

RESOURCE = {
    "acl": None,
    "autoclass": "autoclass",
    "billing": "requester_pays",
    "cors": "cors",
    "customPlacementConfig": "custom_placement_config",
    "defaultEventBasedHold": "default_event_based_hold",
    "defaultObjectAcl": None,
    "encryption": "encryption",
    "etag": "etag",
    "generation": "generation",
    "hardDeleteTime": "hard_delete_time",
    "hierarchicalNamespace": "hierarchical_namespace",
    "iamConfiguration": "uniform_bucket_level_access",
    "id": "id",
    "ipFilter": "ip_filter",
    "kind": "kind",
    "labels": "labels",
    "lifecycle": "lifecycle_rules",
    "location": "location",
    "locationType": "location_type",
    "logging": "logging",
    "metageneration": "metageneration",
    "name": "name",
    "objectRetention": "enable_object_retention",
    "owner": "owner",
    "projectNumber": "project_number",
    "retentionPolicy": "retention_policy",
    "rpo": "rpo",
    "satisfiesPZI": "satisfies_pzi",
    "satisfiesPZS": "satisfies_pzs",
    "selfLink": "self_link",
    "softDeletePolicy": "soft_delete_policy",
    "softDeleteTime": "soft_delete_time",
    "storageClass": "storage_class",
    "timeCreated": "time_created",
    "updated": "updated",
    "versioning": "versioning",
    "website": "website",
}
"""Properties of the bucket resource (Cloud Storage JSON API v1, 2026-08), each with its field."""


@every_row(("theirs", "ours"), RESOURCE.items())
def test_every_property_of_the_resource_is_classified(theirs: str, ours: str | None) -> None:
    known = {path.partition(".")[0].partition("[")[0] for path in EFFECTS}
    assert ours in known if ours else theirs in ("acl", "defaultObjectAcl")


def test_every_field_is_a_property_of_the_resource_or_our_option() -> None:
    names = {field.name for field in fields(BucketSpec)}
    assert names - set(RESOURCE.values()) == {"force_destroy", "public_access_prevention", "release_holds"}


def test_replacing_fields_are_those_that_the_api_sets_only_at_creation() -> None:
    replacing = {path for path, entry in EFFECTS.items() if entry.effect is Effect.REPLACE}
    assert replacing == {
        "name",
        "location",
        "custom_placement_config.data_locations",
        "enable_object_retention",
        "hierarchical_namespace",
    }


def filled_in(wire: dict[str, Any]) -> dict[str, Any]:
    """Return the response of the service: the settings that were sent, and those that it adds."""
    answer = {
        **wire,
        "kind": "storage#bucket",
        "id": wire["name"],
        "projectNumber": "123",
        "metageneration": "1",
        "generation": "1",
        "locationType": "region",
        "etag": "CAE=",
        "rpo": wire.get("rpo", "DEFAULT"),
        "timeCreated": "2026-08-22T10:00:00.000Z",
        "softDeletePolicy": {
            "effectiveTime": "2026-08-22T10:00:00.000Z",
            **wire.get("softDeletePolicy", {"retentionDurationSeconds": "604800"}),
        },
        "hierarchicalNamespace": wire.get("hierarchicalNamespace", {"enabled": False}),
        "autoclass": {"toggleTime": "2026-08-22T10:00:00Z", **wire.get("autoclass", {"enabled": False})},
    }
    if answer["autoclass"]["enabled"]:
        answer["autoclass"].setdefault("terminalStorageClass", "NEARLINE")
    if "logging" in wire:
        answer["logging"] = {"logObjectPrefix": wire["name"], **wire["logging"]}
    if "retentionPolicy" in wire:
        answer["retentionPolicy"] = {"effectiveTime": "2026-08-22T10:00:00Z", **wire["retentionPolicy"]}
    access = dict(wire["iamConfiguration"])
    access["bucketPolicyOnly"] = access["uniformBucketLevelAccess"]
    return {**answer, "iamConfiguration": access}


def echo(spec: BucketSpec) -> dict[str, Any]:
    """Return the bucket that is created from a spec, with its lock and object retention."""
    answer = filled_in(to_wire(spec))
    if spec.enable_object_retention:
        answer["objectRetention"] = {"mode": "Enabled"}
    if sets_lock(None, spec):
        answer["retentionPolicy"]["isLocked"] = True
    return answer


@given(buckets)
def test_defaults_of_the_service_are_no_difference(spec: BucketSpec) -> None:
    assert as_live(spec, echo(spec)) is spec


@given(buckets)
def test_the_echo_of_a_bucket_is_not_patched(spec: BucketSpec) -> None:
    options = {"force_destroy": spec.force_destroy, "release_holds": spec.release_holds}
    assert patch(spec, from_wire(echo(spec), **options)) == {}


@given(buckets, buckets)
def test_a_live_difference_is_read_once(spec: BucketSpec, other: BucketSpec) -> None:
    kept = {name: getattr(spec, name) for name in ("name", "force_destroy", "release_holds")}
    other = replace(other, **kept)
    lives = as_live(spec, echo(other))
    assert comparable(lives) == comparable(other)
    assert as_live(lives, echo(other)) is lives


@given(buckets)
def test_declaring_a_default_describes_the_same_bucket(spec: BucketSpec) -> None:
    assert comparable(comparable(spec)) == comparable(spec)


@given(buckets)
def test_a_spec_survives_the_state(spec: BucketSpec) -> None:
    assert decode(BucketSpec, encode(spec)).spec == spec


@pytest.mark.parametrize(
    ("more", "wire"),
    [
        ({"requester_pays": True}, {"billing": {"requesterPays": True}}),
        (
            {"soft_delete_policy": {"retention_duration_seconds": 0}},
            {"softDeletePolicy": {"retentionDurationSeconds": "0"}},
        ),
        ({"retention_policy": {"retention_period": 60}}, {"retentionPolicy": {"retentionPeriod": "60"}}),
        ({"hierarchical_namespace": True}, {"hierarchicalNamespace": {"enabled": True}}),
        ({"default_event_based_hold": True}, {"defaultEventBasedHold": True}),
        (
            {"autoclass": {"enabled": True}},
            {"autoclass": {"enabled": True, "terminalStorageClass": "NEARLINE"}},
        ),
        (
            {"cors": [{"origins": ["*"], "methods": ["get"], "max_age_seconds": 0}]},
            {"cors": [{"origin": ["*"], "method": ["GET"], "maxAgeSeconds": 0}]},
        ),
        (
            {"custom_placement_config": {"data_locations": ["us-east1", "us-central1"]}, "location": "us"},
            {"customPlacementConfig": {"dataLocations": ["US-CENTRAL1", "US-EAST1"]}, "location": "US"},
        ),
        ({"enable_object_retention": True}, {}),
        ({"release_holds": True, "force_destroy": True}, {}),
    ],
)
def test_a_setting_on_the_wire(more: dict[str, Any], wire: dict[str, Any]) -> None:
    plain = to_wire(read(MINIMAL).spec)
    assert to_wire(read({**MINIMAL, **more}).spec) == {**plain, **wire}


@pytest.mark.parametrize(
    ("setting", "wire"),
    [
        ({"requester_pays": True}, {"billing": {"requesterPays": False}}),
        ({"retention_policy": {"retention_period": 60}}, {"retentionPolicy": None}),
        (
            {"soft_delete_policy": {"retention_duration_seconds": 0}},
            {"softDeletePolicy": {"retentionDurationSeconds": "604800"}},
        ),
        ({"logging": {"log_bucket": "logs"}}, {"logging": None}),
        ({"website": {"main_page_suffix": "a"}}, {"website": None}),
        ({"autoclass": {"enabled": True}}, {"autoclass": {"enabled": False}}),
        ({"cors": [{"origins": ["*"], "methods": ["GET"]}]}, {"cors": []}),
    ],
)
def test_a_removed_setting_on_the_wire(setting: dict[str, Any], wire: dict[str, Any]) -> None:
    assert patch(read({**MINIMAL, **setting}).spec, read(MINIMAL).spec) == wire


def with_gaps(value: Any) -> Iterator[Any]:
    """Yield copies of the value, each with another part unknown."""
    yield UNKNOWN
    if isinstance(value, dict):
        for key, item in value.items():
            yield from ({**value, key: other} for other in with_gaps(item))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from ([*value[:i], other, *value[i + 1 :]] for other in with_gaps(item))


@every_row("name", CASES)
def test_an_unknown_value_breaks_no_rule(name: str) -> None:
    whole, *parts = with_gaps(dict(CASES[name].right))
    assert whole is UNKNOWN
    for document in parts:
        assert errors(read(document).problems) == (), document


@every_row("name", [name for name, case in CASES.items() if case.level == "error"])
def test_an_unknown_value_hides_its_problem(name: str) -> None:
    case = CASES[name]
    field = case.path.partition(".")[0].partition("[")[0]
    assert all(problem.rule != name for problem in read({**case.right, field: UNKNOWN}).problems)
