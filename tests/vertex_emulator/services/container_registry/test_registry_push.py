"""Pushes, by the OCI distribution specification 1.1 ("Push")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.emulated.registries.registry import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    RegistryClient,
    codes,
    descriptor,
    index,
    manifest,
    new_name,
    sha256,
    sha512,
)
from vertex_emulator.daemon.daemon import Daemon

A, B = b"a" * 1000, b"b" * 500
ABSENT = sha256(b"nobody pushed this")


# Blobs


def test_an_upload_begins_with_a_location(registry: RegistryClient) -> None:
    answer = registry.ask("POST", "blobs/uploads/")
    assert answer.status == 202
    assert answer.headers["Location"].endswith(answer.headers["Docker-Upload-UUID"])


@pytest.mark.parity(
    "Artifact Registry: the registry of images",
    same="every test of the specification's conformance suite passes",
)
def test_post_then_put(registry: RegistryClient) -> None:
    answer = registry.finish(registry.begin(), sha256(A), A)
    assert answer.status == 201
    assert registry.ask("GET", answer.headers["Location"]).body == A


def test_one_post(registry: RegistryClient) -> None:
    answer = registry.ask("POST", f"blobs/uploads/?digest={sha256(A)}", body=A)
    assert answer.status == 201
    assert registry.ask("GET", answer.headers["Location"]).body == A


def test_one_post_of_another_digest_leaves_nothing(registry: RegistryClient) -> None:
    answer = registry.ask("POST", f"blobs/uploads/?digest={sha256(A)}", body=B)
    assert (answer.status, codes(answer)) == (400, ["DIGEST_INVALID"])
    assert registry.ask("GET", f"blobs/{sha256(A)}").status == 404


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT"])
def test_an_upload_deleted_during_a_request(
    emulator: Daemon, registry: RegistryClient, request: pytest.FixtureRequest, method: str
) -> None:
    """Delete the upload's file between the check of its record and the opening."""
    location = registry.begin()
    store, files = emulator.registry.registry.store, emulator.registry.registry.files

    def delete_file(step: str) -> None:
        assert step == "open upload"
        files.remove_upload(location.rpartition("/")[2])

    store.on_step = delete_file
    request.addfinalizer(lambda: setattr(store, "on_step", None))
    query = f"?digest={sha256(A)}" if method == "PUT" else ""
    answer = registry.ask(method, location + query, body=None if method == "GET" else A)
    assert (answer.status, codes(answer)) == (404, ["BLOB_UPLOAD_UNKNOWN"])


@pytest.mark.parametrize("last", ["in PATCH", "in PUT"])
def test_in_chunks(registry: RegistryClient, last: str) -> None:
    location = registry.begin()
    first = registry.ask("PATCH", location, body=A, Content_Range="0-999")
    assert (first.status, first.headers["Range"]) == (202, "0-999")
    if last == "in PATCH":
        second = registry.ask("PATCH", first.headers["Location"], body=B, Content_Range="1000-1499")
        assert (second.status, second.headers["Range"]) == (202, "0-1499")
        answer = registry.finish(second.headers["Location"], sha256(A + B))
    else:
        answer = registry.finish(first.headers["Location"], sha256(A + B), B, Content_Range="1000-1499")
    assert answer.status == 201
    assert registry.ask("GET", answer.headers["Location"]).body == A + B


def test_a_stream_without_ranges(registry: RegistryClient) -> None:
    location = registry.begin()
    for part in (A, B):
        location = registry.ask("PATCH", location, body=part).headers["Location"]
    assert registry.finish(location, sha256(A + B)).status == 201


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("1000-1499", id="begins too late"),
        pytest.param("500-999", id="comes again"),
        pytest.param("499-0", id="ends before it begins"),
        pytest.param("bytes 0-499/500", id="in the form of an answer"),
        pytest.param("0-", id="without end"),
        pytest.param("x", id="nonsense"),
        pytest.param("-1-5", id="negative"),
        pytest.param("9" * 400 + "-" + "9" * 401, id="very long"),
    ],
)
def test_a_chunk_out_of_order(registry: RegistryClient, header: str) -> None:
    location = registry.begin()
    if header == "500-999":
        registry.ask("PATCH", location, body=A, Content_Range="0-999")
    assert registry.ask("PATCH", location, body=B, Content_Range=header).status == 416


@pytest.mark.parametrize("header", ["0-998", "0-1000"])
def test_a_chunk_of_the_wrong_length(registry: RegistryClient, header: str) -> None:
    location = registry.begin()
    assert registry.ask("PATCH", location, body=A, Content_Range=header).status == 400
    assert registry.ask("PATCH", location, body=B, Content_Range="0-499").headers["Range"] == "0-499"


def test_the_status_after_a_chunk_out_of_order(registry: RegistryClient) -> None:
    location = registry.begin()
    registry.ask("PATCH", location, body=A, Content_Range="0-999")
    registry.ask("PATCH", location, body=B, Content_Range="2000-2499")
    status = registry.ask("GET", location)
    assert (status.status, status.headers["Range"]) == (204, "0-999")
    again = registry.ask("PATCH", status.headers["Location"], body=B, Content_Range="1000-1499")
    assert again.status == 202


def test_a_cancelled_upload_is_gone(registry: RegistryClient) -> None:
    location = registry.begin()
    assert registry.ask("DELETE", location).status == 204
    assert codes(registry.ask("GET", location)) == ["BLOB_UPLOAD_UNKNOWN"]


def test_a_finished_upload_is_gone(registry: RegistryClient) -> None:
    location = registry.begin()
    registry.finish(location, sha256(A), A)
    assert registry.finish(location, sha256(A), A).status == 404


def test_an_upload_belongs_to_its_repository(registry: RegistryClient) -> None:
    upload = registry.begin().rsplit("/", 1)[1]
    assert registry.at(new_name()).ask("GET", f"blobs/uploads/{upload}").status == 404


@pytest.mark.parametrize("identifier", ["x", "..%2f..%2ftoken", "%00", "a" * 5000, "0" * 36])
def test_an_unknown_upload(registry: RegistryClient, identifier: str) -> None:
    assert registry.ask("PATCH", f"blobs/uploads/{identifier}", body=A).status == 404


@pytest.mark.parametrize(
    "digest", ["", "x", "sha256:x", "md5:d41d8cd98f00b204e9800998ecf8427e", sha256(B), sha512(B)]
)
def test_a_blob_with_another_digest(registry: RegistryClient, digest: str) -> None:
    assert registry.finish(registry.begin(), digest, A).status == 400


def test_a_blob_without_a_digest(registry: RegistryClient) -> None:
    answer = registry.ask("PUT", registry.begin(), body=A)
    assert (answer.status, codes(answer)) == (400, ["DIGEST_INVALID"])


@pytest.mark.parametrize("source", ["named", "left out"])
def test_a_blob_is_mounted(registry: RegistryClient, source: str) -> None:
    content = f"mounted with its source {source}".encode()
    digest, other = registry.push_blob(content), registry.at(new_name())
    named = f"&from={registry.name}" if source == "named" else ""
    answer = other.ask("POST", f"blobs/uploads/?mount={digest}{named}")
    assert answer.status == 201
    assert other.ask("GET", answer.headers["Location"]).body == content


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(f"mount={ABSENT}&from=docker.io/tests/nothing", id="of nobody"),
        pytest.param(f"mount={ABSENT}", id="not there"),
        pytest.param(f"mount={sha256(A)}&from=NOT%20A%20NAME", id="from no name"),
        pytest.param(f"mount={sha256(A)}&from=docker.io/tests/nothing", id="from a repository without it"),
    ],
)
def test_a_failed_mount_begins_an_upload(registry: RegistryClient, query: str) -> None:
    registry.at(new_name()).push_blob(A)
    answer = registry.ask("POST", f"blobs/uploads/?{query}")
    assert answer.status == 202
    assert registry.finish(answer.headers["Location"], sha256(B), B).status == 201


# Manifests


@pytest.fixture
def stocked(registry: RegistryClient) -> RegistryClient:
    """Return a repository with the blobs b"{}", A and B."""
    for content in (b"{}", A, B):
        registry.push_blob(content)
    return registry


@pytest.mark.parametrize("media_type", [OCI_MANIFEST, DOCKER_MANIFEST])
def test_an_image_keeps_its_type(stocked: RegistryClient, media_type: str) -> None:
    content = manifest([descriptor(A), descriptor(B)], media_type=media_type)
    answer = stocked.put_manifest("v1", content, media_type)
    assert answer.status == 201
    assert answer.headers["Docker-Content-Digest"] == sha256(content)
    assert stocked.ask("GET", answer.headers["Location"]).headers["Content-Type"] == media_type


@pytest.mark.parametrize("media_type", [OCI_INDEX, DOCKER_LIST])
def test_an_index_keeps_its_type(stocked: RegistryClient, media_type: str) -> None:
    image = manifest([descriptor(A)])
    stocked.put_manifest(sha256(image), image)
    answer = stocked.put_manifest(
        "v1", index([descriptor(image, OCI_MANIFEST)], media_type=media_type), media_type
    )
    assert answer.status == 201
    assert stocked.ask("GET", "manifests/v1").headers["Content-Type"] == media_type


def test_parameters_of_the_media_type_are_ignored(stocked: RegistryClient) -> None:
    stocked.put_manifest("v1", manifest(), f"{OCI_MANIFEST}; charset=utf-8")
    assert stocked.ask("GET", "manifests/v1").headers["Content-Type"] == OCI_MANIFEST


def test_a_manifest_without_layers(stocked: RegistryClient) -> None:
    assert stocked.put_manifest("v1", manifest()).status == 201


@pytest.mark.parametrize("digest", [sha256, sha512])
def test_a_manifest_by_its_digest(stocked: RegistryClient, digest: Any) -> None:
    content = manifest([descriptor(A)])
    answer = stocked.put_manifest(digest(content), content)
    assert answer.headers["Docker-Content-Digest"] == digest(content)
    assert stocked.ask("GET", f"manifests/{digest(content)}").body == content


def test_a_manifest_by_another_digest(stocked: RegistryClient) -> None:
    answer = stocked.put_manifest(ABSENT, manifest())
    assert (answer.status, codes(answer)) == (400, ["DIGEST_INVALID"])


def test_a_tag_moves(stocked: RegistryClient) -> None:
    for layer in (A, B):
        stocked.put_manifest("v1", manifest([descriptor(layer)]))
    assert stocked.ask("GET", "manifests/v1").body == manifest([descriptor(B)])


def test_a_missing_blob_is_named(stocked: RegistryClient) -> None:
    answer = stocked.put_manifest("v1", manifest([descriptor(b"never pushed")]))
    assert (answer.status, codes(answer)) == (404, ["MANIFEST_BLOB_UNKNOWN"])
    assert answer.json()["errors"][0]["detail"] == [{"digest": sha256(b"never pushed")}]


def test_a_missing_config_is_named(registry: RegistryClient) -> None:
    assert codes(registry.put_manifest("v1", manifest())) == ["MANIFEST_BLOB_UNKNOWN"]


def test_a_missing_image_of_an_index_is_named(registry: RegistryClient) -> None:
    answer = registry.put_manifest("v1", index([descriptor(b"image", OCI_MANIFEST)]), OCI_INDEX)
    assert codes(answer) == ["MANIFEST_BLOB_UNKNOWN"]


@pytest.mark.parametrize(
    "media_type",
    [
        "application/vnd.oci.image.layer.nondistributable.v1.tar",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
    ],
)
def test_a_non_distributable_layer_is_not_required(stocked: RegistryClient, media_type: str) -> None:
    layer = descriptor(b"elsewhere", media_type) | {"urls": ["https://example.com/layer"]}
    assert stocked.put_manifest("v1", manifest([layer])).status == 201


def test_a_wrong_size(stocked: RegistryClient) -> None:
    answer = stocked.put_manifest("v1", manifest([descriptor(A) | {"size": 1}]))
    assert (answer.status, codes(answer)) == (400, ["SIZE_INVALID"])


def padded(size: int) -> bytes:
    bare = manifest(annotations={"a": ""})
    return manifest(annotations={"a": "x" * (size - len(bare))})


@pytest.mark.parametrize(("size", "status"), [(4 * 1024 * 1024, 201), (4 * 1024 * 1024 + 1, 413)])
def test_the_largest_manifest(stocked: RegistryClient, size: int, status: int) -> None:
    assert stocked.put_manifest("v1", padded(size)).status == status


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="not JSON"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="without schemaVersion"),
        pytest.param(b'{"schemaVersion":1}', id="schema 1"),
        pytest.param(b'{"schemaVersion":2}', id="without config"),
        pytest.param(b"[" * 200_000, id="nested deeply"),
        pytest.param(manifest(layers=None or [], config={"digest": 1}), id="a number as digest"),
        pytest.param(manifest([{"digest": ABSENT}]), id="without size"),
        pytest.param(manifest([descriptor(A) | {"size": -1}]), id="negative size"),
        pytest.param(manifest([descriptor(A) | {"size": True}]), id="true as size"),
        pytest.param(manifest([descriptor(A, digest="sha256:x")]), id="malformed digest"),
        pytest.param(manifest([descriptor(A) | {"mediaType": 5}]), id="a number as type"),
        pytest.param(manifest(annotations=[]), id="annotations as a list"),
        pytest.param(manifest(annotations={"a": 1}), id="a number as annotation"),
        pytest.param(manifest(artifactType=3), id="a number as artifactType"),
        pytest.param(manifest(subject={}), id="a subject without digest"),
        pytest.param(manifest(subject="x"), id="a word as subject"),
        pytest.param(manifest(manifests=[]), id="an image with manifests"),
        pytest.param(manifest(media_type=DOCKER_MANIFEST), id="another type than the header"),
        pytest.param(json.dumps({"schemaVersion": 2, "layers": 1}).encode(), id="layers as a number"),
    ],
)
def test_an_invalid_manifest(stocked: RegistryClient, content: bytes) -> None:
    answer = stocked.put_manifest("v1", content)
    assert (answer.status, codes(answer)) == (400, ["MANIFEST_INVALID"])
    assert stocked.ask("GET", "manifests/v1").status == 404


def test_an_index_with_layers_is_invalid(stocked: RegistryClient) -> None:
    assert codes(stocked.put_manifest("v1", index([], layers=[]), OCI_INDEX)) == ["MANIFEST_INVALID"]


def test_an_unsupported_media_type(stocked: RegistryClient) -> None:
    answer = stocked.put_manifest("v1", manifest(), "application/vnd.docker.distribution.manifest.v1+json")
    assert (answer.status, codes(answer)) == (415, ["MANIFEST_INVALID"])


@pytest.mark.parametrize("tag", ["-v1", ".v1", "a" * 129, "v%201", "%2e%2e", "a%2fb", "%ff", "a+b"])
def test_an_invalid_tag(stocked: RegistryClient, tag: str) -> None:
    assert stocked.put_manifest(tag, manifest()).status == 400


@pytest.mark.parametrize("tag", ["_v1", "V1.2-rc_3", "a" * 128, "0"])
def test_a_tag(stocked: RegistryClient, tag: str) -> None:
    assert stocked.put_manifest(tag, manifest()).status == 201


@pytest.mark.parametrize(
    "name", ["docker.io/A", "docker.io/a//b", "docker.io/a%2fb", "docker.io/-a", "x." + "a" * 300]
)
def test_an_invalid_name(registry: RegistryClient, name: str) -> None:
    answer = registry.at(name).ask("POST", "blobs/uploads/")
    assert (answer.status, codes(answer)) == (400, ["NAME_INVALID"])


def test_the_response_names_the_subject(stocked: RegistryClient) -> None:
    subject = descriptor(b"not there yet", OCI_MANIFEST)
    answer = stocked.put_manifest("v1", manifest(subject=subject))
    assert answer.status == 201
    assert answer.headers["OCI-Subject"] == subject["digest"]


def test_no_subject_no_header(stocked: RegistryClient) -> None:
    assert "OCI-Subject" not in stocked.put_manifest("v1", manifest()).headers
