"""The requests of the clients of all kinds of jobs, and how they read the answers."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobClient, JobState, from_wire
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.kinds.training_pipeline import gateway as training_pipelines
from support.scripted_service import Answer, Service, refusal

PARENT = "/v1/projects/local/locations/us-central1"
TUNING, PIPELINE = tuning_jobs.GATEWAY, training_pipelines.GATEWAY
GATEWAYS = [
    pytest.param(gateway, id=gateway.collection) for gateway in (custom_jobs.GATEWAY, TUNING, PIPELINE)
]


def name(gateway: JobClient) -> str:
    return f"projects/7/locations/us-central1/{gateway.collection}/12"


def answer(gateway: JobClient, word: str = "RUNNING") -> dict[str, Any]:
    return {"name": name(gateway), "displayName": "d", "state": f"{gateway.states}{word}"}


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_create_is_a_post_to_the_collection(service: Service, endpoint: Endpoint, gateway: JobClient) -> None:
    service.script(Answer(document=answer(gateway)))
    gateway.create(endpoint, {"displayName": "d", "labels": {"run": "a-1"}})
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", f"{PARENT}/{gateway.collection}")


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_create_answers_with_the_record(service: Service, endpoint: Endpoint, gateway: JobClient) -> None:
    service.script(Answer(document=answer(gateway)))
    assert gateway.create(endpoint, {"displayName": "d"}).wire == answer(gateway)


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_get_reads_the_state(service: Service, endpoint: Endpoint, gateway: JobClient) -> None:
    service.script(Answer(document=answer(gateway, "CANCELLED")))
    assert gateway.get(endpoint, name(gateway)).state is JobState.JOB_STATE_CANCELLED


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_cancel_is_a_post_to_the_job(service: Service, endpoint: Endpoint, gateway: JobClient) -> None:
    service.script(Answer(document={}))
    gateway.cancel(endpoint, name(gateway))
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", f"/v1/{name(gateway)}:cancel")


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_delete_waits_for_its_operation(service: Service, endpoint: Endpoint, gateway: JobClient) -> None:
    service.script(Answer(document={"name": "operations/1"}), Answer(document={"done": True}))
    gateway.delete(endpoint, name(gateway))
    assert [asked.method for asked in service.asked] == ["DELETE", "GET"]


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_the_list_is_that_of_the_collection(service: Service, endpoint: Endpoint, gateway: JobClient) -> None:
    service.script(Answer(document={gateway.collection: [answer(gateway)]}))
    assert [record.name for record in gateway.list_jobs(endpoint)] == [name(gateway)]


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_the_live_ones_are_asked_for_by_the_states_of_the_kind(
    service: Service, endpoint: Endpoint, gateway: JobClient
) -> None:
    service.script(Answer(document={gateway.collection: [answer(gateway), answer(gateway, "SUCCEEDED")]}))
    assert len(gateway.list_live(endpoint)) == 1
    (asked,) = service.asked
    assert f'state!="{gateway.states}FAILED"' in asked.query["filter"][0]


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_messages_name_the_kind(service: Service, endpoint: Endpoint, gateway: JobClient) -> None:
    service.script(refusal(404, "NOT_FOUND", "no"))
    with pytest.raises(errors.NotFound, match=f"Could not read {gateway.noun} 12"):
        gateway.get(endpoint, name(gateway))


@pytest.mark.parametrize(
    ("reported", "state", "name_of_state"),
    [
        ("PIPELINE_STATE_RUNNING", JobState.JOB_STATE_RUNNING, "PIPELINE_STATE_RUNNING"),
        ("PIPELINE_STATE_CANCELLED", JobState.JOB_STATE_CANCELLED, "PIPELINE_STATE_CANCELLED"),
        ("JOB_STATE_RUNNING", JobState.JOB_STATE_RUNNING, "JOB_STATE_RUNNING"),
        ("PIPELINE_STATE_NEW", JobState.JOB_STATE_UNSPECIFIED, "PIPELINE_STATE_NEW"),
        (None, JobState.JOB_STATE_UNSPECIFIED, "JOB_STATE_UNSPECIFIED"),
        (4, JobState.JOB_STATE_UNSPECIFIED, "JOB_STATE_UNSPECIFIED"),
    ],
)
def test_states_of_both_families(reported: object, state: JobState, name_of_state: str) -> None:
    record = from_wire({"name": "n", "state": reported})
    assert (record.state, record.state_name) == (state, name_of_state)


def test_inputs_of_a_pipeline_come_back_as_they_were(service: Service, endpoint: Endpoint) -> None:
    inputs = {"workerPoolSpecs": [{"replicaCount": "2", "diskSpec": {"bootDiskSizeGb": 100}}]}
    service.script(Answer(document=answer(PIPELINE)))
    PIPELINE.create(endpoint, {"displayName": "d", "trainingTaskInputs": inputs})
    assert service.asked[0].body["trainingTaskInputs"] == inputs
