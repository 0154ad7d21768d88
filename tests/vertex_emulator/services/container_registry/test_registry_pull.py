"""Pulls, by the OCI distribution specification 1.1 ("Pull")."""

from __future__ import annotations

import json

import pytest

from support.emulated.emulator import Answer, call
from support.emulated.registries.registry import (
    OCI_MANIFEST,
    RegistryClient,
    codes,
    descriptor,
    manifest,
    sha256,
    sha512,
)
from vertex_emulator.daemon.daemon import Daemon

DATA = bytes(range(256)) * 4
ABSENT = sha256(b"nobody pushed this")


@pytest.mark.parametrize(
    ("method", "status"), [pytest.param("GET", 200, id="get"), pytest.param("HEAD", 200, id="head")]
)
def test_a_blob_is_there(registry: RegistryClient, method: str, status: int) -> None:
    digest = registry.push_blob(DATA)
    answer = registry.ask(method, f"blobs/{digest}")
    assert answer.status == status
    assert answer.headers["Docker-Content-Digest"] == digest
    assert answer.headers["Content-Length"] == str(len(DATA))
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.body == (DATA if method == "GET" else b"")


def test_a_blob_by_sha512(registry: RegistryClient) -> None:
    digest = registry.push_blob(DATA, digest=sha512(DATA))
    assert registry.ask("GET", f"blobs/{digest}").body == DATA


def test_an_empty_blob(registry: RegistryClient) -> None:
    assert registry.ask("GET", f"blobs/{registry.push_blob(b'')}").body == b""


@pytest.mark.parity("Artifact Registry: the registry of images")
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("kind", ["blobs", "manifests"])
def test_missing_content(registry: RegistryClient, method: str, kind: str) -> None:
    assert registry.ask(method, f"{kind}/{ABSENT}").status == 404


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param(f"blobs/{ABSENT}", "BLOB_UNKNOWN", id="blob"),
        pytest.param(f"manifests/{ABSENT}", "MANIFEST_UNKNOWN", id="manifest by digest"),
        pytest.param("manifests/nothing", "MANIFEST_UNKNOWN", id="manifest by tag"),
    ],
)
def test_the_code_of_missing_content(registry: RegistryClient, path: str, code: str) -> None:
    assert codes(registry.ask("GET", path)) == [code]


NO_TAGS = [
    pytest.param(".INVALID_MANIFEST_NAME", id="begins with a dot"),
    pytest.param("a" * 129, id="too long"),
    pytest.param("v1%2B2", id="a plus"),
]
"""Invalid tags. The first one is in the specification's conformance suite."""


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
@pytest.mark.parametrize("tag", NO_TAGS)
def test_an_invalid_tag_is_not_found(registry: RegistryClient, method: str, tag: str) -> None:
    assert registry.ask(method, f"manifests/{tag}").status == 404


@pytest.mark.parametrize("tag", NO_TAGS)
def test_the_code_of_an_invalid_tag(registry: RegistryClient, tag: str) -> None:
    assert codes(registry.ask("GET", f"manifests/{tag}")) == ["MANIFEST_UNKNOWN"]


def test_a_blob_of_another_repository_is_not_there(registry: RegistryClient) -> None:
    digest = registry.push_blob(b"only in the other")
    assert registry.at("docker.io/tests/without").ask("GET", f"blobs/{digest}").status == 404


@pytest.mark.parametrize(
    "digest",
    [
        pytest.param("sha256:totallywrong", id="not hexadecimal"),
        pytest.param("sha256:" + "a" * 63, id="too short"),
        pytest.param("sha256:" + "A" * 64, id="upper case"),
        pytest.param("md5:" + "a" * 32, id="another algorithm"),
        pytest.param("sha512:" + "a" * 64, id="the other's length"),
        pytest.param("sha256", id="no digest"),
        pytest.param("..%2F..%2Ftoken", id="a path"),
    ],
)
def test_a_malformed_digest(registry: RegistryClient, digest: str) -> None:
    assert registry.ask("GET", f"blobs/{digest}").status == 400


@pytest.mark.parametrize("kind", ["manifests", "referrers"])
def test_a_malformed_digest_elsewhere(registry: RegistryClient, kind: str) -> None:
    assert registry.ask("GET", f"{kind}/sha256:totallywrong").status == 400


@pytest.mark.parametrize(
    ("header", "part"),
    [
        pytest.param("bytes=0-9", slice(0, 10), id="first bytes"),
        pytest.param("bytes=100-199", slice(100, 200), id="in the middle"),
        pytest.param("bytes=1000-", slice(1000, 1024), id="from there on"),
        pytest.param("bytes=-10", slice(1014, 1024), id="last bytes"),
        pytest.param("bytes=1000-5000", slice(1000, 1024), id="beyond the end"),
        pytest.param("bytes=-5000", slice(0, 1024), id="more last bytes than there are"),
    ],
)
def test_a_part_of_a_blob(registry: RegistryClient, header: str, part: slice) -> None:
    digest = registry.push_blob(DATA)
    answer = registry.ask("GET", f"blobs/{digest}", Range=header)
    assert (answer.status, answer.body) == (206, DATA[part])
    assert answer.headers["Content-Range"] == f"bytes {part.start}-{part.stop - 1}/1024"


@pytest.mark.parametrize("header", ["bytes=1024-", "bytes=5000-6000", "bytes=-0", "bytes=5-1", "bytes=500-0"])
def test_a_range_outside_of_the_blob(registry: RegistryClient, header: str) -> None:
    answer = registry.ask("GET", f"blobs/{registry.push_blob(DATA)}", Range=header)
    assert answer.status == 416
    assert answer.headers["Content-Range"] == "bytes */1024"


@pytest.mark.parametrize("header", ["bytes=a-b", "pages=1-2", "bytes=0-1,3-4", "bytes="])
def test_an_invalid_range_is_ignored(registry: RegistryClient, header: str) -> None:
    answer = registry.ask("GET", f"blobs/{registry.push_blob(DATA)}", Range=header)
    assert (answer.status, answer.body) == (200, DATA)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("by", ["tag", "digest"])
def test_a_manifest_is_there(registry: RegistryClient, method: str, by: str) -> None:
    digest = registry.push_image("v1", annotations={"by": by})
    answer = registry.ask(method, f"manifests/{'v1' if by == 'tag' else digest}")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == OCI_MANIFEST
    assert answer.headers["Docker-Content-Digest"] == digest
    assert answer.headers["Content-Length"] == str(
        len(manifest([descriptor(b"layer")], annotations={"by": by}))
    )


def test_a_manifest_has_the_bytes_that_were_pushed(registry: RegistryClient) -> None:
    registry.push_blob(b"{}")
    content = b"  " + manifest() + b"\n\n"
    registry.put_manifest("v1", content)
    assert registry.ask("GET", "manifests/v1").body == content


def test_a_digest_may_be_percent_encoded(registry: RegistryClient) -> None:
    digest = registry.push_image("v1")
    assert registry.ask("GET", f"manifests/{digest.replace(':', '%3A')}").status == 200


def ping(emulator: Daemon, **headers: str) -> Answer:
    return call(emulator.url, "GET", "/v2/", headers=headers)


def test_the_base_identifies_the_registry(emulator: Daemon) -> None:
    answer = ping(emulator, Authorization=f"Bearer {emulator.token}")
    assert answer.status == 200
    assert answer.headers["Docker-Distribution-Api-Version"] == "registry/2.0"
    assert json.loads(answer.body) == {}


@pytest.mark.parametrize("path", ["/v2/a/b/manifests", "/v2/x", "/v2/a/blobs/uploads/x/y", "/v2//tags/list"])
def test_an_unknown_path(registry: RegistryClient, path: str) -> None:
    answer = registry.ask("GET", path)
    assert 400 <= answer.status < 500
    assert codes(answer)


def test_a_method_that_a_path_does_not_allow(registry: RegistryClient) -> None:
    answer = registry.ask("POST", "tags/list")
    assert (answer.status, codes(answer)) == (405, ["UNSUPPORTED"])
