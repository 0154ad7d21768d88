"""Endpoints as records, and what is refused by name."""

from __future__ import annotations

import grpc
import pytest

from support.emulated.clients.grpc_channel import connected
from support.emulated.services.experiments import LOCATION, Experiments


@pytest.mark.parity(
    "Experiments and endpoints: endpoints",
    own_way="records only; deployment and prediction are refused, with what to use instead",
)
def test_an_endpoint_from_its_creation_to_its_deletion(api: Experiments) -> None:
    operation = api.post(f"{LOCATION}/endpoints", {"displayName": "whole", "labels": {"team": "a"}})
    name = operation["response"]["name"]
    assert api.get(operation["name"]) == operation
    assert api.names(f"{LOCATION}/endpoints", "endpoints", "labels.team=a") == [name.rpartition("/")[2]]
    changed = api.done("PATCH", f"{name}?updateMask=displayName,labels", {"displayName": "new"})
    assert (changed["displayName"], "labels" in changed) == ("new", False)
    assert api.get(name) == changed
    api.done("DELETE", name)
    assert api.refused("GET", name) == ("NOT_FOUND", f"The Endpoint does not exist: {name}.")


@pytest.mark.parity("Experiments and endpoints: endpoints")
def test_rules_of_endpoints(api: Experiments) -> None:
    made = api.post(f"{LOCATION}/endpoints?endpointId=digits", {"displayName": "mine"})["response"]
    assert made["name"].endswith("/endpoints/digits")
    assert (
        api.refused("POST", f"{LOCATION}/endpoints?endpointId=digits", {"displayName": "b"})[0]
        == "ALREADY_EXISTS"
    )
    for endpoint_id in ("Upper", "a-", "0123", "1234567890"):
        code, words = api.refused("POST", f"{LOCATION}/endpoints?endpointId={endpoint_id}", {})
        assert (code, "endpoint_id" in words, "display_name" in words) == ("INVALID_ARGUMENT", True, True)
    code, words = api.refused(
        "POST", f"{LOCATION}/endpoints", {"displayName": "c", "trafficSplit": {"0": 100}}
    )
    assert (code, "traffic_split" in words) == ("INVALID_ARGUMENT", True)


@pytest.mark.parity(
    "Experiments and endpoints: serving, batch predictions, Vertex AI Pipelines and schedules of Vertex AI",
    not_done="UNIMPLEMENTED, by name, with what to use instead",
)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("endpoints/1:deployModel", "EndpointService.DeployModel. It keeps endpoints as records"),
        ("endpoints/1:undeployModel", "EndpointService.UndeployModel. It keeps endpoints as records"),
        ("endpoints/1:predict", "endpoints/1:predict. It keeps endpoints as records and serves no model"),
        ("endpoints/1:streamRawPredict", "serves no model"),
        ("endpoints/1:generateContent", "serves no model"),
        ("pipelineJobs", "PipelineService.CreatePipelineJob. It runs no pipelines of Vertex AI Pipelines"),
        ("schedules", "ScheduleService.CreateSchedule. It has no schedules of Vertex AI: use a job of Cloud"),
        ("batchPredictionJobs", "JobService.CreateBatchPredictionJob. It runs no batch predictions"),
        ("featurestores", "does not implement POST /v1/projects/local/locations/us-central1/featurestores."),
    ],
)
def test_what_is_not_served_is_refused_by_name(api: Experiments, path: str, words: str) -> None:
    code, message = api.refused("POST", f"{LOCATION}/{path}", {})
    assert code == "UNIMPLEMENTED"
    assert words in message


@pytest.mark.parity(
    "Experiments and endpoints: serving, batch predictions, Vertex AI Pipelines and schedules of Vertex AI"
)
def test_the_same_words_over_grpc(api: Experiments) -> None:
    with connected(api.daemon, api.daemon.token) as channel:
        for method, words in (
            ("PredictionService/Predict", "serves no model"),
            ("EndpointService/DeployModel", "serves no model"),
            ("ScheduleService/ListSchedules", "use a job of Cloud Scheduler"),
        ):
            call = channel.unary_unary(f"/google.cloud.aiplatform.v1.{method}")
            with pytest.raises(grpc.RpcError) as refused:
                call(b"")
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
            assert words in refused.value.details()
