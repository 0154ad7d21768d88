"""Every field of a bucket, whole updates, and IAM policies."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, PreconditionFailed

from support.emulated.services.storage import BUCKETS, advance, ask
from vertex_emulator.daemon.daemon import Daemon

KEY = "projects/p/locations/us/keyRings/r/cryptoKeys/k"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("cors", [{"origin": ["*"], "method": ["GET"], "maxAgeSeconds": 60}], id="cors"),
        pytest.param("website", {"mainPageSuffix": "i.html", "notFoundPage": "404.html"}, id="website"),
        pytest.param("logging", {"logBucket": "logs", "logObjectPrefix": "x"}, id="logging"),
        pytest.param("billing", {"requesterPays": True}, id="billing"),
        pytest.param("encryption", {"defaultKmsKeyName": KEY}, id="encryption"),
        pytest.param("defaultEventBasedHold", True, id="defaultEventBasedHold"),
        pytest.param("storageClass", "NEARLINE", id="storageClass"),
        pytest.param("labels", {"a": "b"}, id="labels"),
        pytest.param("versioning", {"enabled": True}, id="versioning"),
    ],
)
def test_a_field_at_creation_in_a_patch_and_removed(
    emulator: Daemon, bucket: Any, bucket_name: str, field: str, value: Any
) -> None:
    created = ask(emulator, "POST", f"{BUCKETS}?project=local", {"name": f"{bucket_name}-x", field: value})
    assert created.json()[field] == value
    path = f"{BUCKETS}/{bucket_name}"
    assert ask(emulator, "PATCH", path, {field: value}).json()[field] == value
    assert ask(emulator, "GET", path).json()[field] == value
    assert ask(emulator, "PATCH", path, {field: None}).json().get(field) != value


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"cors": {}}, None, id="no cors"),
        pytest.param({"cors": [{"method": "GET"}]}, "cors[0].method", id="cors method"),
        pytest.param({"cors": [{}] * 101}, "cors has 101 entries", id="too many cors"),
        pytest.param({"encryption": {"defaultKmsKeyName": "k"}}, "defaultKmsKeyName must be", id="key"),
        pytest.param({"rpo": "ASYNC_TURBO"}, "dual-region", id="turbo in a region"),
        pytest.param({"rpo": "SOON"}, "rpo must be one of", id="rpo"),
        pytest.param({"autoclass": {"enabled": "yes"}}, "autoclass.enabled must be", id="autoclass"),
        pytest.param(
            {"autoclass": {"enabled": True, "terminalStorageClass": "COLDLINE"}},
            "terminalStorageClass must be one of",
            id="terminal class",
        ),
        pytest.param({"website": []}, "website must be an object", id="website"),
        pytest.param({"billing": {"requesterPays": 1}}, "requesterPays must be", id="billing"),
    ],
)
def test_values_that_are_refused(emulator: Daemon, bucket: Any, fields: Any, says: str | None) -> None:
    answer = ask(emulator, "PATCH", f"{BUCKETS}/{bucket.name}", fields)
    if says is None:
        assert answer.status == 200
    else:
        assert answer.status == 400
        assert says in answer.message


def test_what_the_service_makes_is_not_looked_at(emulator: Daemon, bucket: Any) -> None:
    """gcloud sends back times in a spelling of its own."""
    sent = {"updated": "2026-01-01T00:00:00.000000+00:00", "metageneration": "77", "etag": "x"}
    answer = ask(emulator, "PATCH", f"{BUCKETS}/{bucket.name}", {**sent, "labels": {"a": "b"}})
    assert (answer.status, answer.json()["metageneration"]) == (200, "2")


def test_a_pair_of_regions(storage: Any, bucket_name: str) -> None:
    made = storage.create_bucket(bucket_name, location="us", data_locations=["us-east1", "us-west1"])
    read = storage.get_bucket(bucket_name)
    assert (read.location_type, read.data_locations) == ("dual-region", ["US-EAST1", "US-WEST1"])
    made.rpo = "ASYNC_TURBO"
    made.patch()
    assert storage.get_bucket(bucket_name).rpo == "ASYNC_TURBO"


def test_a_pair_of_regions_elsewhere(storage: Any, bucket_name: str) -> None:
    with pytest.raises(BadRequest, match="requires the location US, EU or ASIA"):
        storage.create_bucket(bucket_name, location="us-east1", data_locations=["us-east1", "us-west1"])


def test_autoclass(storage: Any, bucket_name: str) -> None:
    bucket = storage.bucket(bucket_name)
    bucket.autoclass_enabled = True
    bucket.storage_class = "STANDARD"
    storage.create_bucket(bucket)
    read = storage.get_bucket(bucket_name)
    assert (read.autoclass_enabled, read.autoclass_terminal_storage_class) == (True, "NEARLINE")
    assert read.autoclass_toggle_time == read.time_created
    read.autoclass_enabled = False
    read.patch()
    assert read.autoclass_toggle_time > read.time_created


def test_the_key_of_a_bucket_is_that_of_its_objects(storage: Any, bucket: Any) -> None:
    bucket.default_kms_key_name = KEY
    bucket.patch()
    blob = bucket.blob("a")
    blob.upload_from_string("x")
    assert bucket.get_blob("a").kms_key_name == f"{KEY}/cryptoKeyVersions/1"


def test_times_stay_with_what_they_are_of(emulator: Daemon, bucket: Any) -> None:
    path = f"{BUCKETS}/{bucket.name}"
    before = ask(emulator, "PATCH", path, {"retentionPolicy": {"retentionPeriod": 10}}).json()
    advance(emulator, days=1)
    after = ask(emulator, "PATCH", path, {"labels": {"a": "b"}}).json()
    for field in ("softDeletePolicy", "retentionPolicy"):
        assert after[field] == before[field]
    changed = ask(emulator, "PATCH", path, {"retentionPolicy": {"retentionPeriod": 20}}).json()
    assert changed["retentionPolicy"]["effectiveTime"] > before["retentionPolicy"]["effectiveTime"]


def test_an_update_is_the_whole_resource(storage: Any, bucket: Any) -> None:
    bucket.labels = {"a": "b"}
    bucket.versioning_enabled = True
    bucket.storage_class = "NEARLINE"
    bucket.patch()
    read = storage.get_bucket(bucket.name)
    read.versioning_enabled = False
    read.update()
    again = storage.get_bucket(bucket.name)
    assert (again.versioning_enabled, again.labels, again.storage_class) == (False, {"a": "b"}, "NEARLINE")
    assert again.metageneration == 3


def test_what_an_update_leaves_out_is_removed(emulator: Daemon, bucket: Any) -> None:
    path = f"{BUCKETS}/{bucket.name}"
    ask(emulator, "PATCH", path, {"labels": {"a": "b"}, "storageClass": "ARCHIVE"})
    after = ask(emulator, "PUT", path, {"website": {"mainPageSuffix": "x"}}).json()
    assert ("labels" in after, after["storageClass"], after["location"]) == (False, "STANDARD", "US-CENTRAL1")
    assert ask(emulator, "PUT", path, {"location": "US"}).status == 400


def test_predefined_access_lists(emulator: Daemon, bucket_name: str) -> None:
    path = f"{BUCKETS}?project=local&predefinedAcl="
    assert ask(emulator, "POST", f"{path}projectPrivate", {"name": bucket_name}).status == 200
    assert ask(emulator, "POST", f"{path}everybody", {"name": f"{bucket_name}-b"}).status == 400
    uniform = {"iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}}}
    answer = ask(emulator, "POST", f"{path}private", {"name": f"{bucket_name}-c", **uniform})
    assert (answer.status, "Cannot use ACLs" in answer.message) == (400, True)


@pytest.mark.parametrize("where", ["acl", "defaultObjectAcl", "acl/allUsers", "o/x/acl"])
def test_access_lists_under_uniform_access(emulator: Daemon, bucket: Any, where: str) -> None:
    path = f"{BUCKETS}/{bucket.name}/{where}"
    bucket.blob("x").upload_from_string("x")
    bucket.iam_configuration.uniform_bucket_level_access_enabled = True
    bucket.patch()
    answer = ask(emulator, "GET", path)
    assert (answer.status, "uniform bucket-level access is enabled" in answer.message) == (400, True)


# --- IAM


def test_the_policy_of_a_new_bucket(bucket: Any) -> None:
    policy = bucket.get_iam_policy()
    assert policy.etag
    assert dict(policy)["roles/storage.legacyBucketReader"] == {"projectViewer:local"}


def test_a_policy_is_kept(storage: Any, bucket: Any) -> None:
    policy = bucket.get_iam_policy(requested_policy_version=3)
    policy["roles/storage.objectViewer"] = {"user:a@example.com", "allUsers"}
    bucket.set_iam_policy(policy)
    again = storage.bucket(bucket.name).get_iam_policy()
    assert again["roles/storage.objectViewer"] == {"user:a@example.com", "allUsers"}


def test_a_policy_with_an_old_etag(bucket: Any) -> None:
    policy = bucket.get_iam_policy()
    policy["roles/storage.objectViewer"] = {"allUsers"}
    old = policy.etag
    bucket.set_iam_policy(policy)
    policy.etag = old
    with pytest.raises(PreconditionFailed):
        bucket.set_iam_policy(policy)


def test_conditions_are_shown_in_version_3(emulator: Daemon, bucket: Any) -> None:
    bucket.iam_configuration.uniform_bucket_level_access_enabled = True
    bucket.patch()
    condition = {"title": "t", "expression": "request.time < timestamp('2030-01-01T00:00:00Z')"}
    binding = {"role": "roles/storage.objectViewer", "members": ["user:a@b.c"], "condition": condition}
    path = f"{BUCKETS}/{bucket.name}/iam"
    assert ask(emulator, "PUT", path, {"version": 3, "bindings": [binding]}).status == 200
    shown = ask(emulator, "GET", f"{path}?optionsRequestedPolicyVersion=3").json()
    assert (shown["version"], shown["bindings"]) == (3, [binding])
    assert ask(emulator, "GET", path).json()["bindings"] == []


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({"bindings": 7}, id="bindings"),
        pytest.param({"bindings": [{"role": "viewer", "members": ["allUsers"]}]}, id="role"),
        pytest.param({"bindings": [{"role": "roles/viewer", "members": ["a@b.c"]}]}, id="member"),
        pytest.param({"bindings": [{"role": "roles/viewer"}]}, id="no members"),
        pytest.param({"bindings": [7]}, id="a number"),
    ],
)
def test_policies_that_are_refused(emulator: Daemon, bucket: Any, policy: Any) -> None:
    assert ask(emulator, "PUT", f"{BUCKETS}/{bucket.name}/iam", policy).status == 400


def test_conditions_need_uniform_access_and_then_version_3(emulator: Daemon, bucket: Any) -> None:
    binding = {
        "role": "roles/viewer",
        "members": ["allUsers"],
        "condition": {"title": "t", "expression": "true"},
    }
    path = f"{BUCKETS}/{bucket.name}"
    refused = ask(emulator, "PUT", f"{path}/iam", {"version": 1, "bindings": [binding]})
    assert (refused.status, "enable uniform bucket-level access" in refused.message) == (412, True)
    uniform = {"iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}}}
    assert ask(emulator, "PATCH", path, uniform).status == 200
    refused = ask(emulator, "PUT", f"{path}/iam", {"version": 1, "bindings": [binding]})
    assert (refused.status, "at least 3" in refused.message) == (400, True)


@pytest.mark.parametrize("member", ["allUsers", "allAuthenticatedUsers"])
def test_public_access_prevention(emulator: Daemon, bucket: Any, member: str) -> None:
    path = f"{BUCKETS}/{bucket.name}"
    policy = {"bindings": [{"role": "roles/storage.objectViewer", "members": ["user:a@b.c", member]}]}
    assert ask(emulator, "PUT", f"{path}/iam", policy).status == 200
    enforced = {"iamConfiguration": {"publicAccessPrevention": "enforced"}}
    assert ask(emulator, "PATCH", path, enforced).status == 200
    refused = ask(emulator, "PUT", f"{path}/iam", policy)
    assert (refused.status, refused.message.endswith(f"The policy names {member}.")) == (412, True)


def test_a_flat_namespace_is_shown_if_it_was_given(emulator: Daemon, bucket_name: str) -> None:
    flat = {"hierarchicalNamespace": {"enabled": False}}
    created = ask(emulator, "POST", f"{BUCKETS}?project=local", {"name": f"{bucket_name}-h", **flat}).json()
    assert created["hierarchicalNamespace"] == {"enabled": False}
    assert "hierarchicalNamespace" not in ask(emulator, "GET", f"{BUCKETS}/{bucket_name}").json()


def test_permissions(bucket: Any) -> None:
    asked = ["storage.objects.create", "storage.buckets.get"]
    assert bucket.test_iam_permissions(asked) == asked
    with pytest.raises(BadRequest):
        bucket.test_iam_permissions(["compute.disks.list"])
