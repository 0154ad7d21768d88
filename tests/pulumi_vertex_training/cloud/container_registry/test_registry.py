"""The client of container registries against a small one that misbehaves on request."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import http as registry_http
from pulumi_vertex_training.cloud.container_registry import push as registry_push
from pulumi_vertex_training.cloud.container_registry.client import Manifest
from pulumi_vertex_training.cloud.container_registry.descriptors import Descriptor
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.container_registry.push import BlobUpload
from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.registries.oci_registry import SmallRegistry, digest_of

OCI = "application/vnd.oci.image.manifest.v1+json"
SECRET = "the-secret-token"


@pytest.fixture
def small() -> Iterator[SmallRegistry]:
    made = SmallRegistry()
    yield made
    made.close()


@pytest.fixture
def endpoint(small: SmallRegistry) -> Endpoint:
    """Return a Google endpoint; a registry on this machine gets plain HTTP and no Google credentials."""
    return Endpoint(kind="google", project="p", location=f"at-{small.host}", token=SECRET)


@pytest.fixture
def name(small: SmallRegistry) -> ImageName:
    return parse(f"{small.host}/p/trainers/digits")


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    path = tmp_path / "layer"
    path.write_bytes(os.urandom(300_000))
    return path


def file_part(path: Path) -> BlobUpload:
    return BlobUpload(digest=registry.file_digest(path), size=path.stat().st_size, content=path)


def bytes_part(content: bytes) -> BlobUpload:
    return BlobUpload(digest=digest_of(content), size=len(content), content=content)


def manifest_of(*parts: BlobUpload) -> Manifest:
    content = json.dumps({"layers": [part.digest for part in parts]}).encode()
    return Manifest(digest=digest_of(content), media_type=OCI, content=content)


def test_an_image_is_sent_whole(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, layer: Path
) -> None:
    parts = [file_part(layer), bytes_part(b"{}")]
    pushed = registry_push.push(endpoint, name, manifest_of(*parts), parts)
    assert pushed.sent_bytes == 300_002 == small.received
    assert small.blobs[name.path, parts[0].digest] == layer.read_bytes()
    assert registry.manifest(endpoint, name.at(manifest_of(*parts).digest)) == manifest_of(*parts)


def test_what_is_there_is_not_sent_again(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, layer: Path
) -> None:
    parts = [file_part(layer)]
    registry_push.push(endpoint, name, manifest_of(*parts), parts)
    small.asked.clear()
    assert registry_push.push(endpoint, name, manifest_of(*parts), parts).sent_bytes == 0
    assert [method for method, _ in small.asked] == ["HEAD"]


def test_a_blob_that_is_there_is_not_sent_with_another_image(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, layer: Path
) -> None:
    base = file_part(layer)
    registry_push.push(endpoint, name, manifest_of(base), [base])
    more = bytes_part(b"more")
    assert registry_push.push(endpoint, name, manifest_of(base, more), [base, more]).sent_bytes == 4


def test_a_layer_of_a_base_is_mounted(small: SmallRegistry, endpoint: Endpoint, name: ImageName) -> None:
    content = b"the base's layer"
    small.blobs["p/bases/python", digest_of(content)] = content
    part = BlobUpload(digest=digest_of(content), size=len(content), source=f"{small.host}/p/bases/python")
    pushed = registry_push.push(endpoint, name, manifest_of(part), [part])
    assert (pushed.sent_bytes, pushed.mounted) == (0, (part.digest,))
    assert small.blobs[name.path, part.digest] == content


@pytest.mark.parametrize("mounts", [True, False], ids=["another host", "a refused mount"])
def test_a_layer_that_cannot_be_mounted_is_copied(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, mounts: bool
) -> None:
    content = os.urandom(5000)
    small.behaviour.mounts = mounts
    small.blobs["p/bases/python", digest_of(content)] = content
    host = small.host.replace("127.0.0.1", "localhost") if mounts else small.host
    part = BlobUpload(digest=digest_of(content), size=len(content), source=f"{host}/p/bases/python")
    assert registry_push.push(endpoint, name, manifest_of(part), [part]).sent_bytes == len(content)
    assert small.blobs[name.path, part.digest] == content


def test_a_broken_upload_goes_on_where_it_stopped(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, layer: Path
) -> None:
    small.behaviour.breaks, small.behaviour.after = 2, 100_000
    part = file_part(layer)
    registry_push.push(endpoint, name, manifest_of(part), [part])
    assert small.blobs[name.path, part.digest] == layer.read_bytes()
    assert small.received == 300_000
    assert small.count("POST", "uploads") == 1


def test_an_upload_that_the_registry_forgot_begins_again(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, layer: Path
) -> None:
    small.behaviour.breaks, small.behaviour.after, small.behaviour.resumes = 1, 100_000, False
    part = file_part(layer)
    registry_push.push(endpoint, name, manifest_of(part), [part])
    assert small.blobs[name.path, part.digest] == layer.read_bytes()
    assert small.count("POST", "uploads") == 2


def test_an_upload_that_never_arrives_is_given_up(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, layer: Path
) -> None:
    pauses: list[float] = []
    small.behaviour.breaks, small.behaviour.resumes = 99, False
    with pytest.raises(errors.Unavailable, match=f"push {registry.file_digest(layer)}"):
        registry_push.push(
            endpoint, name, manifest_of(file_part(layer)), [file_part(layer)], sleep=pauses.append
        )
    assert pauses == [0.2, 0.4, 0.8, 1.6]


def test_at_most_four_blobs_are_sent_at_once(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName
) -> None:
    parts = [bytes_part(os.urandom(200_000)) for _ in range(12)]
    registry_push.push(endpoint, name, manifest_of(*parts), parts)
    assert len(small.blobs) == 12
    assert small.most_at_once <= registry_push.PARALLEL


def test_progress_is_reported(small: SmallRegistry, endpoint: Endpoint, name: ImageName, layer: Path) -> None:
    reported: list[tuple[int, int]] = []
    part = file_part(layer)
    registry_push.push(
        endpoint, name, manifest_of(part), [part], on_progress=lambda *now: reported.append(now)
    )
    assert reported[-1] == (300_000, 300_000)
    assert [sent for sent, _ in reported] == sorted(sent for sent, _ in reported)


def test_a_repository_that_is_not_there_says_what_to_do(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName
) -> None:
    small.behaviour.repositories = frozenset()
    part = bytes_part(b"x")
    with pytest.raises(errors.NotFound, match=f"Create the repository {small.host}/p/trainers first"):
        registry_push.push(endpoint, name, manifest_of(part), [part])


def test_a_tag_is_moved_only_when_it_has_to_be(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName
) -> None:
    one, other = manifest_of(bytes_part(b"1")), manifest_of(bytes_part(b"2"))
    assert registry_push.tag(endpoint, name.at("latest"), one)
    assert not registry_push.tag(endpoint, name.at("latest"), one)
    assert registry_push.tag(endpoint, name.at("latest"), other)
    assert registry.digest_at(endpoint, name.at("latest")) == other.digest


def test_every_page_of_tags(small: SmallRegistry, endpoint: Endpoint, name: ImageName) -> None:
    for tag in "edcba":
        registry.put_manifest(endpoint, name.at(tag), manifest_of())
    assert registry.tags(endpoint, name) == tuple("abcde")


def test_a_token_is_fetched_where_the_registry_wants_one(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName
) -> None:
    small.behaviour.token = "anonymous"
    registry.put_manifest(endpoint, name.at("latest"), manifest_of())
    assert registry.digest_at(endpoint, name.at("latest")) == manifest_of().digest
    (scope,) = {path for method, path in small.asked if path.startswith("/token")}
    assert scope == "/token?service=small&scope=repository%3Ap%2Ftrainers%2Fdigits%3Apull%2Cpush"


def test_google_s_credentials_go_to_google_alone(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName
) -> None:
    small.behaviour.token = "anonymous"
    registry.put_manifest(endpoint, name.at("latest"), manifest_of())
    assert set(small.authorizations) == {None, "Bearer anonymous"}


GOOGLE_S = "us-central1-docker.pkg.dev"


@pytest.fixture
def google_s() -> ImageName:
    """Return an image on a Google host."""
    return parse(f"{GOOGLE_S}/p/trainers/digits:latest")


@pytest.fixture
def google(small: SmallRegistry, endpoint: Endpoint) -> Endpoint:
    """Google Cloud, where that host is `small`."""
    return replace(endpoint, addresses=((GOOGLE_S, f"http://{small.host}"),))


def test_google_gets_the_access_token(small: SmallRegistry, google: Endpoint, google_s: ImageName) -> None:
    registry.put_manifest(google, google_s, manifest_of())
    assert small.authorizations == [f"Bearer {SECRET}"]


def test_the_access_token_goes_to_no_token_service_of_another_host(
    small: SmallRegistry, google: Endpoint, google_s: ImageName
) -> None:
    small.behaviour.token = "anonymous"
    registry.put_manifest(google, google_s, manifest_of())
    assert small.authorizations == [f"Bearer {SECRET}", None, "Bearer anonymous"]


def test_without_credentials_only_pushing_fails(
    google: Endpoint, google_s: ImageName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    for folder in ("HOME", "CLOUDSDK_CONFIG"):
        monkeypatch.setenv(folder, str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    without = replace(google, token=None)
    assert registry.find_manifest(without, google_s) is None
    with pytest.raises(errors.Unauthenticated, match="gcloud auth application-default login"):
        registry.put_manifest(without, google_s, manifest_of())


def test_what_a_netrc_has_goes_nowhere(
    small: SmallRegistry,
    endpoint: Endpoint,
    name: ImageName,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    small.behaviour.token = "anonymous"
    registry.put_manifest(endpoint, name.at("latest"), manifest_of())
    assert set(small.authorizations) == {None, "Bearer anonymous"}


def test_a_location_in_plain_http_gets_no_token(
    small: SmallRegistry, endpoint: Endpoint, google_s: ImageName
) -> None:
    google = replace(endpoint, addresses=((GOOGLE_S, f"https://{small.host}"),))
    registry.ask(google, google_s, "GET", f"http://{small.host}/v2/x/tags/list", action="list", also=(404,))
    assert small.authorizations == [None]


@pytest.mark.parametrize("answer", [["x"], {"token": 5}, {"token": "a\nb"}])
def test_a_token_service_that_answers_nonsense_gives_none(
    answer: object, small: SmallRegistry, endpoint: Endpoint, name: ImageName
) -> None:
    small.behaviour.token, small.behaviour.token_answer = "anonymous", [answer]
    with pytest.raises(errors.Unauthenticated, match="issues no token"):
        registry.manifest(endpoint, name)


def test_no_token_is_asked_for_over_plain_http(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName
) -> None:
    small.behaviour.token, small.behaviour.realm = "anonymous", "http://tokens.example.com/token"
    with pytest.raises(errors.UnexpectedAnswer, match="which is not an https address"):
        registry.manifest(endpoint, name)


def test_what_is_not_there_is_none(endpoint: Endpoint, name: ImageName) -> None:
    assert registry.find_manifest(endpoint, name) is None
    assert registry.digest_at(endpoint, name) is None
    assert not registry.has_blob(endpoint, name, digest_of(b""))


def test_a_404_of_something_else_is_not_gone(endpoint: Endpoint, small: SmallRegistry) -> None:
    with pytest.raises(errors.UnexpectedAnswer, match="not in the format of a registry"):
        registry.ask(endpoint, parse(f"{small.host}/p"), "GET", "/nothing", action="read")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.InvalidArgument),
        (403, errors.PermissionDenied),
        (405, errors.Unimplemented),
        (409, errors.FailedPrecondition),
        (418, errors.UnexpectedAnswer),
    ],
)
def test_what_a_registry_refuses(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, status: int, kind: type[errors.CloudError]
) -> None:
    small.behaviour.status = {"GET": [status]}
    with pytest.raises(kind) as caught:
        registry.manifest(endpoint, name)
    assert type(caught.value) is kind
    assert str(name) in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_tried_again(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, status: int
) -> None:
    registry.put_manifest(endpoint, name.at("latest"), manifest_of())
    small.behaviour.status = {"GET": [status, status]}
    assert registry.manifest(endpoint, name) == manifest_of()


def test_a_manifest_of_another_digest_is_no_answer(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName
) -> None:
    small.manifests[name.path, digest_of(b"{}")] = (OCI, b"[]")
    with pytest.raises(errors.DataLoss, match=digest_of(b"[]")):
        registry.manifest(endpoint, name.at(digest_of(b"{}")))


def test_a_broken_download_goes_on_where_it_stopped(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, layer: Path, tmp_path: Path
) -> None:
    content = layer.read_bytes()
    small.blobs[name.path, digest_of(content)] = content
    small.behaviour.short_downloads, small.behaviour.after = 2, 100_000
    registry.download_blob(
        endpoint, name, Descriptor(digest=digest_of(content), size=len(content)), tmp_path / "there"
    )
    assert (tmp_path / "there").read_bytes() == content


def test_a_download_of_another_digest_is_no_answer(
    small: SmallRegistry, endpoint: Endpoint, name: ImageName, tmp_path: Path
) -> None:
    small.blobs[name.path, digest_of(b"right")] = b"wrong"
    with pytest.raises(errors.DataLoss, match="the data have a different digest"):
        registry.download_blob(
            endpoint, name, Descriptor(digest=digest_of(b"right"), size=5), tmp_path / "there"
        )


def test_a_deleted_image_was_there_once(endpoint: Endpoint, name: ImageName) -> None:
    registry.put_manifest(endpoint, name.at("latest"), manifest_of())
    assert registry.delete(endpoint, name.at("latest"))
    assert not registry.delete(endpoint, name.at("latest"))


def test_no_secret_shows_in_the_session(endpoint: Endpoint) -> None:
    assert SECRET not in repr(registry_http.registry_http(endpoint))
