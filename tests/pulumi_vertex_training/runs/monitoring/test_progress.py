"""The report of a program's progress, and the line that is made of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.running.declaration import Counts
from pulumi_vertex_training.kinds.custom_job.replica_counts import count_by_role
from pulumi_vertex_training.program.waiting.progress import line
from pulumi_vertex_training.runs.monitoring.progress import Report, duration, in_words, report_at, warnings_of
from pulumi_vertex_training.views.jobs.status import Status
from pulumi_vertex_training.views.runs.history import result_of
from pulumi_vertex_training.views.runs.metric_rows import Metric, metric_text, metrics_of
from support.scripted_service import Answer, Asked, Service, refusal
from vertex_training.fields.json_numbers import without_nan

RUNNING = JobRecord(
    name="projects/7/locations/us-central1/customJobs/1",
    display_name="train",
    state=JobState.JOB_STATE_RUNNING,
)


@pytest.mark.parametrize(
    ("report", "percent", "left", "words"),
    [
        pytest.param(
            Report(step=45, total=100, seconds_per_step=2.5, metrics={"loss": 0.25}),
            45,
            138,
            "45%, 2m18s left, loss 0.25",
            id="all",
        ),
        pytest.param(Report(step=45), None, None, "step 45", id="no total"),
        pytest.param(Report(step=45, total=0), None, None, "step 45", id="a total of nothing"),
        pytest.param(Report(step=45, total=40, seconds_per_step=1), 100, 0, "100%", id="past its end"),
        pytest.param(Report(metrics={"loss": 2}), None, None, "loss 2", id="metrics only"),
        pytest.param(Report(step=1, resumed_from=0, attempt=1), None, None, "step 1", id="a first start"),
        pytest.param(Report(step=1, resumed_from=0, attempt=2), None, None, "step 1, attempt 2", id="lost"),
        pytest.param(
            Report(step=250, metrics={"loss": 2}, resumed_from=200, attempt=3),
            None,
            None,
            "step 250, loss 2, resumed from step 200, attempt 3",
            id="resumed",
        ),
    ],
)
def test_percent_time_left_and_words(
    report: Report, percent: int | None, left: int | None, words: str
) -> None:
    assert (report.percent, report.seconds_left, in_words(report)) == (percent, left, words)


def test_a_metric_that_is_not_finite_is_shown_and_warned_of_once(service: Service) -> None:
    document = {
        "step": 9,
        "total": 10,
        "metrics": {"loss": "NaN", "norm": "Infinity", "accuracy": 0.5},
        "history": [{"step": 4, "metrics": {"loss": 3.394}}, {"step": 5, "metrics": {"loss": "NaN"}}],
        "notFinite": {
            "loss": {"value": "NaN", "since": 5, "lastStep": 4, "lastValue": 3.394},
            "norm": {"value": "Infinity", "since": 0},
        },
    }
    service.script(Answer(document=document))
    report = report_at(endpoint(service), "b", "vertex_cluster_progress.json")
    assert report is not None
    assert in_words(report) == "90%, loss nan, norm inf, accuracy 0.5"
    assert "loss nan" in line(RUNNING, Counts(), report)
    assert report.trend == (3.394,)
    assert list(warnings_of(report).values()) == [
        "loss is NaN since step 5; it was last finite at step 4 (3.394)",
        "norm is Infinity since step 0; it was never finite",
    ]
    status = Status(endpoint=endpoint(service), record=RUNNING, report=report).document()
    assert json.loads(json.dumps(without_nan(status), allow_nan=False))["notFinite"][0] == {
        "metric": "loss",
        "value": "NaN",
        "since": 5,
        "lastStep": 4,
        "lastValue": 3.394,
    }


@pytest.mark.parametrize("document", [[], {"loss": 1}, {"loss": {"value": 3}}, {"loss": {"value": "no"}}])
def test_a_foreign_list_of_metrics_that_are_not_finite_is_passed_over(
    service: Service, document: object
) -> None:
    service.script(Answer(document={"step": 1, "notFinite": document}))
    assert report_at(endpoint(service), "b", "r.json") == Report(step=1)


@pytest.mark.parametrize(
    ("state", "text", "source"),
    [
        ("SUCCEEDED", '{"loss": NaN}', "metrics.json"),
        ("SUCCEEDED", None, "last report"),
        ("FAILED", '{"loss": 1}', "last report"),
    ],
)
def test_results_name_their_source(service: Service, state: str, text: str | None, source: str) -> None:
    def answer(asked: Asked) -> Answer:
        if "metrics.json" in asked.path:
            return Answer(text=text) if text else refusal(404, "NOT_FOUND", "no such object")
        return Answer(document={"step": 1, "metrics": {"loss": "NaN"}})

    service.script(answer)
    wire = {"jobSpec": {"workerPoolSpecs": [], "baseOutputDirectory": {"outputUriPrefix": "gs://b/run/"}}}
    result = result_of(endpoint(service), replace(RUNNING, state=JobState[f"JOB_STATE_{state}"], wire=wire))
    assert (result.source, metric_text(result.metrics["loss"])) == (source, "nan")


def test_the_best_value_of_a_metric_is_finite() -> None:
    nan, inf = float("nan"), float("inf")
    curves = [{"loss": ((1.0, nan), (2.0, 0.5), (3.0, -inf))}, {"loss": ((1.0, nan),)}]
    [found] = metrics_of([{}, {}], curves)
    assert found == Metric(name="loss", better="lower", last=(-inf, found.last[1]), best=((2.0, 0.5), None))


def endpoint(service: Service) -> Endpoint:
    return Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=service.url,
        storage_url=service.url,
        token="t",
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0s"), (59.9, "59s"), (125, "2m05s"), (7800, "2h10m"), (180000, "2d02h")]
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("states", "counts"),
    [
        pytest.param("", Counts(), id="unknown"),
        pytest.param("c running, w running", Counts("2/2"), id="all run"),
        pytest.param("c running, w succeeded, w succeeded", Counts("3/3", "w 2/2 done"), id="ended well"),
        pytest.param("c running, w pending, w pending", Counts("1/3"), id="not started"),
        pytest.param(
            "c running, w running, w restarting", Counts("2/3", "w 1/2 (1 restarting)"), id="one is missing"
        ),
    ],
)
def test_a_replica_that_has_ended_well_is_not_missing(states: str, counts: Counts) -> None:
    replicas = [
        ReplicaState(name=str(number), role=one.split()[0], state=one.split()[1])
        for number, one in enumerate(filter(None, states.split(", ")))
    ]
    assert count_by_role(replicas) == counts


def test_the_line_begins_with_the_important() -> None:
    report = Report(step=45, total=100, seconds_per_step=2.5, metrics={"loss": 0.25})
    shown = line(RUNNING, Counts("4/4", "worker 2/2 done"), report)
    assert shown == "45% 2m18s left loss 0.25 4/4, worker 2/2 done"
    assert line(RUNNING, Counts(), None) == "running"
    resumed = Report(step=250, resumed_from=200, attempt=1)
    assert line(RUNNING, Counts(), resumed) == "running, step 250, resumed from step 200"
