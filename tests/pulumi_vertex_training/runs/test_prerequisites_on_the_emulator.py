"""The lookups of what a job needs, answered by a real emulator as by Google."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.kinds.image_repository import gateway as repositories
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.runs.prerequisites import MISSING, Answer, Kind, Need, look_up
from support.client.registries.pushed_images import push_small_image

IMAGES = "us-central1-docker.pkg.dev/local/images"


def need(kind: Kind, name: str) -> Need:
    return Need(kind=kind, name=name, path="path")


@pytest.fixture(scope="module", autouse=True)
def made(endpoint: Endpoint) -> str:
    """Make one of each kind. Return the digest of the image."""
    buckets.create(endpoint, {"name": "looked-up", "location": "us-east1"})
    objects.upload(endpoint, "looked-up", "dir/package.tar.gz", b"content")
    repositories.create(
        endpoint, "projects/local/locations/us-central1/repositories/images", {"format": "DOCKER"}
    )
    machine = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1}
    persistent_resources.create(endpoint, "machines", {"resourcePools": [machine]})
    image = push_small_image(endpoint, f"{IMAGES}/trainer:1", b"text")
    assert image.digest is not None
    return image.digest


@pytest.mark.parametrize(
    "name",
    [
        f"{IMAGES}/trainer:2",
        f"{IMAGES}/trainer@sha256:{'0' * 64}",
        f"{IMAGES}/other:1",
        "us-central1-docker.pkg.dev/local/no-repository/trainer:1",
    ],
)
def test_a_missing_image(endpoint: Endpoint, name: str) -> None:
    assert look_up(endpoint, need(Kind.IMAGE, name)) == MISSING


def test_an_image_by_tag_and_by_digest(endpoint: Endpoint, made: str) -> None:
    for reference in (":1", f"@{made}", f":1@{made}"):
        assert look_up(endpoint, need(Kind.IMAGE, f"{IMAGES}/trainer{reference}")) == Answer(exists=True)


@pytest.mark.parametrize("name", ["gs://looked-up/dir/other.tar.gz", "gs://not-there/dir/package.tar.gz"])
def test_a_missing_object(endpoint: Endpoint, name: str) -> None:
    assert look_up(endpoint, need(Kind.OBJECT, name)) == MISSING


def test_an_object(endpoint: Endpoint) -> None:
    assert look_up(endpoint, need(Kind.OBJECT, "gs://looked-up/dir/package.tar.gz")).exists


def test_a_bucket_has_its_location(endpoint: Endpoint) -> None:
    answer = look_up(endpoint, need(Kind.BUCKET, "looked-up"))
    assert answer == Answer(exists=True, location="US-EAST1")
    assert look_up(endpoint, need(Kind.BUCKET, "not-there")) == MISSING


def test_a_persistent_resource_has_its_pools(endpoint: Endpoint) -> None:
    (pool,) = look_up(endpoint, need(Kind.MACHINES, "machines")).wire["resourcePools"]
    assert pool["machineSpec"]["machineType"] == "n1-standard-4"
    assert look_up(endpoint, need(Kind.MACHINES, "not-there")) == MISSING


def test_no_answer_is_an_error_of_its_own() -> None:
    nowhere = Endpoint(
        kind="emulator", project="local", location="us-central1", url="http://127.0.0.1:9", token="t"
    )
    with pytest.raises(CloudError):
        look_up(nowhere, need(Kind.BUCKET, "looked-up"))
