"""Packages, versions, tags, files and images as views of pushed images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.emulated.registries.artifacts import (
    HOST,
    INDEX,
    MANIFEST,
    PARENT,
    ask,
    create,
    push,
    push_blob,
    push_index,
    push_manifest,
    refused,
)
from vertex_emulator.daemon.daemon import Daemon

IMMUTABLE = {"dockerConfig": {"immutableTags": True}}


def at(repository: str, rest: str = "") -> str:
    return f"/v1/{PARENT}/repositories/{repository}{rest}"


def uri(repository: str, image: str = "team/trainer") -> str:
    return f"{HOST}/local/{repository}/{image}"


PACKAGE = "/packages/team%2Ftrainer"


# --- what is shown


def test_a_package(emulator: Daemon, repository: str) -> None:
    push(emulator, uri(repository), "v1")
    found = ask(emulator, "GET", at(repository, PACKAGE)).json()
    assert found["name"] == f"{PARENT}/repositories/{repository}{PACKAGE}"
    assert found["createTime"] <= found["updateTime"]


def test_a_version_in_the_basic_view(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository), "v1")
    path = at(repository, f"{PACKAGE}/versions/{pushed.digest}")
    found = ask(emulator, "GET", path).json()
    assert found["name"] == path.removeprefix("/v1/")
    assert "relatedTags" not in found


@pytest.mark.parity("Artifact Registry: repositories, packages, versions, tags")
def test_a_version_in_full(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository), "v1", "v2")
    path = at(repository, f"{PACKAGE}/versions/{pushed.digest}")
    found = ask(emulator, "GET", f"{path}?view=FULL").json()
    assert [each["name"].rpartition("/")[2] for each in found["relatedTags"]] == ["v1", "v2"]
    assert found["metadata"] == {
        "name": f"{PARENT}/repositories/{repository}/dockerImages/team%2Ftrainer@{pushed.digest}",
        "mediaType": MANIFEST,
        "imageSizeBytes": str(pushed.config_size + pushed.layer_size),
        "buildTime": "2026-01-02T03:04:05.678901Z",
    }


def test_a_tag(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository), "v1")
    package = f"{PARENT}/repositories/{repository}{PACKAGE}"
    assert ask(emulator, "GET", f"/v1/{package}/tags/v1").json() == {
        "name": f"{package}/tags/v1",
        "version": f"{package}/versions/{pushed.digest}",
    }


def test_an_image(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository), "v1")
    path = at(repository, f"/dockerImages/team%2Ftrainer@{pushed.digest}")
    found = ask(emulator, "GET", path).json()
    assert found["uri"] == f"{uri(repository)}@{pushed.digest}"
    assert found["tags"] == ["v1"]
    assert found["imageSizeBytes"] == str(pushed.config_size + pushed.layer_size)


@pytest.mark.parametrize(
    "created", [None, 7, "yesterday", "2026-13-45T00:00:00Z", "0001-01-01T00:00:00+14:00"]
)
def test_an_image_without_a_build_time(emulator: Daemon, repository: str, created: Any) -> None:
    push(emulator, uri(repository), "v1", config={"created": created})
    (image,) = ask(emulator, "GET", at(repository, "/dockerImages")).json()["dockerImages"]
    assert "buildTime" not in image


def test_an_index_of_images(emulator: Daemon, repository: str) -> None:
    part = push(emulator, uri(repository))
    whole = push_index(emulator, uri(repository), "v1", images=[part])
    path = at(repository, f"/dockerImages/team%2Ftrainer@{whole.digest}")
    found = ask(emulator, "GET", path).json()
    assert (found["mediaType"], found["imageSizeBytes"]) == (INDEX, str(part.config_size + part.layer_size))
    assert found["imageManifests"] == [
        {"architecture": "amd64", "os": "linux", "digest": part.digest, "mediaType": MANIFEST}
    ]


def test_files_are_counted_once(emulator: Daemon, repository: str) -> None:
    first = push(emulator, uri(repository), "v1")
    push(emulator, uri(repository, "other"), "v1")
    files = ask(emulator, "GET", at(repository, "/files")).json()["files"]
    size = sum(int(each["sizeBytes"]) for each in files)
    assert (len(files), size) == (3, len(first.manifest) + first.config_size + first.layer_size)
    assert ask(emulator, "GET", at(repository)).json()["sizeBytes"] == str(size)


def test_a_file(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository), "v1")
    found = ask(emulator, "GET", at(repository, f"/files/{pushed.digest}")).json()
    assert found["owner"].endswith(f"{PACKAGE}/versions/{pushed.digest}")
    assert found["hashes"][0]["type"] == "SHA256"


@pytest.mark.parametrize(
    "rest",
    [
        "/packages/none",
        "/packages/none/versions/sha256:00",
        "/packages/none/tags/v1",
        "/packages/none/versions",
        "/packages/none/tags",
        "/files/none",
        f"/dockerImages/none@sha256:{'0' * 64}",
    ],
)
def test_a_missing_item(emulator: Daemon, repository: str, rest: str) -> None:
    assert refused(emulator, "GET", at(repository, rest))[:2] == (404, "NOT_FOUND")


@pytest.mark.parametrize("rest", ["/packages", "/files", "/dockerImages"])
def test_a_new_repository_is_empty(emulator: Daemon, repository: str, rest: str) -> None:
    assert ask(emulator, "GET", at(repository, rest)).json() == {}


@pytest.mark.parity("Artifact Registry: repositories, packages, versions, tags")
@pytest.mark.parametrize("rest", ["/packages", "/files"])
def test_a_repository_of_another_format_is_empty(
    emulator: Daemon, make: Callable[..., str], rest: str
) -> None:
    assert ask(emulator, "GET", at(make(format="PYTHON"), rest)).json() == {}


def test_images_of_another_format(emulator: Daemon, make: Callable[..., str]) -> None:
    assert refused(emulator, "GET", at(make(format="PYTHON"), "/dockerImages"))[0] == 400


def test_an_image_by_its_tag(emulator: Daemon, repository: str) -> None:
    assert refused(emulator, "GET", at(repository, "/dockerImages/a:v1"))[0] == 400


# --- lists


@pytest.mark.parametrize(
    ("collection", "query", "expected"),
    [
        pytest.param("packages", "filter=name%3D%22*/packages/a*%22", ["a"], id="packages"),
        pytest.param("packages", "orderBy=name%20desc", ["b", "a"], id="packages in order"),
        pytest.param("packages/a/tags", "filter=name%3D%22*/v1%22", ["v1"], id="tags"),
        pytest.param("packages/a/tags", "pageSize=1", ["v1"], id="a page of tags"),
    ],
)
def test_a_list(emulator: Daemon, repository: str, collection: str, query: str, expected: list[str]) -> None:
    push(emulator, uri(repository, "b"), "v1")
    push(emulator, uri(repository, "a"), "v1", "v2")
    answer = ask(emulator, "GET", at(repository, f"/{collection}?{query}")).json()
    found = answer[collection.rpartition("/")[2]]
    assert [each["name"].rpartition("/")[2] for each in found] == expected


def test_tags_of_a_version(emulator: Daemon, repository: str) -> None:
    push(emulator, uri(repository), "v1")
    other = push(emulator, uri(repository), "v2", layer=b"other")
    version = f"{PARENT}/repositories/{repository}{PACKAGE}/versions/{other.digest}"
    path = at(
        repository, f'{PACKAGE}/tags?filter=version%3D"{version.replace("%", "%25")}"'.replace('"', "%22")
    )
    assert [each["name"].rpartition("/")[2] for each in ask(emulator, "GET", path).json()["tags"]] == ["v2"]


def test_files_of_a_version(emulator: Daemon, repository: str) -> None:
    push(emulator, uri(repository, "b"), "v1")
    other = push(emulator, uri(repository, "a"), "v2", layer=b"other")
    path = at(repository, f"/files?filter=owner%3D%22*/packages/a/versions/{other.digest}%22")
    files = ask(emulator, "GET", path).json()["files"]
    assert other.digest in [each["name"].rpartition("/")[2] for each in files]
    assert len(files) == 2  # the configuration came with the other image


def test_versions_in_pages_in_order_of_time(emulator: Daemon, repository: str) -> None:
    wanted = [push(emulator, uri(repository), layer=bytes([n])).digest for n in range(5)]
    found, token = [], ""
    while True:
        query = f"pageSize=2&orderBy=create_time%20desc&pageToken={token}"
        answer = ask(emulator, "GET", at(repository, f"{PACKAGE}/versions?{query}")).json()
        found += [each["name"].rpartition("/")[2] for each in answer["versions"]]
        token = answer.get("nextPageToken", "")
        if not token:
            break
    assert found == wanted[::-1]


@pytest.mark.parametrize("field", ["uploadTime", "image_size_bytes", "name desc", "mediaType", "build_time"])
def test_images_in_order(emulator: Daemon, repository: str, field: str) -> None:
    push(emulator, uri(repository), "v1")
    push(emulator, uri(repository), "v2", layer=b"longer than the other")
    answer = ask(emulator, "GET", at(repository, f"/dockerImages?orderBy={field.replace(' ', '%20')}"))
    assert len(answer.json()["dockerImages"]) == 2


# --- annotations


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("annotations.stage", True),
        ("annotations.stage:prod", True),
        ("annotations.st*:*od", True),
        ("annotations.`stage`:`prod`", True),
        ("annotations.stage:test", False),
        ("annotations.other", False),
    ],
)
def test_packages_by_annotation(emulator: Daemon, repository: str, query: str, is_found: bool) -> None:
    push(emulator, uri(repository, "a"), "v1")
    path = at(repository, "/packages/a?updateMask=annotations")
    assert ask(emulator, "PATCH", path, {"annotations": {"stage": "prod"}}).status == 200
    answer = ask(emulator, "GET", at(repository, f"/packages?filter={query.replace('`', '%60')}")).json()
    assert bool(answer.get("packages")) == is_found


def test_annotations_are_deleted_with_their_version(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository))
    path = at(repository, f"{PACKAGE}/versions/{pushed.digest}")
    found = ask(emulator, "PATCH", path, {"annotations": {"a": "b"}}).json()
    assert found["annotations"] == {"a": "b"}
    ask(emulator, "DELETE", path)
    push(emulator, uri(repository))
    assert "annotations" not in ask(emulator, "GET", path).json()


@pytest.mark.parametrize("mask", ["colour", "annotations.a"])
def test_invalid_annotations(emulator: Daemon, repository: str, mask: str) -> None:
    push(emulator, uri(repository, "a"), "v1")
    assert refused(emulator, "PATCH", at(repository, f"/packages/a?updateMask={mask}"), {})[0] == 400


# --- tags


def tag_body(repository: str, digest: str, package: str = PACKAGE) -> dict[str, str]:
    return {"version": f"{PARENT}/repositories/{repository}{package}/versions/{digest}"}


def test_a_new_tag_can_be_pulled(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository))
    body = tag_body(repository, pushed.digest)
    ask(emulator, "POST", at(repository, f"{PACKAGE}/tags?tagId=best"), body)
    answer = ask(emulator, "GET", f"/v2/{uri(repository)}/manifests/best")
    assert answer.headers["Docker-Content-Digest"] == pushed.digest


def test_a_tag_is_moved(emulator: Daemon, repository: str) -> None:
    push(emulator, uri(repository), "v1")
    other = push(emulator, uri(repository), layer=b"other")
    path = at(repository, f"{PACKAGE}/tags/v1")
    ask(emulator, "PATCH", f"{path}?updateMask=version", tag_body(repository, other.digest))
    assert ask(emulator, "GET", path).json()["version"].endswith(other.digest)


def test_deleting_a_tag_keeps_its_version(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository), "v1")
    assert ask(emulator, "DELETE", at(repository, f"{PACKAGE}/tags/v1")).json() == {}
    assert ask(emulator, "GET", at(repository, f"{PACKAGE}/versions/{pushed.digest}")).status == 200


@pytest.mark.parametrize(
    ("tag", "digest", "expected"),
    [
        pytest.param("v1", None, (409, "ALREADY_EXISTS"), id="it is there"),
        pytest.param("a b", None, (400, "INVALID_ARGUMENT"), id="no tag"),
        pytest.param("", None, (400, "INVALID_ARGUMENT"), id="nothing"),
        pytest.param("a" * 129, None, (400, "INVALID_ARGUMENT"), id="too long"),
        pytest.param("v2", "sha256:00", (404, "NOT_FOUND"), id="no such version"),
    ],
)
def test_an_invalid_tag(
    emulator: Daemon, repository: str, tag: str, digest: str | None, expected: tuple[int, str]
) -> None:
    pushed = push(emulator, uri(repository), "v1")
    path = at(repository, f"{PACKAGE}/tags?tagId={tag.replace(' ', '%20')}")
    assert refused(emulator, "POST", path, tag_body(repository, digest or pushed.digest))[:2] == expected


def test_a_tag_for_the_version_of_another_package(emulator: Daemon, repository: str) -> None:
    push(emulator, uri(repository), "v1")
    pushed = push(emulator, uri(repository, "other"), "v1")
    body = tag_body(repository, pushed.digest, "/packages/other")
    assert refused(emulator, "POST", at(repository, f"{PACKAGE}/tags?tagId=v2"), body)[0] == 400


# --- deletions


def test_deleting_a_version_with_tags_requires_force(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository), "v1")
    path = at(repository, f"{PACKAGE}/versions/{pushed.digest}")
    assert refused(emulator, "DELETE", path)[1] == "FAILED_PRECONDITION"
    assert ask(emulator, "DELETE", f"{path}?force=true").json()["done"]
    assert ask(emulator, "GET", f"/v2/{uri(repository)}/manifests/v1").status == 404


def test_a_part_of_an_index_is_not_deleted(emulator: Daemon, repository: str) -> None:
    part = push(emulator, uri(repository))
    push_index(emulator, uri(repository), "v1", images=[part])
    path = at(repository, f"{PACKAGE}/versions/{part.digest}")
    assert refused(emulator, "DELETE", path)[1] == "FAILED_PRECONDITION"


def batch(emulator: Daemon, repository: str, *digests: str, **fields: Any) -> dict[str, Any]:
    names = [f"{PARENT}/repositories/{repository}{PACKAGE}/versions/{each}" for each in digests]
    path = at(repository, f"{PACKAGE}/versions:batchDelete")
    answer = ask(emulator, "POST", path, {"names": names, **fields})
    return answer.json()


def test_many_versions_at_once(emulator: Daemon, repository: str) -> None:
    part = push(emulator, uri(repository))
    whole = push_index(emulator, uri(repository), "v1", images=[part])
    answer = batch(emulator, repository, part.digest, whole.digest, "sha256:00")
    assert [each.rpartition("/")[2] for each in answer["metadata"]["failedVersions"]] == ["sha256:00"]
    assert ask(emulator, "GET", at(repository, "/packages")).json() == {}


def test_many_versions_only_checked(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, uri(repository), "v1")
    assert batch(emulator, repository, pushed.digest, validateOnly=True)["done"]
    assert ask(emulator, "GET", at(repository, PACKAGE)).status == 200


@pytest.mark.parametrize("names", [[], ["x"], [f"{PARENT}/repositories/other/packages/p/versions/v"]])
def test_an_invalid_batch(emulator: Daemon, repository: str, names: list[str]) -> None:
    path = at(repository, f"{PACKAGE}/versions:batchDelete")
    assert refused(emulator, "POST", path, {"names": names})[0] == 400


def test_a_package_with_all_its_versions(emulator: Daemon, repository: str) -> None:
    push(emulator, uri(repository), "v1")
    push(emulator, uri(repository), layer=b"other")
    push(emulator, uri(repository, "kept"), "v1")
    assert ask(emulator, "DELETE", at(repository, PACKAGE)).json()["done"]
    packages = ask(emulator, "GET", at(repository, "/packages")).json()["packages"]
    assert [each["name"].rpartition("/")[2] for each in packages] == ["kept"]


# --- pushes


def test_a_push_needs_a_repository(emulator: Daemon) -> None:
    answer = push_blob(emulator, uri("none"), b"x")
    assert (answer.status, answer.json()["errors"][0]["code"]) == (404, "NAME_UNKNOWN")


def test_a_push_to_a_repository_of_another_format(emulator: Daemon, make: Callable[..., str]) -> None:
    answer = push_blob(emulator, uri(make(format="PYTHON")), b"x")
    assert (answer.status, answer.json()["errors"][0]["code"]) == (400, "UNSUPPORTED")


def test_a_push_to_another_host_needs_no_repository(emulator: Daemon) -> None:
    assert push_blob(emulator, "gcr.io/local/images/trainer", b"x").status == 201


def test_a_short_name_finds_the_only_repository(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, f"local/{repository}/trainer", "v1")
    found = ask(emulator, "GET", at(repository, "/dockerImages")).json()["dockerImages"]
    assert [each["uri"] for each in found] == [f"{uri(repository, 'trainer')}@{pushed.digest}"]


def test_an_ambiguous_short_name(emulator: Daemon, repository: str) -> None:
    create(emulator, repository, parent="projects/local/locations/us")
    assert push_blob(emulator, f"local/{repository}/trainer", b"x").status == 400


def test_the_project_of_a_domain(emulator: Daemon) -> None:
    create(emulator, "scoped", parent="projects/example.com:p/locations/us-central1")
    push(emulator, f"{HOST}/example.com/p/scoped/trainer", "v1")
    path = "/v1/projects/example.com:p/locations/us-central1/repositories/scoped/packages"
    assert len(ask(emulator, "GET", path).json()["packages"]) == 1


# --- immutable tags


@pytest.mark.parity("Artifact Registry: immutable tags")
def test_a_tag_is_not_moved_by_a_push(emulator: Daemon, make: Callable[..., str]) -> None:
    name = make(**IMMUTABLE)
    push(emulator, uri(name), "v1")
    other = push(emulator, uri(name), layer=b"other")
    answer = push_manifest(emulator, uri(name), "v1", other.manifest)
    assert (answer.status, answer.json()["errors"][0]["code"]) == (400, "TAG_INVALID")


def test_the_same_image_may_be_pushed_again(emulator: Daemon, make: Callable[..., str]) -> None:
    name = make(**IMMUTABLE)
    pushed = push(emulator, uri(name), "v1")
    assert push_manifest(emulator, uri(name), "v1", pushed.manifest).status == 201


@pytest.mark.parity("Artifact Registry: immutable tags", same="on a push, in the API, and in policies")
@pytest.mark.parametrize(
    ("method", "rest"),
    [
        pytest.param("DELETE", f"{PACKAGE}/tags/v1", id="delete a tag"),
        pytest.param("PATCH", f"{PACKAGE}/tags/v1", id="move a tag"),
        pytest.param("DELETE", f"{PACKAGE}/versions/DIGEST?force=true", id="delete a version"),
        pytest.param("DELETE", PACKAGE, id="delete a package"),
    ],
)
def test_immutable(emulator: Daemon, make: Callable[..., str], method: str, rest: str) -> None:
    name = make(**IMMUTABLE)
    pushed = push(emulator, uri(name), "v1")
    other = push(emulator, uri(name), layer=b"other")
    body = tag_body(name, other.digest) if method == "PATCH" else None
    answer = refused(emulator, method, at(name, rest.replace("DIGEST", pushed.digest)), body)
    assert answer[:2] == (400, "FAILED_PRECONDITION")


def test_a_batch_keeps_immutable_versions(emulator: Daemon, make: Callable[..., str]) -> None:
    name = make(**IMMUTABLE)
    pushed = push(emulator, uri(name), "v1")
    assert len(batch(emulator, name, pushed.digest)["metadata"]["failedVersions"]) == 1


def test_an_untagged_version_is_not_immutable(emulator: Daemon, make: Callable[..., str]) -> None:
    name = make(**IMMUTABLE)
    pushed = push(emulator, uri(name))
    assert ask(emulator, "DELETE", at(name, f"{PACKAGE}/versions/{pushed.digest}")).status == 200


def test_a_tag_is_not_deleted_by_a_container_tool(emulator: Daemon, make: Callable[..., str]) -> None:
    name = make(**IMMUTABLE)
    push(emulator, uri(name), "v1")
    assert ask(emulator, "DELETE", f"/v2/{uri(name)}/manifests/v1").status == 400
