"""Cloud Build against a scripted service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.training_image import cloud_build
from support.scripted_service import Answer, Service, refusal

IMAGE = "us-docker.pkg.dev/p/r/i:build-1"
LOG = "https://console.cloud.google.com/cloud-build/builds/7"
QUEUED = Answer(document={"metadata": {"build": {"id": "7", "status": "QUEUED", "logUrl": LOG}}})


def now(status: str, **more: object) -> Answer:
    return Answer(document={"id": "7", "status": status, "logUrl": LOG, **more})


DONE = now("SUCCESS", results={"images": [{"name": IMAGE, "digest": "sha256:1"}]})


@pytest.fixture
def google(service: Service, google: Endpoint) -> Endpoint:
    """Google Cloud, whose Cloud Build is `service`."""
    return replace(google, addresses=((cloud_build.API, service.url),))


def build(google: Endpoint, reported: list[str] | None = None) -> str:
    return cloud_build.build(
        google,
        bucket="b",
        source="s.tar.gz",
        image=IMAGE,
        options=("--platform", "linux/amd64"),
        tell=(reported if reported is not None else []).append,
        sleep=lambda _: None,
    )


def test_a_build_is_sent_and_waited_for(service: Service, google: Endpoint) -> None:
    service.script(QUEUED, now("WORKING"), DONE)
    reported: list[str] = []
    assert build(google, reported) == "sha256:1"
    assert reported == [f"Cloud Build is building {IMAGE}: {LOG}"]
    sent, *polls = service.asked
    assert (sent.method, sent.path) == ("POST", "/v1/projects/my-project/builds")
    assert sent.body["source"] == {"storageSource": {"bucket": "b", "object": "s.tar.gz"}}
    assert sent.body["images"] == [IMAGE]
    options = ["--platform", "linux/amd64"]
    assert sent.body["steps"][0]["args"] == ["build", "-t", IMAGE, "-f", "Dockerfile", *options, "context"]
    assert {poll.path for poll in polls} == {"/v1/projects/my-project/builds/7"}


def test_a_dollar_is_no_substitution(service: Service, google: Endpoint) -> None:
    service.script(QUEUED, DONE)
    cloud_build.build(
        google,
        bucket="b",
        source="s",
        image=IMAGE,
        options=("--build-arg", "KEY=a$PROJECT_ID"),
        tell=lambda _: None,
        sleep=lambda _: None,
    )
    assert "KEY=a$$PROJECT_ID" in service.asked[0].body["steps"][0]["args"]


@pytest.mark.parametrize("status", ["FAILURE", "TIMEOUT", "CANCELLED", "EXPIRED", "INTERNAL_ERROR"])
def test_a_build_that_ends_otherwise_names_its_log(service: Service, google: Endpoint, status: str) -> None:
    service.script(QUEUED, now(status, statusDetail="no space left."))
    with pytest.raises(errors.FailedPrecondition) as caught:
        build(google)
    for words in (status, "no space left.", LOG):
        assert words in str(caught.value)


def test_a_build_is_asked_for_once(service: Service, google: Endpoint) -> None:
    service.script(refusal(503, "UNAVAILABLE", "later"))
    with pytest.raises(errors.Unavailable):
        build(google)
    assert len(service.asked) == 1


def test_an_api_that_is_not_enabled_is_said_with_the_command(service: Service, google: Endpoint) -> None:
    service.script(refusal(403, "PERMISSION_DENIED", "not enabled"))
    with pytest.raises(errors.PermissionDenied, match="gcloud services enable cloudbuild"):
        build(google)


def test_a_build_that_does_not_end_is_given_up(service: Service, google: Endpoint) -> None:
    service.script(QUEUED, now("WORKING"))
    ticks = iter(range(0, 100_000, 1000))
    with pytest.raises(errors.DeadlineExceeded, match="has not ended after 3600 s"):
        cloud_build.build(
            google,
            bucket="b",
            source="s",
            image=IMAGE,
            tell=print,
            clock=lambda: next(ticks),
            sleep=lambda _: None,
        )
