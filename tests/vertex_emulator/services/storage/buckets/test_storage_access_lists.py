"""Access control lists, through Google's client and over the wire."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, NotFound, PreconditionFailed

from support.emulated.services.storage import BUCKETS, ask, path_of
from vertex_emulator.daemon.daemon import Daemon


@pytest.mark.parity(
    "Cloud Storage: access control lists",
    own_way="stored, shown and checked as in the service, without effect",
)
def test_a_buckets_list(storage: Any, bucket: Any) -> None:
    acl = bucket.acl
    acl.reload()
    assert sorted(entry["role"] for entry in acl) == ["OWNER", "OWNER", "READER"]
    acl.all().grant_read()
    acl.save()
    again = storage.bucket(bucket.name).acl
    assert "READER" in again.all().get_roles()
    again.reload()
    del again.entities["allUsers"]
    again.save()
    assert not storage.bucket(bucket.name).acl.has_entity("allUsers")


def test_an_objects_list(bucket: Any) -> None:
    bucket.blob("o").upload_from_string("x")
    acl = bucket.blob("o").acl
    acl.domain("google.com").grant_read()
    blob = bucket.get_blob("o")
    with pytest.raises(PreconditionFailed):
        acl.save(if_metageneration_match=9)
    acl.save(if_metageneration_match=blob.metageneration)
    again = bucket.blob("o").acl
    again.reload()
    assert "READER" in again.domain("google.com").get_roles()
    assert bucket.get_blob("o").metageneration == 2


def test_the_default_list_is_for_objects_that_come_later(bucket: Any) -> None:
    bucket.blob("before").upload_from_string("x")
    default = bucket.default_object_acl
    default.reload()
    default.all().grant_read()
    default.save()
    bucket.blob("after").upload_from_string("x")
    assert bucket.blob("before").acl.has_entity("allUsers") is False
    after = bucket.blob("after").acl
    assert "READER" in after.all().get_roles()
    assert any(entry["entity"].startswith("user-") for entry in after)


@pytest.mark.parity("Cloud Storage: access control lists")
@pytest.mark.parametrize(
    ("name", "entities"),
    [
        ("private", ["user-"]),
        ("bucketOwnerRead", ["project-owners-", "user-"]),
        ("projectPrivate", ["project-editors-", "project-owners-", "project-viewers-", "user-"]),
        ("publicRead", ["allUsers", "user-"]),
        ("authenticatedRead", ["allAuthenticatedUsers", "user-"]),
    ],
)
def test_predefined_lists_of_objects(bucket: Any, name: str, entities: list[str]) -> None:
    bucket.blob("o").upload_from_string("x", predefined_acl=name)
    found = sorted(entry["entity"] for entry in bucket.blob("o").acl)
    assert len(found) == len(entities)
    assert all(entity.startswith(start) for entity, start in zip(found, entities, strict=True))
    copied = bucket.copy_blob(bucket.blob("o"), bucket, "copy", preserve_acl=False)
    copied.acl.save_predefined(name)
    assert sorted(entry["entity"] for entry in bucket.blob("copy").acl) == found


def test_one_entry_after_the_other(emulator: Daemon, bucket: Any) -> None:
    path = f"{BUCKETS}/{bucket.name}/acl"
    made = ask(emulator, "POST", path, {"entity": "group-a@b.c", "role": "READER"}).json()
    assert (made["kind"], made["email"], made["bucket"]) == (
        "storage#bucketAccessControl",
        "a@b.c",
        bucket.name,
    )
    assert ask(emulator, "PATCH", f"{path}/group-a@b.c", {"role": "WRITER"}).json()["role"] == "WRITER"
    assert ask(emulator, "GET", f"{path}/group-a@b.c").json()["role"] == "WRITER"
    assert ask(emulator, "GET", path).json()["items"][-1]["entity"] == "group-a@b.c"
    assert ask(emulator, "DELETE", f"{path}/group-a@b.c").status == 204
    for method, body in (("GET", None), ("DELETE", None), ("PATCH", {"role": "READER"})):
        assert ask(emulator, method, f"{path}/group-a@b.c", body).status == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"role": "READER"}, "entry.entity is missing"),
        ({"entity": "allUsers"}, "entry.role is missing"),
        ({"entity": "everybody", "role": "READER"}, "entry.entity must be like user-EMAIL"),
        ({"entity": "allUsers", "role": "ADMIN"}, "entry.role must be one of OWNER, WRITER, READER"),
    ],
)
def test_entries_that_are_refused(emulator: Daemon, bucket: Any, body: Any, message: str) -> None:
    refused = ask(emulator, "POST", f"{BUCKETS}/{bucket.name}/acl", body)
    assert (refused.status, message in refused.message) == (400, True)


def test_a_list_in_a_resource(emulator: Daemon, bucket: Any) -> None:
    bucket.blob("o").upload_from_string("x")
    path = path_of(bucket.name, "o")
    entries = [{"entity": "domain-google.com", "role": "READER"}]
    shown = ask(emulator, "PATCH", f"{path}?projection=full", {"acl": entries}).json()
    assert [(each["entity"], each["domain"]) for each in shown["acl"]] == [
        ("domain-google.com", "google.com")
    ]
    assert "acl" not in ask(emulator, "GET", path).json()
    objects = f"{BUCKETS}/{bucket.name}/o"
    assert "acl" not in ask(emulator, "GET", objects).json()["items"][0]
    (listed,) = ask(emulator, "GET", f"{objects}?projection=full").json()["items"]
    assert [each["entity"] for each in listed["acl"]] == ["domain-google.com"]


def test_uniform_access_hides_the_lists_and_keeps_them(bucket: Any) -> None:
    bucket.acl.all().grant_read()
    bucket.acl.save()
    before = list(bucket.acl)
    bucket.iam_configuration.uniform_bucket_level_access_enabled = True
    bucket.patch()
    with pytest.raises(BadRequest, match="uniform bucket-level access"):
        bucket.acl.reload()
    bucket.iam_configuration.uniform_bucket_level_access_enabled = False
    bucket.patch()
    bucket.acl.reload()
    assert list(bucket.acl) == before


@pytest.mark.parity("Cloud Storage: access control lists")
def test_public_access_prevention_refuses_everybody(bucket: Any) -> None:
    bucket.iam_configuration.public_access_prevention = "enforced"
    bucket.patch()
    with pytest.raises(PreconditionFailed, match="public access prevention"):
        bucket.blob("o").upload_from_string("x", predefined_acl="publicRead")
    bucket.acl.all().grant_read()
    with pytest.raises(PreconditionFailed, match="names allUsers"):
        bucket.acl.save()


def test_a_list_of_what_does_not_exist(bucket: Any) -> None:
    with pytest.raises(NotFound):
        bucket.blob("missing").acl.reload()


def test_put_creates_an_entry(emulator: Daemon, bucket: Any) -> None:
    path = f"{BUCKETS}/{bucket.name}/acl/user-a@example.com"
    assert ask(emulator, "PUT", path, {"role": "READER"}).json()["role"] == "READER"
    other = f"{BUCKETS}/{bucket.name}/acl/user-b@example.com"
    assert ask(emulator, "PATCH", other, {"role": "READER"}).status == 404
