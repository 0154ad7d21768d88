"""The links to shells that the service has while a job runs: `status`, and the refusal of `replica exec`."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from pulumi_vertex_training.cli.replica import command
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.custom_job.gateway import from_wire
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import lookup
from pulumi_vertex_training.views.jobs.status import Status, web_access
from vertex_training.command_line.errors import CommandError
from vertex_training.command_line.output import Output

LINKS = {"workerpool1-0": "https://one.example/", "workerpool0-0": "https://chief.example/"}
GOOGLE = Endpoint(kind="google", project="my-project", location="us-central1", token="t")


def record(state: str = "RUNNING", **more: Any) -> JobRecord:
    return from_wire(
        {
            "name": "projects/7/locations/us-central1/customJobs/5",
            "state": f"JOB_STATE_{state}",
            "createTime": "2026-11-30T06:00:00Z",
            "jobSpec": {"workerPoolSpecs": []},
            **more,
        }
    )


def test_a_running_job_has_its_links_and_an_ended_one_has_none() -> None:
    assert list(web_access(record(webAccessUris=LINKS))) == ["workerpool0-0", "workerpool1-0"]
    for other in (record(), record("SUCCEEDED", webAccessUris=LINKS), record("PENDING", webAccessUris=LINKS)):
        assert web_access(other) == {}


def test_status_shows_them_as_text_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status = Status(endpoint=GOOGLE, record=record(webAccessUris=LINKS))
    assert status.document()["webAccessUris"] == LINKS
    status.show(Output(as_json=False, terminal=False))
    shown = capsys.readouterr().out.split()
    at = shown.index("Shells:") + 1
    assert shown[at : at + 4] == [word for name in sorted(LINKS) for word in (f"{name}:", LINKS[name])]
    assert "webAccessUris" not in Status(endpoint=GOOGLE, record=record()).document()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (record(webAccessUris=LINKS), "Open the link of the replica: https://one.example/."),
        (
            record(),
            "Declare enable_web_access=True, and open the link that `vertex-training status JOB` shows",
        ),
    ],
)
def test_on_google_cloud_a_command_is_refused_with_the_link(
    monkeypatch: pytest.MonkeyPatch, found: JobRecord, words: str
) -> None:
    monkeypatch.setattr(target, "of_options", lambda _: None)
    monkeypatch.setattr(target, "resolve", lambda _: GOOGLE)
    monkeypatch.setattr(lookup, "wanted_of", lambda *_: None)
    monkeypatch.setattr(lookup, "find", lambda *_: argparse.Namespace(record=found))
    options = argparse.Namespace(job="5", replica="workerpool1-0", program=["bash"])
    with pytest.raises(CommandError) as error:
        command.execute(options, Output(as_json=False, terminal=False))
    assert words in str(error.value)
