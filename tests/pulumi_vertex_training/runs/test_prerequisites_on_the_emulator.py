"""The lookups of what a job needs, answered by a real emulator as by Google."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.core.state.hidden_input import PREVIEW_INPUT
from pulumi_vertex_training.kinds.image_repository import gateway as repositories
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.providers import CustomJobProvider
from pulumi_vertex_training.runs.prerequisites import MISSING, Answer, Kind, Need, look_up
from support.client.plugin import PluginProcess
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


def replaced(plugin: PluginProcess, **more: Any) -> None:
    """Compare a recorded job with a declaration whose image does not exist."""

    def declared(image: str) -> dict[str, Any]:
        machine = {"machine_type": "n1-standard-4"}
        pool = {"machine_spec": machine, "replica_count": 1, "container_spec": {"image_uri": image}}
        place = {"endpoint": "emulator", "project": "local", "location": "us-central1"}
        return {"display_name": "train", "worker_pool_specs": [pool], **place, **more}

    job = CustomJobProvider()
    old, _ = plugin.check(job, {**declared(f"{IMAGES}/trainer:1"), "adopt": None})
    new, failures = plugin.check(job, declared(f"{IMAGES}/trainer:2"), old)
    assert not failures
    recorded = {**old, "state": "JOB_STATE_SUCCEEDED", "__run": {**old["__run"], "key": "ab-1"}}
    assert plugin.diff(job, recorded, new)[0]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="in a deployment"),
        # The program passes over a job with adopt: as a new one it runs nothing.
        pytest.param({PREVIEW_INPUT: True, "adopt": "42"}, id="a job that was adopted"),
    ],
)
def test_what_the_next_run_needs_is_looked_up_before_the_job_is_replaced(
    plugin: PluginProcess, more: dict[str, Any]
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        replaced(plugin, **more)
    details = caught.value.details()  # type: ignore[attr-defined]
    assert "does not run again, nothing was changed. The new job could not be submitted:" in details
    assert "worker_pool_specs[0].container_spec.image_uri" in details


def test_in_a_preview_the_program_looks_up_what_the_next_run_needs(plugin: PluginProcess) -> None:
    replaced(plugin, **{PREVIEW_INPUT: True})
