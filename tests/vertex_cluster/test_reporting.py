"""`vertex_cluster.report` writes how far a training is, and never ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from support.waiting import eventually
from vertex_cluster.reporting import Reporter, report_path

WORKER = json.dumps(
    {
        "cluster": {"workerpool0": ["a:2222"], "workerpool1": ["b:2222"]},
        "task": {"type": "workerpool1", "index": 0},
    }
)
MODEL = {"AIP_MODEL_DIR": "gs://bucket/run/model/"}


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        pytest.param({}, None, id="outside a job"),
        pytest.param(MODEL, "/gcs/bucket/run/vertex_cluster_progress.json", id="a job of one replica"),
        pytest.param({**MODEL, "CLUSTER_SPEC": WORKER}, None, id="a worker"),
        pytest.param({**MODEL, "LOCAL_RANK": "1"}, None, id="the second process"),
        pytest.param(
            {"AIP_MODEL_DIR": "gs://elsewhere", "AIP_CHECKPOINT_DIR": "gs://bucket/1/checkpoints"},
            "/gcs/bucket/1/vertex_cluster_progress.json",
            id="another model directory",
        ),
    ],
)
def test_where_it_writes(environ: dict[str, str], path: str | None) -> None:
    assert report_path(environ) == path


def test_the_last_report_is_written_with_the_pace(tmp_path: Path) -> None:
    file = tmp_path / "run" / "progress.json"
    reporter = Reporter(str(file))
    for step in range(100):
        reporter.add(step, 200, {"loss": 0.5, "none": None})
    reporter.flush()
    eventually(lambda: file.exists() and json.loads(file.read_text())["step"] == 99)
    found = json.loads(file.read_text())
    assert (found["total"], found["metrics"]) == (200, {"loss": 0.5})
    assert found["secondsPerStep"] >= 0
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_metrics_that_are_not_finite_are_texts_with_the_step_since_when(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    reporter = Reporter(str(file))
    nan, inf = float("nan"), float("inf")
    for step, (loss, norm, other) in enumerate(
        [(2.5, nan, inf), (3.394, inf, 1), (nan, -inf, 2), (nan, -inf, 3)]
    ):
        reporter.add(step, 10, {"loss": loss, "norm": norm, "other": other})
    reporter.flush()
    eventually(lambda: file.exists() and json.loads(file.read_text())["step"] == 3)
    found = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found["metrics"] == {"loss": "NaN", "norm": "-Infinity", "other": 3}
    assert [one["metrics"]["loss"] for one in found["history"]] == [2.5, 3.394, "NaN", "NaN"]
    assert found["notFinite"] == {
        "loss": {"value": "NaN", "since": 2, "lastStep": 1, "lastValue": 3.394},
        "norm": {"value": "-Infinity", "since": 2},
    }


def test_when_the_count_starts_again_the_pace_does_too(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    reporter = Reporter(str(file))
    for step in (5, 6, 1):
        reporter.add(step, 10, {})
    reporter.flush()
    eventually(lambda: file.exists() and json.loads(file.read_text())["step"] == 1)
    assert json.loads(file.read_text())["secondsPerStep"] is None


def test_a_report_never_ends_the_training(tmp_path: Path) -> None:
    program = (
        "import vertex_cluster; vertex_cluster.report(step='many', total=object()); "
        "vertex_cluster.report(step=1, loss=0.5); print('trained')"
    )
    environ = {**os.environ, "AIP_MODEL_DIR": f"gs://no-bucket-{tmp_path.name}/model", "CLUSTER_SPEC": ""}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "Traceback" not in done.stderr


def test_a_report_has_the_past_ones_thinned_and_the_latest(tmp_path: Path) -> None:
    file = tmp_path / "progress.json"
    reporter, began = Reporter(str(file)), time.time()
    for step in range(1000):
        reporter.add(step, None, {"loss": step / 2})
    reporter.add(1000, None, {})
    reporter.flush()
    eventually(lambda: file.exists() and json.loads(file.read_text())["step"] == 1000)
    past = json.loads(file.read_text())["history"]
    assert len(past) <= 257
    assert [past[0], past[-1]] == [
        {"step": step, "metrics": {"loss": step / 2}, "at": one["at"]}
        for step, one in ((0, past[0]), (999, past[-1]))
    ]
    assert began <= past[0]["at"] + 0.1 <= past[-1]["at"] + 0.1 <= time.time() + 0.2
    steps = [one["step"] for one in past[:-1]]
    assert len({after - before for before, after in pairwise(steps)}) == 1
