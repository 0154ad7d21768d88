"""Notifications on the real engine: they are sent, no secret is anywhere, and no change reruns a job."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import emulator_api
from pulumi_vertex_training.cloud.emulator_api import Delivery
from support import json_schema
from support.client.engine import Engine, Result
from support.emulated.command import run as run_command
from support.notifications.receiver import Posted, Receiver, receiver
from support.tables import not_empty
from support.waiting import eventually
from vertex_emulator.jobs.notifications import subscriptions

pytestmark = pytest.mark.slow

TOKEN = "t0k3n-of-the-webhook"
WORD = "w0rd-of-the-command"
REPORT = """
import json, os, pathlib, sys
target = pathlib.Path(sys.argv[1], os.environ["VERTEX_TRAINING_RUN_JOB_ID"])
target.with_suffix(".new").write_text(json.dumps({"word": sys.argv[2], **json.load(sys.stdin)}))
target.with_suffix(".new").rename(target)
"""
PROGRAM = """
import sys

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"

def pool(code):
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["python3", "-c", code]},
    }

hook = config.require_secret("hook")
command = [sys.executable, config.require("report"), config.require("target"), config.require_secret("word")]
sent = {
    "all": [
        vt.NotificationArgs(webhook=hook),
        vt.NotificationArgs(on=["succeeded"], command=command, pubsub_topic="runs"),
    ],
    "one": {"webhook": hook.apply(lambda url: url.replace("/all", "/one"))},
    "none": None,
}[config.get("sent") or "all"]
job = vt.CustomJob(
    "train",
    worker_pool_specs=[pool("pass")],
    run_token=config.get("run_token"),
    notifications=sent,
    wait="done",
)
pulumi.export("job", job.id)
"""
KINDS = """
space = {"parameter_id": "x", "discrete_value_spec": {"values": [1, 2]}}
REPORTS = "import hypertune as h; h.HyperTune().report_hyperparameter_tuning_metric('loss', 1.0, 1)"
bucket = vt.StagingBucket("notified", force_destroy=True)
plain = f"{hook_url}/each-kind" if (hook_url := config.get("plain")) else ""
tuning = vt.HyperparameterTuningJob(
    "tuning",
    study_spec={"metrics": [{"metric_id": "loss", "goal": "MINIMIZE"}], "parameters": [space]},
    max_trial_count=2,
    parallel_trial_count=2,
    trial_job_spec={"worker_pool_specs": [pool(REPORTS)]},
    staging_bucket=bucket,
    notifications={"webhook": plain},
    wait="done",
)
pipeline = vt.TrainingPipeline(
    "pipeline",
    custom_task=vt.task_from_image(IMAGE, command=["python3", "-c", "pass"]),
    staging_bucket=bucket,
    notifications=vt.NotificationArgs(webhook=plain),
    wait="done",
)
vt.DistributedTraining(
    "failing",
    chief=pool("raise SystemExit(3)"),
    bucket=bucket,
    notifications=vt.NotificationArgs(webhook=plain, on=["failed"]),
    wait="none",
)
"""


@dataclass(kw_only=True)
class Steps:
    """The outputs of the commands on one stack, its states as text, and what was sent by then."""

    results: dict[str, Result]
    jobs: dict[str, str]
    states: dict[str, str]
    posted: dict[str, list[Posted]]
    reports: list[dict[str, str]]
    deliveries: tuple[Delivery, ...]
    status: str
    document: dict[str, Any]
    subscriptions: dict[str, int]
    logs: str


def command(engine: Engine, *arguments: str) -> str:
    """Return what `vertex-training` prints about the emulator of a project."""
    env = {**os.environ, "VERTEX_TRAINING_DATA_DIR": str(engine.data_dir)}
    ended = run_command(*arguments, env=env)
    assert ended.code == 0, ended.err
    return ended.out


@pytest.fixture(scope="module")
def hook() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@pytest.fixture(scope="module")
def steps(shared_engine: Engine, hook: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Steps:
    engine, target = shared_engine, tmp_path_factory.mktemp("reports")
    report = target / "report.py"
    report.write_text(REPORT)
    secrets = {"hook": f"{hook.url}/all?token={TOKEN}", "word": WORD}
    words = [word for name, value in secrets.items() for word in ("--secret", f"{name}={value}")]
    engine.run("config", "set-all", *words).ok()
    engine.set("report", str(report))
    engine.set("target", str(target))
    results: dict[str, Result] = {}
    jobs: dict[str, str] = {}
    states: dict[str, str] = {}
    posted: dict[str, list[Posted]] = {}
    files: dict[str, int] = {}

    def note(step: str, result: Result) -> None:
        results[step] = result
        jobs[step] = engine.outputs()["job"]
        states[step] = json.dumps(engine.checkpoint())
        posted[step] = list(hook.posted)
        folder = engine.data_dir / subscriptions.FOLDER
        files[step] = len(list(folder.glob("*.json")))

    def delivered(job: str, count: int) -> tuple[Delivery, ...]:
        def found() -> tuple[Delivery, ...]:
            sent = emulator_api.deliveries(engine.endpoint(), job)
            return sent if [one.state for one in sent] == ["delivered"] * count else ()

        return eventually(found, what=lambda: emulator_api.deliveries(engine.endpoint(), job))

    engine.write(PROGRAM)
    results["first preview"], first = engine.preview_and_up("--diff")
    first.ok()
    sent = delivered(engine.outputs()["job"], 2)
    note("first", first)
    shown = command(engine, "status", jobs["first"])
    document = json.loads(command(engine, "status", jobs["first"], "--json"))
    results["unchanged"] = engine.preview("--expect-no-changes")
    results["refreshed"] = engine.run(
        "refresh", "--yes", "--skip-preview", "--non-interactive", "--expect-no-changes"
    )

    engine.set("sent", "one")
    note("changed", engine.up("--diff").ok())
    engine.set("run_token", "again")
    again = engine.up().ok()
    delivered(engine.outputs()["job"], 1)
    note("again", again)

    subscriptions.remove_all(engine.data_dir)
    note("repaired", engine.up("--refresh").ok())
    engine.set("sent", "none")
    note("none", engine.up().ok())

    engine.set("sent", "one")
    engine.set("plain", hook.url)
    engine.write(PROGRAM + KINDS)
    kinds = engine.up().ok()
    eventually(lambda: sum(one.path == "/each-kind" for one in hook.posted) >= 3, what=lambda: kinds.output)
    note("kinds", kinds)
    return Steps(
        results=results,
        jobs=jobs,
        states=states,
        posted=posted,
        reports=[json.loads(path.read_text()) for path in target.iterdir() if not path.suffix],
        deliveries=sent,
        status=shown,
        document=document,
        subscriptions=files,
        logs=(engine.data_dir / "emulator.log").read_text(),
    )


def test_the_webhook_and_the_command_get_the_end_of_the_run(steps: Steps) -> None:
    (posted,) = steps.posted["first"]
    assert posted.path == f"/all?token={TOKEN}"
    assert (posted.run["event"], posted.run["job"]) == ("succeeded", steps.jobs["first"])
    assert (posted.run["resource"], posted.run["stack"], posted.run["program"]) == (
        "train",
        "test",
        "engine-test",
    )
    (report,) = steps.reports
    assert (report["word"], report["job"]) == (WORD, steps.jobs["first"])


def test_status_shows_the_deliveries(steps: Steps) -> None:
    assert [one.target for one in steps.deliveries] == [
        "notifications[0].webhook",
        "notifications[1].command",
    ]
    assert "Notified: notifications[0].webhook: delivered\n" in steps.status
    assert "          notifications[1].command: delivered\n" in steps.status


def test_the_document_of_status_has_the_documented_keys(steps: Steps) -> None:
    json_schema.check("status", steps.document)
    documented = json_schema.keys("status", "notifications[].")
    for one in not_empty(steps.document["notifications"]):
        assert {f"notifications[].{key}" for key in one} == documented


def test_a_change_of_notifications_reruns_nothing(steps: Steps) -> None:
    steps.results["unchanged"].ok()
    steps.results["refreshed"].ok()
    assert steps.jobs["changed"] == steps.jobs["first"]
    assert "~ 1 updated" in steps.results["changed"].output
    assert "webhook: [secret] => [secret]" in steps.results["changed"].output
    assert steps.jobs["none"] == steps.jobs["repaired"] == steps.jobs["again"] != steps.jobs["first"]
    assert "train updated (" in steps.results["none"].output
    assert "[diff: -notifications]" in steps.results["none"].output


def test_a_rerun_is_reported_as_it_is_declared_by_then(steps: Steps) -> None:
    first, second = steps.posted["again"]
    assert second.path == f"/one?token={TOKEN}"
    assert (first.run["job"], second.run["job"]) == (steps.jobs["first"], steps.jobs["again"])


def test_a_refresh_finds_that_a_subscription_is_gone(steps: Steps) -> None:
    assert steps.subscriptions == {
        "first": 1,
        "changed": 1,
        "again": 1,
        "repaired": 1,
        "none": 0,
        "kinds": 4,
    }
    assert "~ 1 updated" in steps.results["repaired"].output


def test_each_kind_of_job_is_reported_once_and_what_it_runs_is_not(steps: Steps) -> None:
    sent = [one.run for one in steps.posted["kinds"] if one.path == "/each-kind"]
    assert sorted((one["resource"], one["kind"], one["event"]) for one in sent) == [
        ("failing", "CustomJob", "failed"),
        ("pipeline", "TrainingPipeline", "succeeded"),
        ("tuning", "HyperparameterTuningJob", "succeeded"),
    ]


def test_no_state_message_log_or_job_has_a_secret(steps: Steps, shared_engine: Engine) -> None:
    texts = {
        **steps.states,
        **{f"output of {name}": result.output for name, result in steps.results.items()},
        "log of the emulator": steps.logs,
        "status": steps.status,
        "jobs": command(shared_engine, "jobs", "--json"),
        "job": command(shared_engine, "status", steps.jobs["again"], "--json"),
    }
    for name, text in texts.items():
        assert TOKEN not in text, name
        assert WORD not in text, name
    assert "/each-kind" not in steps.states["kinds"]  # a plain address is a secret, too


WRONG = """
pool = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "container_spec": {"image_uri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"},
}
for name, notifications in {
    "on": {"on": ["suceeded"], "webhook": "https://example.com/a"},
    "webhook": vt.NotificationArgs(webhook="example.com/t0k3n"),
    "output": vt.NotificationArgs(webhook=pulumi.Output.from_input("example.com/t0k3n")),
    "target": [{"on": ["failed"]}, {"comand": ["notify"]}],
    "command": {"command": ["./notify.py"]},
    "text": "https://example.com/t0k3n",
}.items():
    try:
        vt.CustomJob(name, worker_pool_specs=[pool], notifications=notifications)
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
"""


def test_mistakes_are_found_in_the_preview(engine: Engine) -> None:
    engine.write(WRONG)
    output = engine.preview().failed().output
    for words in (
        "on: notifications.on[0]: the string 'suceeded'",
        "webhook: notifications.webhook: is not the address of a webhook.",
        "notifications[0].webhook: is not the address of a webhook.",
        "target: notifications[0]: has no target.",
        "target: notifications[1].comand: ",
        "command: notifications.command[0]: is neither a name on PATH nor an absolute path.",
        "text: notifications has a str; give a NotificationArgs or a dictionary",
    ):
        assert words in output
    assert "t0k3n" not in output
