"""Buckets through Google's client, and what only a bare request can ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.api_core.exceptions import (
    BadRequest,
    Conflict,
    NotFound,
    NotModified,
    PreconditionFailed,
)
from google.cloud.storage import Bucket

from support.emulated.emulator import Answer, call, running, storage_client
from support.tables import every_row
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number

BUCKETS = "/storage/v1/b"


def ask(emulator: Daemon, method: str, path: str, body: Any = None) -> Answer:
    return call(emulator.storage_url, method, path, body=body)


def test_what_is_given_at_creation_comes_back(storage: Any, bucket_name: str) -> None:
    bucket = Bucket(storage, bucket_name)
    bucket.storage_class = "NEARLINE"
    bucket.labels = {"team": "vision", "env": ""}
    bucket.iam_configuration.uniform_bucket_level_access_enabled = True
    bucket.iam_configuration.public_access_prevention = "enforced"
    bucket.versioning_enabled = True
    bucket.add_lifecycle_delete_rule(age=7, matches_prefix=["aiplatform-"])
    bucket.add_lifecycle_set_storage_class_rule("COLDLINE", age=30, is_live=False)
    bucket.soft_delete_policy.retention_duration_seconds = 0
    storage.create_bucket(bucket, location="europe-west4")

    read = storage.get_bucket(bucket_name)
    assert read.location == "EUROPE-WEST4"
    assert read.location_type == "region"
    assert read.storage_class == "NEARLINE"
    assert read.labels == {"team": "vision", "env": ""}
    assert read.iam_configuration.uniform_bucket_level_access_enabled
    assert read.iam_configuration.uniform_bucket_level_access_locked_time is not None
    assert read.iam_configuration.public_access_prevention == "enforced"
    assert read.versioning_enabled
    assert [dict(rule) for rule in read.lifecycle_rules] == [
        {"action": {"type": "Delete"}, "condition": {"age": 7, "matchesPrefix": ["aiplatform-"]}},
        {
            "action": {"type": "SetStorageClass", "storageClass": "COLDLINE"},
            "condition": {"age": 30, "isLive": False},
        },
    ]
    assert read.soft_delete_policy.retention_duration_seconds == 0
    assert read.metageneration == 1
    assert read.project_number == int(project_number("local"))


def test_defaults_that_the_service_adds(storage: Any, bucket: Any) -> None:
    read = storage.get_bucket(bucket.name)
    assert read.storage_class == "STANDARD"
    assert read.soft_delete_policy.retention_duration_seconds == 604800
    assert read.soft_delete_policy.effective_time is not None
    assert read.iam_configuration.public_access_prevention == "inherited"
    assert not read.iam_configuration.uniform_bucket_level_access_enabled
    assert not read.versioning_enabled
    assert read.etag == "CAE="
    assert storage.create_bucket(f"{bucket.name}-us").location == "US"


def test_patch_merges_and_counts(storage: Any, bucket: Any) -> None:
    bucket.labels = {"a": "1", "b": "2"}
    bucket.add_lifecycle_delete_rule(age=3)
    bucket.patch()
    again = storage.get_bucket(bucket.name)
    labels = again.labels
    del labels["a"]
    labels["c"] = "3"
    again.labels = labels
    again.clear_lifecycle_rules()
    again.versioning_enabled = True
    again.iam_configuration.uniform_bucket_level_access_enabled = True
    again.patch()
    read = storage.get_bucket(bucket.name)
    assert read.labels == {"b": "2", "c": "3"}
    assert list(read.lifecycle_rules) == []
    assert read.versioning_enabled
    assert read.iam_configuration.uniform_bucket_level_access_enabled
    assert read.metageneration == 3
    assert read.time_created < read.updated

    read.iam_configuration.uniform_bucket_level_access_enabled = False
    read.patch()
    assert not storage.get_bucket(bucket.name).iam_configuration.uniform_bucket_level_access_enabled


def test_null_removes_a_field(emulator: Daemon, storage: Any, bucket: Any) -> None:
    ask(emulator, "PATCH", f"{BUCKETS}/{bucket.name}", {"labels": {"a": "1"}, "storageClass": "ARCHIVE"})
    answer = ask(
        emulator,
        "PATCH",
        f"{BUCKETS}/{bucket.name}",
        {"labels": None, "storageClass": None, "softDeletePolicy": None},
    )
    assert answer.status == 200
    assert "labels" not in answer.json()
    assert answer.json()["storageClass"] == "STANDARD"
    assert answer.json()["softDeletePolicy"]["retentionDurationSeconds"] == "604800"


def test_metageneration_conditions(storage: Any, bucket: Any) -> None:
    bucket.labels = {"a": "1"}
    with pytest.raises(PreconditionFailed):
        bucket.patch(if_metageneration_match=7)
    bucket.patch(if_metageneration_match=1)
    with pytest.raises(PreconditionFailed):
        bucket.delete(if_metageneration_match=1)
    with pytest.raises(NotModified):
        storage.get_bucket(bucket.name, if_metageneration_not_match=2)
    bucket.delete(if_metageneration_match=2)
    assert not bucket.exists()


def test_duplicates_in_the_service_s_two_wordings(emulator: Daemon, storage: Any, bucket: Any) -> None:
    with pytest.raises(Conflict, match="you already own it"):
        storage.create_bucket(bucket.name)
    with (
        storage_client(emulator.storage_url, project="other") as other,
        pytest.raises(Conflict, match="is not available"),
    ):
        other.create_bucket(bucket.name)


def test_buckets_of_a_project_in_pages(emulator: Daemon) -> None:
    with storage_client(emulator.storage_url, project="paging") as client:
        names = [f"paging-{number}" for number in range(5)]
        for name in reversed(names):
            client.create_bucket(name)
        client.create_bucket("another-one")
        assert [bucket.name for bucket in client.list_buckets(prefix="paging-", page_size=2)] == names
        assert len(list(client.list_buckets())) == 6
        assert [bucket.name for bucket in client.list_buckets(max_results=1)] == ["another-one"]


def test_only_an_empty_bucket_is_deleted(storage: Any, bucket: Any, folder: Path) -> None:
    bucket.blob("a/b").upload_from_string("x")
    with pytest.raises(Conflict, match="bucket you tried to delete is not empty"):
        bucket.delete()
    bucket.blob("a/b").delete()
    (folder / "empty" / "folders").mkdir(parents=True)
    with pytest.raises(Conflict):  # each of them is an object
        bucket.delete()
    bucket.delete_blobs(["empty/", "empty/folders/"])
    bucket.delete()
    assert not folder.exists()
    with pytest.raises(NotFound, match="The specified bucket does not exist"):
        storage.get_bucket(bucket.name)
    storage.create_bucket(bucket.name)
    assert list(storage.list_blobs(bucket.name)) == []


def test_a_replica_s_file_keeps_the_bucket(storage: Any, bucket: Any, folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "model").write_bytes(b"weights")
    with pytest.raises(Conflict):
        bucket.delete()
    bucket.delete(force=True)
    assert not bucket.exists()


@every_row(
    "name",
    [
        *(
            "ab",
            "UPPER",
            "with space",
            "-begins",
            "ends-",
            "a..b",
            "192.168.1.1",
            "goog-x",
            "my-google-bucket",
        ),
        *("x" * 64, "ends.", "a" * 63 + "x.com", "../up", "a/b", "ü-bucket", "dot.-dash"),
    ],
)
def test_names_that_the_service_refuses(emulator: Daemon, name: str) -> None:
    answer = ask(emulator, "POST", f"{BUCKETS}?project=local", {"name": name})
    assert answer.status == 400
    assert answer.message.startswith(f"Invalid bucket name: '{name}'")
    assert answer.json()["error"]["errors"][0]["reason"] == "invalid"


@pytest.mark.parametrize("name", ["abc", "a_b-c", "0.1", "example.com", "x" * 63, "1.2.3.4.5"])
def test_names_that_the_service_takes(emulator: Daemon, name: str) -> None:
    assert ask(emulator, "POST", f"{BUCKETS}?project=local", {"name": name}).status == 200


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"location": "the moon"}, "location constraint is not valid: 'the moon'"),
        ({"storageClass": "WARM"}, "storageClass must be one of ARCHIVE"),
        ({"labels": {"Upper": "x"}}, "labels has the key 'Upper'"),
        ({"labels": {"a": "Ü"}}, "labels.a is 'Ü'"),
        ({"labels": {f"k{n}": "" for n in range(65)}}, "labels has 65 entries"),
        ({"lifecycle": {"rule": [{"action": {"type": "Delete"}}]}}, "lifecycle.rule[0].condition needs"),
        ({"lifecycle": {"rule": [{"condition": {"age": 1}}]}}, "lifecycle.rule[0].action.type is missing"),
        (
            {"lifecycle": {"rule": [{"action": {"type": "SetStorageClass"}, "condition": {"age": 1}}]}},
            "lifecycle.rule[0].action.storageClass is required for",
        ),
        (
            {"lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"age": -1}}]}},
            "lifecycle.rule[0].condition.age must be a whole number",
        ),
        (
            {"lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"createdBefore": "x"}}]}},
            "lifecycle.rule[0].condition.createdBefore must be a date",
        ),
        ({"softDeletePolicy": {"retentionDurationSeconds": 60}}, "must be 0, or from 604800"),
        (
            {"iamConfiguration": {"publicAccessPrevention": "maybe"}},
            "publicAccessPrevention must be one of",
        ),
        ({"versioning": {"enabled": "yes"}}, "versioning.enabled must be true or false, not a string"),
        ({"metageneration": "4"}, "metageneration of a bucket is set by the service"),
    ],
)
def test_bad_fields_are_named(
    emulator: Daemon, bucket_name: str, fields: dict[str, Any], message: str
) -> None:
    answer = ask(emulator, "POST", f"{BUCKETS}?project=local", {"name": bucket_name, **fields})
    assert answer.status == 400
    assert message in answer.message
    assert ask(emulator, "GET", f"{BUCKETS}/{bucket_name}").status == 404


@pytest.mark.parity("Cloud Storage: buckets and objects")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"ipFilter": {"mode": "Enabled"}}, "'ipFilter'"),
        ({"hierarchicalNamespace": {"enabled": True}}, "'hierarchicalNamespace'"),
        ({"lable": {}}, "'lable'"),
        ({"versioning": {"enabled": True, "extra": 1}}, "versioning.extra"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    emulator: Daemon, bucket: Any, bucket_name: str, fields: dict[str, Any], named: str
) -> None:
    for answer in (
        ask(emulator, "POST", f"{BUCKETS}?project=local", {"name": f"{bucket_name}-x", **fields}),
        ask(emulator, "PATCH", f"{BUCKETS}/{bucket.name}", fields),
    ):
        assert answer.status == 400
        assert named in answer.message


def test_calls_and_parameters_that_are_not_supported(emulator: Daemon, bucket: Any) -> None:
    assert ask(emulator, "GET", f"{BUCKETS}?project=local&projection=some").status == 400
    assert ask(emulator, "GET", "/storage/v1/nonsense").status == 400
    assert ask(emulator, "POST", f"{BUCKETS}/{bucket.name}/relocate", {}).status == 400


def test_what_cannot_be_changed(storage: Any, emulator: Daemon, bucket: Any) -> None:
    answer = ask(emulator, "PATCH", f"{BUCKETS}/{bucket.name}", {"location": "US"})
    assert answer.status == 400
    assert "location of a bucket cannot be changed: it is 'US-CENTRAL1'" in answer.message
    same = {"name": bucket.name, "location": "us-central1", "id": bucket.name, "kind": "storage#bucket"}
    assert ask(emulator, "PATCH", f"{BUCKETS}/{bucket.name}", same).status == 200


def test_missing_and_malformed_parameters(emulator: Daemon) -> None:
    assert ask(emulator, "GET", BUCKETS).message == "Required parameter: project"
    assert ask(emulator, "POST", f"{BUCKETS}?project=local", {}).message == "Required parameter: name"
    assert ask(emulator, "POST", f"{BUCKETS}?project=local", []).status == 400
    for value in ("0", "-1", "x", "9" * 30):
        assert ask(emulator, "GET", f"{BUCKETS}?project=local&maxResults={value}").status == 400
    assert ask(emulator, "GET", f"{BUCKETS}?project=local&pageToken=!").status == 400
    with pytest.raises(BadRequest), storage_client(emulator.storage_url, project="local") as client:
        client.create_bucket("A")


def test_partial_answers(emulator: Daemon, bucket: Any) -> None:
    path = f"{BUCKETS}/{bucket.name}?fields="
    assert ask(emulator, "GET", path + "name,iamConfiguration/publicAccessPrevention").json() == {
        "name": bucket.name,
        "iamConfiguration": {"publicAccessPrevention": "inherited"},
    }
    listed = ask(emulator, "GET", f"{BUCKETS}?project=local&prefix={bucket.name}&fields=items(name,location)")
    assert listed.json() == {"items": [{"name": bucket.name, "location": "US-CENTRAL1"}]}
    for bad in ("name,", "(", "a(b", "a)", "a//b", "(" * 1000):
        assert ask(emulator, "GET", path + bad).status == 400


def test_buckets_outlive_the_emulator(tmp_path: Path) -> None:
    with running(tmp_path) as first, storage_client(first.storage_url) as client:
        client.create_bucket("outlives", location="asia-east1").blob("o").upload_from_string("data")
        url = first.url
    with running(tmp_path) as second, storage_client(second.storage_url) as client:
        assert second.url == url, "the port used last is preferred"
        assert client.get_bucket("outlives").location == "ASIA-EAST1"
        assert client.bucket("outlives").blob("o").download_as_bytes() == b"data"


def test_an_empty_patch_changes_nothing(emulator: Daemon, bucket: Any) -> None:
    before = ask(emulator, "GET", f"{BUCKETS}/{bucket.name}").json()
    assert ask(emulator, "PATCH", f"{BUCKETS}/{bucket.name}", {}).json() == before
    assert ask(emulator, "GET", f"{BUCKETS}/{bucket.name}").json() == before


def test_a_storage_class_in_small_letters(emulator: Daemon, bucket: Any) -> None:
    changed = ask(emulator, "PATCH", f"{BUCKETS}/{bucket.name}", {"storageClass": "nearline"}).json()
    assert changed["storageClass"] == "NEARLINE"
