"""The page of a job: its strip of numbers, its totals, its title, and the parts that lead to a first job."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.emulator_api import ReplicaState
from pulumi_vertex_training.cloud.jobs import JobState
from pulumi_vertex_training.runs.monitoring.progress import NotFinite, Report
from pulumi_vertex_training.ui.pages.all_pages import tab_of
from pulumi_vertex_training.ui.pages.job.strip import Tile, tiles
from pulumi_vertex_training.ui.server.rendering import environment, ticks
from pulumi_vertex_training.ui.source import job as jobs
from pulumi_vertex_training.views.metrics.metrics import Metrics
from support.client.ui.everything import endpoint_of
from support.emulated.job_emulator import job, pool
from support.emulated.ui.dashboard import Dashboard, running
from support.emulated.ui.scene import FLAG, Scene
from vertex_emulator.client.launcher import Emulator


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    return Scene(emulator)


def test_the_first_page_of_an_empty_project_leads_to_a_first_job(data_dir: Path, emulator: Emulator) -> None:
    with running("--data-dir", str(data_dir), "--project", "nobody") as empty:
        html = empty.text("/")
        assert "No jobs yet in nobody, us-central1" in html and 'data-copy="make up"' in html
        Scene(emulator).post("/v1/projects/nobody/locations/us-central1/customJobs", job(pool("")))
        assert "No jobs yet" not in empty.text("/")


def test_the_strip_has_progress_metrics_cost_and_replicas(dashboard: Dashboard, scene: Scene) -> None:
    scene.bucket("flags")
    report = """{"step": 45, "total": 100, "secondsPerStep": 2, "metrics": {"loss": 0.25},
        "history": [{"step": 45, "metrics": {"loss": 0.25, "accuracy": 0.5}}]}"""
    code = (
        "import os; os.makedirs('/gcs/flags/run', exist_ok=True)\n"
        f"open('/gcs/flags/run/vertex_cluster_progress.json', 'w').write({report!r})\n"
        "open('/gcs/flags/written', 'w').close()\n"
    )
    directory = {"outputUriPrefix": "gs://flags/run"}
    key = scene.create(
        pool(code + FLAG.format(name="end")),
        pool("", replicas=2),
        name="strip",
        baseOutputDirectory=directory,
    )
    collection, _, job_id = key.partition("/")

    def shown(model: jobs.Job) -> dict[str, Tile]:
        return {one.name: one for one in tiles(model)}

    endpoint = endpoint_of(scene)
    scene.wait(key, "JOB_STATE_RUNNING")
    with dashboard.events(f"/live/jobs/{key}") as events:
        for event in events:
            if event.name == "parts" and "accuracy" in event.data["fragments"].get("strip", ""):
                break
    found = shown(jobs.read(endpoint, collection, job_id))
    assert (found["Progress"].figure, found["Progress"].under) == ("45", "1m50s left")
    assert (found["loss"].figure, found["accuracy"].figure, found["loss"].under) == ("0.25", "0.5", "step 45")
    assert "/h on Google Cloud" in found["Cost so far"].under and found["Replicas"].unit == "/3"
    html = dashboard.text(f"/jobs/{key}")
    assert re.search(r'data-title="▶ 45% strip" data-icon="running"', html)
    assert re.search(r"3 x n1-standard-4 · 12 vCPU · \$0\.\d+/h", html)
    scene.raise_flag("end")
    scene.wait(key)
    model = jobs.read(endpoint, collection, job_id)
    assert list(shown(model)) == ["Ran for", "loss", "accuracy", "Cost", "Replicas"]
    assert (shown(model)["Replicas"].figure, shown(model)["Replicas"].under) == ("3", "succeeded")
    live = replace(model, row=replace(model.row, ended=""), report=Report(step=7))
    tile = shown(live)["Running for"]
    assert (tile.under, tile.since) == ("step 7", model.row.started)
    waiting = replace(live, row=replace(live.row, started=""))
    assert shown(waiting)["Waiting for"].since == model.row.created


def test_backticks_are_code_and_everything_is_escaped() -> None:
    assert ticks("run `a <b>` & go") == "run <code>a &lt;b&gt;</code> &amp; go"
    assert ticks("a ` b <i>") == "a ` b &lt;i&gt;"


@pytest.mark.parametrize(
    ("path", "tab"),
    [
        ("/", "/"),
        ("/jobs/customJobs/1", "/"),
        ("/experiments/digits", "/experiments"),
        ("/storage/folder", "/storage"),
        ("/storages", "/"),
    ],
)
def test_a_page_belongs_to_a_tab(path: str, tab: str) -> None:
    assert tab_of(path) == tab


def test_links_to_shells_and_replicas_that_are_far_behind(scene: Scene) -> None:
    key = scene.create(pool(""), name="shells")
    model = jobs.read(endpoint_of(scene), *key.split("/"))
    assert (model.shells, model.stragglers) == ((), ())
    links = (("workerpool0-0", "https://chief.example/?a=1&b=2"), ("workerpool1-0", "javascript:alert(1)"))
    behind = ("workerpool1-0 is 340 steps behind, at step 12",)
    report = Report(not_finite=(NotFinite(metric="loss", value=float("nan"), since=5),))
    html = (
        environment()
        .get_template("job/facts.html")
        .render({"job": replace(model, shells=links, stragglers=behind, report=report)})
    )
    assert '<a href="https://chief.example/?a=1&amp;b=2" rel="noreferrer">workerpool0-0</a>' in html
    assert "javascript" not in html and ", workerpool1-0</p>" in html
    assert f"Behind: {behind[0]}" in html
    assert "Warning: loss is NaN since step 5; it was never finite" in html


def test_a_job_that_has_ended_names_its_source_of_metrics_and_who_ended_with_the_chief(scene: Scene) -> None:
    key = scene.create(pool(""), pool("", replicas=2), name="ended")
    model = jobs.read(endpoint_of(scene), *key.split("/"))
    record = replace(model.record, state=JobState.JOB_STATE_SUCCEEDED)
    states = [
        ReplicaState(name="workerpool0-0", role="chief", state="succeeded", exit_code=0),
        ReplicaState(name="workerpool1-0", role="worker", state="stopped", exit_code=143),
        ReplicaState(name="workerpool1-1", role="worker", state="stopped", exit_code=143),
    ]
    for state, tile in (
        (JobState.JOB_STATE_SUCCEEDED, ("2 ended with the chief", "ended with the chief")),
        (JobState.JOB_STATE_CANCELLED, ("2 stopped", "stopped")),
    ):
        record = replace(model.record, state=state)
        pools = tuple(jobs._pools(jobs._drawing(record, model.cost), record, states))
        metrics = Metrics(values=(("loss", "nan"), ("accuracy", "0.5")), source="last report")
        ended = replace(model, record=record, pools=pools, metrics=metrics)
        found = {one.name: one for one in tiles(ended)}
        assert (found["Replicas"].under, found["Replicas"].state) == tile
        assert (found["loss"].figure, found["loss"].under) == ("nan", "last report")
        note = "" if state is JobState.JOB_STATE_SUCCEEDED else "exit code 143"
        assert {replica.note for replica in pools[1].replicas} == {note}
