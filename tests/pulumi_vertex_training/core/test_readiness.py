"""The wait for a persistent resource: what a deployment reports of it, and when nobody answers."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pulumi
import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.persistent_resource.readiness import ready
from support.scripted_service import Answer, Service, refusal

NAME = "projects/7/locations/us-central1/persistentResources/gpus"


def in_state(word: str, **more: Any) -> Answer:
    pool = {"id": "n1-standard-4", "replicaCount": "2", "usedReplicaCount": "1"}
    return Answer(document={"name": NAME, "state": word, "resourcePools": [pool], **more})


def wait(service: Service, *answers: Answer, timeout: float = 20) -> str:
    """Wait for the resource while the service gives these answers, the last one for ever."""
    states = list(answers)
    service.script(lambda _: states.pop(0) if len(states) > 1 else states[0])
    endpoint = Endpoint(kind="emulator", project="local", location="us-central1", url=service.url, token="t")
    return asyncio.run(ready(None, lambda: endpoint, NAME, timeout=timeout))  # type: ignore[arg-type]


def test_one_that_runs_is_looked_at_once_and_nothing_is_said(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wait(service, in_state("RUNNING")) == "gpus"
    assert len(service.asked) == 1
    assert capsys.readouterr().err == ""


def test_what_it_does_meanwhile_is_shown(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert wait(service, in_state("PROVISIONING"), in_state("PROVISIONING"), in_state("RUNNING")) == "gpus"
    reported = capsys.readouterr().err
    assert reported.count("provisioning: n1-standard-4 2, of which 1 in use") == 1
    assert "running: n1-standard-4" in reported


def test_trouble_is_no_end(service: Service) -> None:
    assert wait(service, refusal(429, "RESOURCE_EXHAUSTED", "slow down"), in_state("RUNNING")) == "gpus"


def test_after_a_trouble_the_row_says_how_it_is(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    service.script(lambda _: in_state("RUNNING"))
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        urls = [f"http://127.0.0.1:{nobody.getsockname()[1]}", service.url]
        endpoints = [
            Endpoint(kind="emulator", project="local", location="us-central1", url=url, token="t")
            for url in urls
        ]
        connect = ready(None, lambda: endpoints.pop(0), NAME, timeout=20)  # type: ignore[arg-type]
        asyncio.run(connect)
    said = [line.split(":")[1].strip() for line in capsys.readouterr().err.splitlines()]
    assert said == ["retrying", "running"]


def test_past_its_time_it_is_a_warning(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert wait(service, in_state("PROVISIONING"), timeout=0.3) == "gpus"
    assert "persistent resource gpus is still PROVISIONING after 0.3 s" in capsys.readouterr().err


FAILED = in_state("ERROR", error={"code": 8, "message": "no such machines are free"})


@pytest.mark.parametrize("before", [(), (in_state("PROVISIONING"),)], ids=["an earlier one", "this one"])
def test_a_failure_fails_the_deployment_that_saw_it_and_each_later_one(
    service: Service, before: tuple[Answer, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(pulumi.RunError, match="gpus failed"):
        wait(service, *before, FAILED)
    shown = capsys.readouterr().err
    assert "persistent resource gpus failed: no such machines are free.\n" in shown
    assert "To create it again: pulumi up --replace URN\n" in shown


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(in_state("STOPPING"), "is being deleted", id="being deleted"),
        pytest.param(refusal(404, "NOT_FOUND", "gone"), "no longer exists", id="gone"),
        pytest.param(refusal(403, "PERMISSION_DENIED", "no"), "Could not read", id="denied"),
    ],
)
def test_what_never_runs_fails_the_deployment(
    service: Service, answer: Answer, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(pulumi.RunError, match="gpus failed"):
        wait(service, answer)
    assert words in capsys.readouterr().err
