"""`TrainingSchedule` on the real Pulumi CLI and an emulator, whose clock the test advances."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.training_schedule import gateway
from pulumi_vertex_training.kinds.training_schedule.gateway import ScheduleRecord
from support.client.engine import Engine, Result
from support.waiting import eventually
from vertex_training.fields.labels import KEY_LABEL

PARENT = "projects/local/locations/us-central1"
NAME = f"{PARENT}/jobs/engine-test-test-nightly"
DAY = 86_400
PROGRAM = """
bucket = vt.StagingBucket("data")
train = vt.CustomJob(
    "train",
    staging_bucket=bucket,
    wait="none",
    worker_pool_specs=[
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1,
            "container_spec": {
                "image_uri": "python:3.11-slim",
                "command": ["python3", "-c", CODE],
                "env": [{"name": "WORD", "value": pulumi.Output.secret("hush-hush")}],
            },
        }
    ],
)
nightly = vt.TrainingSchedule("nightly", job=train, OPTIONS)
pulumi.export("schedule", [nightly.schedule_id, nightly.name, nightly.workflow])
"""
SLEEP, END = "import time; time.sleep(600)", "print('trained')"


def program(code: str, **options: Any) -> str:
    """Return a program with a job and its schedule."""
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return PROGRAM.replace("CODE", repr(code)).replace("OPTIONS", given)


@dataclass(kw_only=True)
class Steps:
    """The output of deployments of one stack, and the live schedule after each."""

    mistaken: Result
    planned: Result
    outputs: dict[str, Any]
    made: ScheduleRecord
    state: str
    unchanged: Result
    once: list[str]
    skipped: list[str]
    listed: dict[str, Any]
    table: str
    changed: Result
    after: ScheduleRecord
    cancelled: dict[str, str]
    directories: list[str]
    drift: dict[str, Any]
    repaired: Result
    restored: ScheduleRecord
    resumed: ScheduleRecord
    direct: ScheduleRecord
    direct_runs: list[str]
    left: tuple[bool, bool]


class Cloud:
    """The emulator of a project."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.endpoint = engine.endpoint()

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return rest.call(self.endpoint, "POST", f"{self.endpoint.vertex_url}{path}", body=body)

    def advance(self, seconds: float) -> None:
        self.post("/_local/clock/advance", {"seconds": seconds})

    def run_now(self) -> None:
        """Let the schedule call at once, and wait until the workflow has ended or sleeps."""
        self.post(f"/v1/{NAME}:run", {})

    def executions(self) -> list[dict[str, Any]]:
        url = f"{self.endpoint.vertex_url}/v1/{gateway.workflow_name(NAME)}/executions"
        return list(rest.call(self.endpoint, "GET", url, query={"view": "FULL"}).get("executions", []))

    def ended(self, count: int) -> list[str]:
        """Wait until that many executions have ended. Return their results, newest first."""
        done = eventually(
            lambda: len(found := [one for one in self.executions() if "endTime" in one]) >= count and found,
            what=self.executions,
        )
        return [str(one.get("result") or one.get("error")) for one in done]

    def runs(self) -> dict[str, str]:
        """Return the state of each run of the schedule, oldest first."""
        found = custom_jobs.list_by_label(self.endpoint, {"pulumi-resource": "nightly"})
        return {record.name: record.state.word for record in reversed(found)}

    def wait_for_runs(self, *states: str) -> dict[str, str]:
        """Wait until the runs have these states, oldest first."""
        return eventually(lambda: [*(found := self.runs()).values()] == [*states] and found, what=self.runs)

    def command(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "pulumi_vertex_training.cli", *arguments]
        ran = subprocess.run(
            command,
            cwd=self.engine.folder,
            env={**self.engine.environment, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert ran.returncode in (0, 1), ran.stderr
        return ran.stdout


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    cloud = Cloud(engine)
    endpoint = cloud.endpoint
    cloud.post("/_local/clock/freeze", {})

    engine.write(program(END, schedule="0 25 * * *", time_zone="Europe/Berlni", overlap="stop"))
    mistaken = engine.preview().failed()
    engine.write(program(SLEEP, schedule="0 3 * * *", time_zone="Asia/Tokyo"))
    planned, deployed = engine.preview_and_up("--diff")
    deployed.ok()
    outputs, made = engine.outputs(), gateway.get(endpoint, NAME)
    state = json.dumps(engine.checkpoint())
    unchanged = engine.up("--refresh").ok()
    cloud.advance(DAY)
    once = cloud.ended(1)
    cloud.wait_for_runs("RUNNING")
    cloud.advance(DAY)
    skipped = cloud.ended(2)
    listed = json.loads(cloud.command("runs", "nightly", "--json"))
    table = cloud.command("runs", "nightly")

    often = {"schedule": "*/30 4 * * MON-FRI", "overlap": "cancel"}
    engine.write(program(SLEEP + "  # again", paused=True, **often))
    changed = engine.up().ok()
    after = gateway.get(endpoint, NAME)
    cloud.run_now()
    cloud.wait_for_runs("CANCELLED")
    # The workflow may not sleep yet. The schedule is paused, so the time starts nothing else.
    eventually(lambda: cloud.advance(60) or "endTime" in cloud.executions()[0])
    cancelled = cloud.wait_for_runs("CANCELLED", "RUNNING")

    directories = [
        custom_jobs.get(endpoint, name).wire["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"]
        for name in cancelled
    ]

    gateway.patch_job(endpoint, {**after.job, "schedule": "1 1 1 1 *", "timeZone": "Europe/Berlin"})
    drift = json.loads(cloud.command("drift", "--json"))
    repaired = engine.up("--refresh").ok()
    restored = gateway.get(endpoint, NAME)

    engine.write(program(END, **often))
    engine.up().ok()
    resumed = gateway.get(endpoint, NAME)
    direct_program = program(END, schedule="0 3 * * *", overlap="allow").replace(
        "staging_bucket=bucket", "base_output_directory=bucket.url.apply(lambda url: url + '/fixed')"
    )
    engine.write(direct_program)
    engine.up().ok()
    direct = gateway.get(endpoint, NAME)
    before = set(cloud.runs())
    for _ in range(2):
        cloud.run_now()
    direct_runs = eventually(lambda: len(found := [*set(cloud.runs()) - before]) == 2 and found)
    engine.destroy().ok()
    job = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/v1/{PARENT}/jobs").get("jobs", [])
    workflow = gateway.find_workflow(endpoint, gateway.workflow_name(NAME))
    return Steps(
        mistaken=mistaken,
        planned=planned,
        outputs=outputs,
        made=made,
        state=state,
        unchanged=unchanged,
        once=once,
        skipped=skipped,
        listed=listed,
        table=table,
        changed=changed,
        after=after,
        cancelled=cancelled,
        directories=directories,
        drift=drift,
        repaired=repaired,
        restored=restored,
        resumed=resumed,
        direct=direct,
        direct_runs=direct_runs,
        left=(bool(job), workflow is not None),
    )


def test_all_mistakes_are_reported_at_once(steps: Steps) -> None:
    output = steps.mistaken.output
    assert "'25' is not an hour; it has the values 0 to 23" in output
    assert "'Europe/Berlni' is not a time zone; did you mean Europe/Berlin" in output
    assert "'stop' is not one of skip, queue, cancel, allow" in output


def test_the_preview_shows_the_next_three_times_and_the_names(steps: Steps) -> None:
    line = next(each for each in steps.planned.ok().output.splitlines() if "nightly is due next" in each)
    assert line.count(" 03:00 JST") == 3
    assert NAME in steps.planned.output


def test_the_schedule_calls_a_workflow_with_the_request_of_the_job(steps: Steps) -> None:
    job = steps.made.job
    assert (job["schedule"], job["timeZone"], job["state"]) == ("0 3 * * *", "Asia/Tokyo", "ENABLED")
    assert steps.made.calls_workflow
    assert steps.made.workflow is not None
    assert steps.made.labels[KEY_LABEL] == steps.made.workflow["labels"][KEY_LABEL]
    assert steps.outputs["schedule"] == ["engine-test-test-nightly", NAME, gateway.workflow_name(NAME)]


def test_a_secret_of_the_job_is_encrypted_in_the_state(steps: Steps) -> None:
    assert "hush-hush" not in steps.state
    assert "engine-test-test-nightly" in steps.state


def test_an_unchanged_program_changes_nothing(steps: Steps) -> None:
    assert re.search(r"Resources:\n +\d+ unchanged\n", steps.unchanged.output)


def test_a_due_run_is_submitted_once_and_the_next_is_skipped_while_it_is_live(steps: Steps) -> None:
    (run,) = steps.once
    assert "/customJobs/" in run
    assert "skipped" in steps.skipped[0]
    assert run.strip('"') in steps.skipped[0]


def test_the_runs_are_listed_under_the_schedule(steps: Steps) -> None:
    resource = steps.listed["resource"]
    assert (resource["name"], resource["isSchedule"], resource["kind"]) == ("nightly", True, "custom job")
    (run,) = steps.listed["runs"]
    assert (run["run"], run["reason"], run["state"]) == ("1", "schedule", "JOB_STATE_RUNNING")
    assert "schedule nightly of stack engine-test/test" in steps.table
    assert "Run 1: its schedule submitted it" in steps.table


def test_cron_time_zone_policy_and_request_change_in_place(steps: Steps) -> None:
    assert "nightly updated" in steps.changed.output
    assert "nightly replaced" not in steps.changed.output
    assert (steps.after.job["schedule"], steps.after.job["timeZone"]) == ("*/30 4 * * MON-FRI", "Etc/UTC")
    assert steps.after.workflow is not None
    assert steps.after.workflow["labels"]["vertex-training-overlap"] == "cancel"


def test_the_policy_cancel_cancels_the_live_run_first(steps: Steps) -> None:
    assert [*steps.cancelled.values()] == ["CANCELLED", "RUNNING"]


def test_each_run_has_a_directory_of_its_own(steps: Steps) -> None:
    directories = set(steps.directories)
    assert len(directories) == len(steps.cancelled) == 2
    assert all(one.startswith("gs://local-engine-test-test-data/nightly/20") for one in directories)


def test_drift_names_what_was_changed_and_the_next_deployment_repairs_it(steps: Steps) -> None:
    (drift,) = (one for one in steps.drift["changes"] if one["name"] == "nightly")
    assert drift["effect"] == "changed"
    assert any("schedule" in words for words in drift["words"])
    assert (steps.restored.job["schedule"], steps.restored.job["timeZone"]) == (
        "*/30 4 * * MON-FRI",
        "Etc/UTC",
    )


def test_a_schedule_is_paused_and_resumed_in_place(steps: Steps) -> None:
    assert (steps.after.job["state"], steps.resumed.job["state"]) == ("PAUSED", "ENABLED")


def test_without_a_directory_of_each_run_the_scheduler_calls_vertex_ai_itself(steps: Steps) -> None:
    assert steps.direct.job["httpTarget"]["uri"].endswith(f"/v1/{PARENT}/customJobs")
    assert steps.direct.workflow is None
    assert steps.direct.job["state"] == "ENABLED"
    assert len(steps.direct_runs) == 2


def test_destroying_leaves_neither_schedule_nor_workflow(steps: Steps) -> None:
    assert steps.left == (False, False)
