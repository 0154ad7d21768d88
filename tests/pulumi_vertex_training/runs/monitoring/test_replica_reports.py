"""Replicas are far behind by their reports, which are of different times."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.running.declaration import Counts
from pulumi_vertex_training.core.running.output.latest_reports import LatestReports
from pulumi_vertex_training.core.running.output.progress_line import line
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.gateway import GATEWAY
from pulumi_vertex_training.runs.monitoring.progress import Report, directory_of
from pulumi_vertex_training.runs.monitoring.replica_reports import Straggler, far_behind, in_words
from pulumi_vertex_training.views.jobs import status
from support.client.in_process.trials import Trial
from support.client.kills.subjects import TUNING_JOB, Declaration
from support.waiting import eventually

NOON = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


def report(step: float | None, *, after: float = 0, pace: float | None = 0.5) -> Report:
    time = (NOON + timedelta(seconds=after)).isoformat()
    return Report(step=step, time=time, seconds_per_step=pace)


@pytest.mark.parametrize(
    ("reports", "behind"),
    [
        pytest.param([report(100), report(100), report(40)], {"2": 60}, id="one of three"),
        pytest.param([report(100), report(40)], {"1": 60}, id="the slower one of two"),
        pytest.param([report(100), report(95), report(91)], {}, id="less than a tenth"),
        pytest.param([report(100, pace=0.1), report(80, pace=0.1)], {}, id="two seconds"),
        pytest.param([report(100, after=14), report(72)], {}, id="an older report at the same pace"),
        pytest.param([report(400, after=150), report(100)], {"1": 300}, id="silent for minutes"),
        pytest.param([report(100), report(None), report(100)], {}, id="no step"),
        pytest.param([report(1, pace=None), report(100, pace=None)], {}, id="no pace yet"),
        pytest.param([report(1)], {}, id="alone"),
        pytest.param([report(200)] * 4 + [report(9), report(5)], {"5": 195, "4": 191}, id="the last first"),
    ],
)
def test_who_is_far_behind(reports: list[Report], behind: dict[str, int]) -> None:
    found = far_behind({str(number): one for number, one in enumerate(reports)})
    assert [(one.replica, one.behind) for one in found] == list(behind.items())


def test_a_report_without_a_time_counts_for_nothing() -> None:
    assert far_behind({"a": report(100), "b": Report(step=1, time="soon"), "c": Report(step=1)}) == ()


def test_the_words() -> None:
    straggler = Straggler(replica="workerpool1-0", step=12, behind=340, time="")
    assert in_words(straggler) == "workerpool1-0 is 340 steps behind, at step 12"


def test_a_replica_of_a_trial_is_named_with_the_trial(data_dir: Path, endpoint: Endpoint) -> None:
    subject = dataclasses.replace(
        TUNING_JOB,
        needs=('bucket = vt.StagingBucket("bucket", name=f"{name}-bucket", force_destroy=True)\n',),
        text=TUNING_JOB.text.replace("    **{", "    staging_bucket=bucket, **{"),
    )
    trial = Trial(subject=subject, data_dir=data_dir)
    trial.up(Declaration())
    (job,) = trial.records()

    def states() -> list[str]:
        return [one.state for one in GATEWAY.trials(GATEWAY.get(endpoint, job["name"]))]

    eventually(lambda: states() == ["ACTIVE", "ACTIVE"], what=states)
    for replica, step in (("workerpool0-0", 100), ("workerpool1-0", 40)):
        name = f"{trial.name}/{trial.run()['key']}/2/vertex_cluster_replicas/{replica}.json"
        path = f"/upload/storage/v1/b/{trial.name}-bucket/o?uploadType=media&name={quote(name, safe='')}"
        report = {"step": step, "time": NOON.isoformat(), "secondsPerStep": 0.5}
        trial.control.call("POST", path, report)
    record = GATEWAY.get(endpoint, job["name"])
    (found,) = status.stragglers_of(endpoint, record)
    assert in_words(found) == "trial-2/workerpool1-0 is 60 steps behind, at step 40"

    reports = LatestReports(directory_of(record))

    def row() -> str:
        return line(record, Counts(short="2/2"), reports.latest(endpoint, record), reports.stragglers)

    eventually(lambda: row().endswith(f", {in_words(found)}"), what=row)
    trial.engine.destroy()
