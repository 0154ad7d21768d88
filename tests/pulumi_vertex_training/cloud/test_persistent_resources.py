"""The gateway of persistent resources against a scripted server: what it asks, what it makes of answers."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.persistent_resource.gateway import ResourceState, from_wire
from support.scripted_service import Answer, Service, refusal

NAME = "projects/7/locations/us-central1/persistentResources/gpus"
DOCUMENTED: dict[str, Any] = {
    "name": NAME,
    "displayName": "GPUs",
    "resourcePools": [
        {
            "id": "n1-highmem-2-nvidia-tesla-t4-1",
            "machineSpec": {
                "machineType": "n1-highmem-2",
                "acceleratorType": "NVIDIA_TESLA_T4",
                "acceleratorCount": 1,
            },
            "replicaCount": "1",
            "diskSpec": {"bootDiskType": "pd-standard", "bootDiskSizeGb": 100},
        }
    ],
    "state": "RUNNING",
    "createTime": "2023-08-31T16:48:48.345900Z",
    "startTime": "2023-08-31T16:53:11.212223Z",
    "updateTime": "2023-08-31T16:53:11.212237Z",
}
"""As the documentation shows it, "Get information about a persistent resource"."""


def test_a_record_is_read(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document=DOCUMENTED))
    record = persistent_resources.get(endpoint, NAME)
    assert (record.name, record.resource_id, record.state) == (NAME, "gpus", ResourceState.RUNNING)
    assert (record.create_time, record.error, record.wire) == (DOCUMENTED["createTime"], None, DOCUMENTED)


def test_the_reason_of_a_failure_is_reported() -> None:
    record = from_wire({**DOCUMENTED, "state": "ERROR", "error": {"code": 8, "message": "no machines"}})
    assert (record.state.is_terminal, record.error) == (True, "no machines")


@pytest.mark.parametrize("state", [None, "SLEEPING", 9])
def test_a_state_from_the_future_is_no_end(state: object) -> None:
    found = from_wire({**DOCUMENTED, "state": state}).state
    assert (found, found.is_terminal) == (ResourceState.STATE_UNSPECIFIED, False)


def test_every_state_of_the_installed_api_is_known() -> None:
    from google.cloud.aiplatform_v1 import PersistentResource

    assert {one.name: one.value for one in PersistentResource.State} == {
        one.name: one.value for one in ResourceState
    }


@pytest.mark.parametrize("status", [500, 503])
def test_a_creation_that_may_have_begun_is_not_tried_again(
    service: Service, endpoint: Endpoint, status: int
) -> None:
    service.script(refusal(status, "UNAVAILABLE" if status == 503 else "INTERNAL", "later"))
    with pytest.raises(errors.Unavailable):
        persistent_resources.create(endpoint, "gpus", {})
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        pytest.param(409, "ALREADY_EXISTS", errors.AlreadyExists, id="taken"),
        pytest.param(400, "INVALID_ARGUMENT", errors.InvalidArgument, id="wrong"),
        pytest.param(429, "RESOURCE_EXHAUSTED", errors.ResourceExhausted, id="quota"),
    ],
)
def test_a_creation_that_is_refused(
    service: Service, endpoint: Endpoint, status: int, reason: str, kind: type[Exception]
) -> None:
    service.script(refusal(status, reason, "no"))
    with pytest.raises(kind, match="Could not create persistent resource gpus"):
        persistent_resources.create(endpoint, "gpus", {})


def test_an_update_and_a_reboot_are_sent_once(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(503, "UNAVAILABLE", "later"))
    with pytest.raises(errors.Unavailable):
        persistent_resources.patch(endpoint, NAME, {"displayName": "b"}, mask=["display_name"])
    with pytest.raises(errors.Unavailable):
        persistent_resources.reboot(endpoint, NAME)
    assert [asked.method for asked in service.asked] == ["PATCH", "POST"]


def test_reads_survive_what_passes(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(503, "UNAVAILABLE", "later"), Answer(document=DOCUMENTED))
    assert persistent_resources.get(endpoint, NAME).state is ResourceState.RUNNING


def test_what_is_not_there(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(404, "NOT_FOUND", "The PersistentResource does not exist."))
    with pytest.raises(errors.NotFound, match="gcloud ai persistent-resources list"):
        persistent_resources.get(endpoint, NAME)
