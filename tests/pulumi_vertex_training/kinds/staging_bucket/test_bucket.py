from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from pulumi_vertex_training.kinds.staging_bucket.rules import read, validate
from pulumi_vertex_training.kinds.staging_bucket.settings import BucketVersioning
from pulumi_vertex_training.kinds.staging_bucket.spec import (
    BucketSpec,
    LifecycleAction,
    LifecycleCondition,
    LifecycleRule,
    comparable,
    normalise,
)
from pulumi_vertex_training.kinds.staging_bucket.wire import from_wire, patch, to_wire
from support.client.specs.bucket_specs import buckets
from vertex_training.fields.decode import decode, encode
from vertex_training.job.rules.bucket_names import bucket_name_faults

MINIMAL = {"name": "my-bucket", "location": "us-central1"}


def bucket(**fields) -> BucketSpec:
    return BucketSpec(**{**MINIMAL, **fields})


def rule(kind: str = "Delete", storage_class: str | None = None, **condition) -> LifecycleRule:
    return LifecycleRule(
        action=LifecycleAction(type=kind, storage_class=storage_class),
        condition=LifecycleCondition(**(condition or {"age": 30})),
    )


@given(buckets)
def test_decode_is_the_inverse_of_encode(spec):
    assert decode(BucketSpec, encode(spec)).spec == spec


@given(buckets)
def test_normalise_is_idempotent(spec):
    assert normalise(normalise(spec)) == normalise(spec)


@given(buckets)
def test_wire_round_trip(spec):
    back = from_wire(to_wire(spec), force_destroy=spec.force_destroy, release_holds=spec.release_holds)
    # That single objects can be retained is a parameter of the call that creates the bucket.
    assert back == replace(comparable(spec), enable_object_retention=False, retention_policy=unlocked(spec))


@given(buckets)
def test_validation_never_raises(spec):
    assert all(problem.path for problem in validate(spec))


def test_defaults_are_explicit():
    assert encode(read(MINIMAL).spec) == {
        "name": "my-bucket",
        "location": "us-central1",
        "storage_class": "STANDARD",
        "uniform_bucket_level_access": True,
        "public_access_prevention": "enforced",
        "versioning": {"enabled": False},
    }


def test_a_bucket_on_the_wire():
    spec = bucket(
        labels={"team": "vision"}, lifecycle_rules=(rule(age=0, matches_prefixes=("aiplatform-",)),)
    )
    assert to_wire(spec) == {
        "name": "my-bucket",
        "location": "US-CENTRAL1",
        "storageClass": "STANDARD",
        "labels": {"team": "vision"},
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": True},
            "publicAccessPrevention": "enforced",
        },
        "versioning": {"enabled": False},
        "lifecycle": {
            "rule": [
                {"action": {"type": "Delete"}, "condition": {"age": 0, "matchesPrefix": ["aiplatform-"]}}
            ]
        },
    }


def test_from_wire_ignores_fields_of_the_service():
    answer = {
        **to_wire(bucket()),
        "kind": "storage#bucket",
        "id": "my-bucket",
        "projectNumber": "123",
        "metageneration": "1",
        "locationType": "region",
        "softDeletePolicy": {"retentionDurationSeconds": "604800"},
        "etag": "CAE=",
        "timeCreated": "2026-08-22T10:00:00.000Z",
    }
    answer["iamConfiguration"]["uniformBucketLevelAccess"]["lockedTime"] = "2026-11-20T10:00:00.000Z"
    answer["iamConfiguration"]["bucketPolicyOnly"] = {"enabled": True}
    assert from_wire(answer) == bucket()


def test_from_wire_reads_a_bucket_of_another_tool():
    spec = from_wire(
        {"name": "theirs", "location": "EU", "iamConfiguration": {"publicAccessPrevention": "unspecified"}}
    )
    assert (spec.uniform_bucket_level_access, spec.public_access_prevention) == (False, "inherited")


def test_from_wire_rejects_other_resources():
    with pytest.raises(ValueError, match="location"):
        from_wire({"name": "a", "location": 1})


# Changes in place.

FIXED = (
    "name", "location", "custom_placement_config", "enable_object_retention", "hierarchical_namespace",
)  # fmt: skip


def unlocked(spec):
    """Return the retention policy as a PATCH sets it: a lock is a separate call."""
    return spec.retention_policy and replace(spec.retention_policy, is_locked=False)


def applied(resource, body):
    """Apply a PATCH as a service does (RFC 7386): merge maps, remove null, replace everything else."""
    merged = dict(resource)
    for key, value in body.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = applied(merged.get(key, {}), value)
        else:
            merged[key] = value
    return merged


@given(buckets, buckets)
def test_a_patch_turns_the_old_bucket_into_the_new_one(old, new):
    new = replace(new, **{name: getattr(old, name) for name in FIXED})
    options = {"force_destroy": new.force_destroy, "release_holds": new.release_holds}
    after = from_wire(applied(to_wire(old), patch(old, new)), **options)
    assert after == replace(comparable(new), enable_object_retention=False, retention_policy=unlocked(new))


@given(buckets)
def test_the_patch_of_an_unchanged_bucket_is_empty(spec):
    assert patch(spec, spec) == {}


@pytest.mark.parametrize(
    ("new", "body"),
    [
        (bucket(force_destroy=True), {}),
        (bucket(location="US-Central1"), {}),
        (bucket(storage_class="nearline"), {"storageClass": "NEARLINE"}),
        (bucket(versioning=BucketVersioning(enabled=True)), {"versioning": {"enabled": True}}),
        (bucket(labels={"b": "2"}), {"labels": {"b": "2"}}),
        (
            bucket(public_access_prevention="inherited"),
            {"iamConfiguration": {"publicAccessPrevention": "inherited"}},
        ),
        (
            bucket(lifecycle_rules=(rule(),)),
            {"lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"age": 30}}]}},
        ),
    ],
)
def test_a_patch_sends_what_changed(new, body):
    assert patch(bucket(), new) == body


def test_a_removed_label_is_null():
    assert patch(bucket(labels={"a": "1", "b": "1", "c": "1"}), bucket(labels={"b": "2", "c": "1"})) == {
        "labels": {"a": None, "b": "2"}
    }


def test_removed_rules_are_an_empty_list():
    assert patch(bucket(lifecycle_rules=(rule(),)), bucket()) == {"lifecycle": {"rule": []}}


@pytest.mark.parametrize("new", [bucket(name="other"), bucket(location="europe-west4")])
def test_a_bucket_cannot_move(new):
    with pytest.raises(ValueError, match="a bucket cannot change its name or its location"):
        patch(bucket(), new)


# The rules.


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"name": "My Bucket"}, "name", "for example my-bucket"),
        ({"location": "mars"}, "location", "'mars' is not a location"),
        ({"location": "us-centrall1"}, "location", "'us-centrall1' is not a region; did you mean us-c"),
        ({"storage_class": "NEARLIN"}, "storage_class", "did you mean NEARLINE"),
        ({"storage_class": "cheap"}, "storage_class", "STANDARD, NEARLINE, COLDLINE or ARCHIVE"),
        ({"labels": {"A": "b"}}, "labels.A", "cannot be a label"),
        ({"lifecycle_rules": (rule("Remove"),)}, "lifecycle_rules[0].action.type", "Delete, SetStorageClass"),
        ({"lifecycle_rules": (rule("delete"),)}, "lifecycle_rules[0].action.type", "did you mean Delete"),
        (
            {"lifecycle_rules": (rule("SetStorageClass"),)},
            "lifecycle_rules[0].action.storage_class",
            "needs the new storage class",
        ),
        (
            {"lifecycle_rules": (rule("Delete", "ARCHIVE"),)},
            "lifecycle_rules[0].action.storage_class",
            "leave it out",
        ),
        (
            {"lifecycle_rules": (rule(), rule("SetStorageClass", "GOLD"))},
            "lifecycle_rules[1].action.storage_class",
            "not a storage class",
        ),
        ({"lifecycle_rules": (rule(age=None),)}, "lifecycle_rules[0].condition", "at least one"),
        ({"lifecycle_rules": (rule(age=-1),)}, "lifecycle_rules[0].condition.age", "0 or more"),
        (
            {"lifecycle_rules": (rule(created_before="31.1.2026"),)},
            "lifecycle_rules[0].condition.created_before",
            "YYYY-MM-DD",
        ),
        (
            {"lifecycle_rules": (rule(matches_storage_classes=("STANDARD", "GOLD")),)},
            "lifecycle_rules[0].condition.matches_storage_classes[1]",
            "not a storage class",
        ),
        ({"lifecycle_rules": (rule(),) * 101}, "lifecycle_rules", "101 rules"),
    ],
)
def test_errors(change, path, words):
    [problem] = validate(bucket(**change))
    assert (problem.path, problem.level) == (path, "error")
    assert words in problem.message


@pytest.mark.parametrize("location", ["US", "eu", "ASIA", "NAM4", "eur5"])
def test_more_than_one_region_is_a_warning(location):
    [problem] = validate(bucket(location=location))
    assert (problem.path, problem.level) == ("location", "warning")
    assert "region of the job" in problem.message


def test_a_valid_bucket_has_no_problems():
    spec = bucket(lifecycle_rules=(rule(age=0), rule("SetStorageClass", "ARCHIVE", is_live=False)))
    assert validate(spec) == []


def test_public_access_prevention_is_one_of_two():
    [problem] = read({**MINIMAL, "public_access_prevention": "enforce"}).problems
    assert "did you mean enforced?" in problem.message


def test_unsupported_settings_are_rejected_by_name():
    [problem] = read({**MINIMAL, "defaultObjectAcl": [{"entity": "allUsers"}]}).problems
    assert str(problem) == "default_object_acl: is not supported yet by this version; leave it out"


@pytest.mark.parametrize(
    "name", ["abc", "a-b_c.d", "0ab", "a" * 63, "example.com", "b" * 60 + "." + "c" * 63]
)
def test_good_bucket_names(name):
    assert bucket_name_faults(name) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "0 characters"),
        ("ab", "2 characters"),
        ("a" * 64, "3 to 63"),
        ("a.b" * 75, "3 to 222"),
        ("A-bucket", "for example a-bucket"),
        ("-bucket", "begin and end"),
        ("bucket-", "begin and end"),
        ("a..b", "two dots"),
        ("a." + "b" * 64, "more than 63"),
        ("192.168.5.4", "IP address"),
        ("google-data", "goog"),
        ("my-google-data", "goog"),
        ("goog-data", "goog"),
    ],
)
def test_bad_bucket_names(name, words):
    assert words in " ".join(bucket_name_faults(name))
