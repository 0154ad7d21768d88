"""`TrainingSchedule` on the real Pulumi CLI and an emulator, whose clock the test advances."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.training_schedule import gateway
from pulumi_vertex_training.kinds.training_schedule.gateway import ScheduleRecord
from support.client.engine import Engine, Result
from support.emulated import command
from support.waiting import eventually
from vertex_training.fields.labels import KEY_LABEL

# Shown quicker in tests/pulumi_vertex_training: kinds/training_schedule/test_schedules_on_the_emulator.py,
# package/test_other_kinds.py
pytestmark = pytest.mark.slow

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
pulumi.export("schedule", [nightly.schedule_id, nightly.name])
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
    submitted: list[dict[str, Any]]
    listed: dict[str, Any]
    table: str
    announced: Result
    changed: Result
    after: ScheduleRecord
    drift: dict[str, Any]
    repaired: Result
    restored: ScheduleRecord
    resumed: ScheduleRecord
    kept: dict[str, str]
    destroyed: Result
    left: tuple[list[Any], dict[str, str], list[str]]


class Cloud:
    """The emulator of a project."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.endpoint = engine.endpoint()

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return rest.call(self.endpoint, "POST", f"{self.endpoint.vertex_url}{path}", body=body)

    def advance(self, seconds: float) -> None:
        self.post("/_local/clock/advance", {"seconds": seconds})

    def runs(self) -> dict[str, str]:
        """Return the state of each run of the schedule, oldest first."""
        found = custom_jobs.list_by_label(self.endpoint, {"pulumi-resource": "nightly"})
        return {record.name: record.state.word for record in reversed(found)}

    def wait_for_runs(self, *states: str) -> dict[str, str]:
        """Wait until the runs have these states, oldest first."""
        return eventually(lambda: [*(found := self.runs()).values()] == [*states] and found, what=self.runs)

    def command(self, *arguments: str) -> str:
        env = {**self.engine.environment, "COLUMNS": "100"}
        ran = command.run(*arguments, env=env, folder=self.engine.folder)
        assert ran.code in (0, 1), ran.err
        return ran.out


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    cloud = Cloud(engine)
    endpoint = cloud.endpoint
    cloud.post("/_local/clock/freeze", {})

    engine.write(program(END, schedule="0 25 * * *", time_zone="Europe/Berlni", overlap="skip"))
    mistaken = engine.preview().failed()
    engine.write(program(SLEEP, schedule="0 3 * * *", time_zone="Asia/Tokyo"))
    planned, deployed = engine.preview_and_up("--diff")
    deployed.ok()
    outputs, made = engine.outputs(), gateway.get(endpoint, NAME)
    state = json.dumps(engine.checkpoint())
    unchanged = engine.up("--refresh").ok()
    for count in (1, 2):
        cloud.advance(DAY)
        cloud.wait_for_runs(*["RUNNING"] * count)
    submitted = [custom_jobs.get(endpoint, name).wire for name in cloud.runs()]
    listed = json.loads(cloud.command("runs", "nightly", "--json"))
    table = cloud.command("runs", "nightly")

    often = {"schedule": "*/30 4 * * MON-FRI", "on_delete": "delete"}
    engine.write(program(SLEEP + "  # again", paused=True, **often))
    announced, changed = engine.preview_and_up()
    changed.ok()
    after = gateway.get(endpoint, NAME)
    gateway.patch_job(endpoint, {**after.job, "schedule": "1 1 1 1 *", "timeZone": "Europe/Berlin"})
    drift = json.loads(cloud.command("drift", "--json"))
    repaired = engine.up("--refresh").ok()
    restored = gateway.get(endpoint, NAME)
    engine.write(program(SLEEP + "  # again", **often))
    engine.up().ok()
    resumed = gateway.get(endpoint, NAME)
    kept = cloud.runs()
    destroyed = engine.destroy().ok()
    jobs = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/v1/{PARENT}/jobs").get("jobs", [])
    others = [record.name for record in custom_jobs.list_by_label(endpoint, {"pulumi-resource": "train"})]
    return Steps(
        mistaken=mistaken,
        planned=planned,
        outputs=outputs,
        made=made,
        state=state,
        unchanged=unchanged,
        submitted=submitted,
        listed=listed,
        table=table,
        announced=announced,
        changed=changed,
        after=after,
        drift=drift,
        repaired=repaired,
        restored=restored,
        resumed=resumed,
        kept=kept,
        destroyed=destroyed,
        left=(jobs, cloud.runs(), others),
    )


def test_all_mistakes_are_reported_at_once(steps: Steps) -> None:
    output = steps.mistaken.output
    assert "'25' is not an hour; it has the values 0 to 23" in output
    assert "'Europe/Berlni' is not a time zone; did you mean Europe/Berlin" in output
    assert "'skip' is not possible: Cloud Scheduler starts each run at its time" in output
    assert "give the job a timeout below the time between two runs" in output


def test_the_preview_shows_the_next_three_times_and_the_names(steps: Steps) -> None:
    line = next(each for each in steps.planned.ok().output.splitlines() if "nightly is due next" in each)
    assert line.count(" 03:00 JST") == 3
    assert NAME in steps.planned.output


def test_the_schedule_calls_vertex_ai_with_the_request_of_the_job(steps: Steps) -> None:
    job = steps.made.job
    assert (job["schedule"], job["timeZone"], job["state"]) == ("0 3 * * *", "Asia/Tokyo", "ENABLED")
    assert job["httpTarget"]["uri"].endswith(f"/v1/{PARENT}/customJobs")
    assert steps.made.labels[KEY_LABEL]
    assert steps.outputs["schedule"] == ["engine-test-test-nightly", NAME]


def test_a_secret_of_the_job_is_encrypted_in_the_state(steps: Steps) -> None:
    assert "hush-hush" not in steps.state
    assert "engine-test-test-nightly" in steps.state


def test_an_unchanged_program_changes_nothing(steps: Steps) -> None:
    assert re.search(r"Resources:\n +\d+ unchanged\n", steps.unchanged.output)


def test_a_run_is_submitted_each_time_with_the_same_directory(steps: Steps) -> None:
    assert len(steps.submitted) == 2
    for run in steps.submitted:
        directory = run["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"]
        assert directory == "gs://local-engine-test-test-data/nightly/"
    assert "nightly: job: each run has the same output directory" in steps.planned.output


def test_the_runs_are_listed_under_the_schedule(steps: Steps) -> None:
    resource = steps.listed["resource"]
    assert (resource["name"], resource["isSchedule"], resource["kind"]) == ("nightly", True, "custom job")
    for run in steps.listed["runs"]:
        assert (run["reason"], run["state"]) == ("schedule", "JOB_STATE_RUNNING")
    assert "schedule nightly of stack engine-test/test" in steps.table
    assert "Run 1: its schedule submitted it" in steps.table


def test_cron_time_zone_and_request_change_in_place(steps: Steps) -> None:
    assert "nightly updated" in steps.changed.output
    assert "nightly replaced" not in steps.changed.output
    assert (steps.after.job["schedule"], steps.after.job["timeZone"]) == ("*/30 4 * * MON-FRI", "Etc/UTC")
    assert "destroying it will cancel its live runs" in steps.announced.output, steps.announced.output


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


def test_destroying_deletes_the_runs_on_demand(steps: Steps) -> None:
    assert [*steps.kept.values()] == ["RUNNING", "RUNNING"]
    assert "schedule nightly: deleted the records of its runs: 2" in steps.destroyed.output
    assert steps.left == ([], {}, [])
