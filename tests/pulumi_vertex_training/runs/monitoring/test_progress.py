"""The report of a program's progress, and the line that is made of it."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.running.declaration import Counts
from pulumi_vertex_training.kinds.custom_job.replica_counts import count_by_role
from pulumi_vertex_training.program.waiting.progress import line
from pulumi_vertex_training.runs.monitoring.progress import Report, duration, in_words

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


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0s"), (59.9, "59s"), (125, "2m05s"), (7800, "2h10m"), (180000, "2d02h")],
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
