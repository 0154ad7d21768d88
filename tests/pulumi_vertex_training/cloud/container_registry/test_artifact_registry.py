"""Repositories against a scripted service: what is sent, how operations are waited for, what errors say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.image_repository import gateway as artifact_registry
from pulumi_vertex_training.timeouts import Timeouts
from support.scripted_service import Answer, Asked, Service, refusal

NAME = "projects/local/locations/us-central1/repositories/trainers"
ANY = "type.googleapis.com/google.devtools.artifactregistry.v1.Repository"
EMPTY = "type.googleapis.com/google.protobuf.Empty"
REPOSITORY = {"name": NAME, "format": "DOCKER", "labels": {"team": "a"}, "sizeBytes": "7"}
OPERATION = "projects/local/locations/us-central1/operations/1"


def done(document: dict[str, Any] | None = None) -> Answer:
    response = (
        {"@type": ANY, **document} if document else {"@type": "type.googleapis.com/google.protobuf.Empty"}
    )
    return Answer(document={"name": OPERATION, "done": True, "response": response})


@pytest.fixture
def google(service: Service) -> Endpoint:
    """Google Cloud, whose Artifact Registry is `service`."""
    return Endpoint(
        kind="google",
        project="my-project",
        location="us-central1",
        token="the-token",
        addresses=(("artifactregistry.googleapis.com", service.url),),
    )


def test_a_repository_is_created_and_waited_for(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document={"name": OPERATION}), done(REPOSITORY))
    record = artifact_registry.create(endpoint, NAME, {"format": "DOCKER", "labels": {"team": "a"}})
    create, poll = service.asked
    assert (create.method, create.path) == ("POST", f"/v1/{NAME.rpartition('/')[0]}")
    assert create.query["repositoryId"] == ["trainers"]
    assert create.body["labels"] == {"team": "a"}
    assert (poll.method, poll.path) == ("GET", f"/v1/{OPERATION}")
    assert (record.name, record.labels) == (NAME, {"team": "a"})


@pytest.mark.parametrize("trouble", [refusal(503, "UNAVAILABLE", "later"), Answer(drop=True)])
def test_a_repository_is_created_once(service: Service, endpoint: Endpoint, trouble: Answer) -> None:
    service.script(trouble)
    with pytest.raises(errors.Unavailable):
        artifact_registry.create(endpoint, NAME, {"format": "DOCKER"})
    assert len(service.asked) == 1


def test_an_operation_that_failed_is_an_error_of_its_own_kind(service: Service, endpoint: Endpoint) -> None:
    failed = {"name": OPERATION, "done": True, "error": {"code": 7, "message": "no access to the key"}}
    service.script(Answer(document=failed))
    with pytest.raises(errors.PermissionDenied, match="no access to the key"):
        artifact_registry.create(endpoint, NAME, {"format": "DOCKER"})


def test_an_operation_that_does_not_end_is_given_up(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document={"name": OPERATION}))
    impatient = replace(endpoint, timeouts=Timeouts(repository_operation=0.2))
    with pytest.raises(errors.DeadlineExceeded, match=r"has not ended after 0\.2 s"):
        artifact_registry.delete(impatient, NAME)


def test_an_update_sends_its_mask(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document=REPOSITORY))
    artifact_registry.patch(endpoint, NAME, {"labels": {}, "dockerConfig": {"immutableTags": True}})
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("PATCH", f"/v1/{NAME}")
    assert asked.query["updateMask"] == ["dockerConfig,labels"]
    assert asked.body == {"labels": {}, "dockerConfig": {"immutableTags": True}}


def test_what_is_read_is_tried_again(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(503, "UNAVAILABLE", "later"), Answer(document=REPOSITORY))
    assert artifact_registry.get(endpoint, NAME).wire["sizeBytes"] == "7"


def test_a_repository_that_is_not_there(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(404, "NOT_FOUND", "Requested entity was not found."))
    with pytest.raises(errors.NotFound, match=f"{NAME}.*Check the project, the location"):
        artifact_registry.get(endpoint, NAME)


def test_a_404_of_something_else_is_not_gone(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(status=404, text="<html>no such page</html>", content_type="text/html"))
    with pytest.raises(errors.UnexpectedAnswer):
        artifact_registry.get(endpoint, NAME)


def test_the_names_of_the_images(service: Service, endpoint: Endpoint) -> None:
    def answer(asked: Asked) -> Answer:
        assert asked.path == f"/v1/{NAME}/packages"
        return Answer(
            document={"packages": [{"name": f"{NAME}/packages/team%2Ftrainer"}], "nextPageToken": "2"}
        )

    service.script(answer)
    assert artifact_registry.packages(endpoint, NAME) == ("team/trainer",)
    assert len(service.asked) == 1


def test_images_after_an_empty_page_are_found(service: Service, endpoint: Endpoint) -> None:
    images = {"packages": [{"name": f"{NAME}/packages/{image}"} for image in ("a", "b")]}
    service.script(Answer(document={"nextPageToken": "2"}), Answer(document=images))
    assert artifact_registry.packages(endpoint, NAME, limit=2) == ("a", "b")


def test_an_api_that_is_not_enabled_is_said_with_the_command(service: Service, google: Endpoint) -> None:
    disabled = refusal(
        403, "PERMISSION_DENIED", "Artifact Registry API has not been used in project 7 before."
    )
    service.script(disabled)
    with pytest.raises(errors.PermissionDenied) as caught:
        artifact_registry.get(google, NAME)
    message = str(caught.value)
    assert "gcloud services enable artifactregistry.googleapis.com --project my-project" in message
    assert "roles/artifactregistry.admin" in message
    assert "the-token" not in message
