"""Records of persistent resources and models with our labels, and the obstacles to their deletion."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.runs.persistent import persistent_kinds
from support.scripted_service import Answer, Service

PLACE = "projects/42/locations/us-central1"
MARKS = {"pulumi-project": "digits", "pulumi-stack": "prod", "pulumi-resource": "gpus"}
RESOURCES, MODELS = persistent_kinds()["persistentResources"], persistent_kinds()["models"]


@pytest.fixture
def endpoint(service: Service) -> Endpoint:
    return Endpoint(kind="emulator", project="p", location="us-central1", url=service.url, token="t")


def pool(used: str | None) -> dict[str, Any]:
    return {"replicaCount": "4", **({"usedReplicaCount": used} if used else {})}


def resource(id_: str = "gpus", **more: Any) -> dict[str, Any]:
    return {"name": f"{PLACE}/persistentResources/{id_}", "state": "RUNNING", "labels": MARKS, **more}


def version(number: int, **more: Any) -> dict[str, Any]:
    return {
        "name": f"{PLACE}/models/digits@{number}",
        "versionId": str(number),
        "displayName": "Digits",
        "createTime": "2026-01-01T00:00:00Z",
        "labels": MARKS,
        **more,
    }


def test_only_what_has_all_marks_is_listed(service: Service, endpoint: Endpoint) -> None:
    partly = {"pulumi-project": "digits", "team": "vision"}
    service.script(
        Answer(
            document={"persistentResources": [resource(), resource("a", labels=partly)], "nextPageToken": "n"}
        ),
        Answer(document={"persistentResources": [resource("b"), {**resource("c"), "labels": {}}]}),
        Answer(document={"models": [version(1, name=f"{PLACE}/models/digits"), version(1, labels=partly)]}),
    )
    assert [one.id for one in RESOURCES.marked(endpoint)] == ["gpus", "b"]
    assert [one.id for one in MODELS.marked(endpoint)] == ["digits"]
    assert [one.query.get("pageToken") for one in service.asked] == [None, ["n"], None]
    assert service.asked[2].query["filter"] == ["labels.pulumi-project:*"]


@pytest.mark.parametrize(
    ("pools", "obstacle"),
    [
        pytest.param([pool(None), pool("0")], "", id="free"),
        pytest.param(
            [pool("1"), pool("2")], "jobs on it use 3 of its machines and would be cancelled", id="used"
        ),
    ],
)
def test_a_resource_that_jobs_use_stays(
    service: Service, endpoint: Endpoint, pools: list[Any], obstacle: str
) -> None:
    service.script(Answer(document=resource(resourcePools=pools, createTime="2026-01-01T00:00:00Z")))
    found = RESOURCES.get(endpoint, "n")
    assert found.obstacle.startswith(obstacle)
    assert bool(found.obstacle) == bool(obstacle)
    assert (found.state, found.create_time, found.marks) == ("RUNNING", "2026-01-01T00:00:00Z", MARKS)


def test_a_model_is_all_its_versions(service: Service, endpoint: Endpoint) -> None:
    pipeline = f"{PLACE}/trainingPipelines/7"
    service.script(
        Answer(
            document={
                "models": [version(1, versionAliases=["default"]), version(2, trainingPipeline=pipeline)]
            }
        )
    )
    found = MODELS.get(endpoint, f"{PLACE}/models/digits")
    assert (found.name, found.display_name, found.state) == (f"{PLACE}/models/digits", "Digits", "")
    assert (found.uploaded_by, found.obstacle) == ({"7"}, "")


def test_a_model_with_versions_of_others_stays(service: Service, endpoint: Endpoint) -> None:
    theirs = {**MARKS, "pulumi-stack": "dev"}
    versions = [version(1, labels={}), version(2, versionAliases=["default"]), version(3, labels=theirs)]
    service.script(Answer(document={"models": versions}))
    assert "(3, 1 differ from 2)" in MODELS.get(endpoint, f"{PLACE}/models/digits").obstacle


def test_a_model_without_versions_is_gone(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document={}))
    with pytest.raises(NotFound, match="model digits has no versions"):
        MODELS.get(endpoint, f"{PLACE}/models/digits")
