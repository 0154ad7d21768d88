"""Why a job has not started: the same reason in every command and in the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord, JobState
from pulumi_vertex_training.core.running.declaration import Counts
from pulumi_vertex_training.core.running.output.progress_line import line
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import gateway as tuning_jobs
from pulumi_vertex_training.runs.monitoring import waits
from pulumi_vertex_training.ui.source import inventory
from pulumi_vertex_training.ui.source import job as job_page
from pulumi_vertex_training.views import target
from support.emulated.command import Ended, environment, run
from support.emulated.job_emulator import SLEEP, pool
from support.emulated.services.studies import double, study_spec
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

SLOTS = "waits for 9 replica slots; 1 run at once here, and 1 are taken"


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """An emulator with a running job, one that waits for slots, and a tuning job behind it."""

    endpoint: Endpoint
    env: dict[str, str]
    wide: JobRecord
    tuning: JobRecord

    def __call__(self, *words: str) -> Ended:
        return run(*words, env=self.env)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waiting]:
    home = tmp_path_factory.mktemp("waiting")
    data_dir = home / "emulator"
    launcher.ensure(data_dir)
    env = environment(home, VERTEX_TRAINING_DATA_DIR=str(data_dir))
    try:
        assert run("emulator", "replica-limit", "1", env=env).code == 0
        endpoint = target.resolve(target.Choice(data_dir=data_dir), {})
        for name, pools in (("small", [pool(SLEEP)]), ("wide", [pool(SLEEP), pool(SLEEP, replicas=8)])):
            body = {"displayName": name, "jobSpec": {"workerPoolSpecs": pools}}
            record = custom_jobs.create(endpoint, body)
        body = {
            "displayName": "search",
            "maxTrialCount": 2,
            "parallelTrialCount": 2,
            "studySpec": study_spec(double("rate", 0.0, 1.0), algorithm="RANDOM_SEARCH"),
            "trialJobSpec": {"workerPoolSpecs": [pool(SLEEP)]},
        }
        tuning = tuning_jobs.GATEWAY.create(endpoint, body)
        eventually(
            lambda: "trials 1, 2" in waits.wait_of(endpoint, tuning_jobs.GATEWAY.get(endpoint, tuning.name))
        )
        eventually(lambda: run("status", "small", "--json", env=env).json["state"] == "JOB_STATE_RUNNING")
        yield Waiting(endpoint=endpoint, env=env, wide=record, tuning=tuning)
    finally:
        emulator_reset.reset(data_dir)


def test_status_has_the_reason_and_the_command(waiting: Waiting) -> None:
    ended = waiting("status", "wide")
    reason = f"{SLOTS} (`vertex-training emulator replica-limit`)".removeprefix("waits for ")
    assert ended.out.splitlines()[:2] == ["wide  PENDING  custom job", f"Waiting:  for {reason}"]
    assert (
        waiting("status", "wide", "--json").json["waitsFor"].startswith("9 replica slots; 1 run at once here")
    )
    assert "(trials 1, 2)" in waiting("status", "search").out


@pytest.mark.parametrize("command", ["jobs", "top"])
def test_the_tables_have_the_reason_in_short(waiting: Waiting, command: str) -> None:
    rows = waiting(command).out.splitlines()
    wide = next(row for row in rows if SLOTS in row)
    assert "wide" in wide and "replica-limit" not in wide
    search = next(row for row in rows if "search" in row)
    assert "waits for custom job wide, which is before it" in search
    live = waiting("jobs", "--live", "--json").json["jobs"]
    assert [one["displayName"] for one in live if one["waitsFor"] is None] == ["small"]


def test_the_pages_have_the_reason(waiting: Waiting) -> None:
    found = inventory.read(waiting.endpoint)
    assert {job.name: SLOTS in job.details for job in found.jobs if not job.inside} == {
        "small": False,
        "wide": True,
        "search": False,
    }
    assert job_page.read(waiting.endpoint, "customJobs", waiting.wide.job_id).waits_for.startswith(
        "9 replica"
    )


def test_no_job_that_has_not_started_is_without_a_reason(waiting: Waiting) -> None:
    pending = JobRecord(
        name="projects/1/locations/us-central1/customJobs/1",
        display_name="new",
        state=JobState.JOB_STATE_PENDING,
    )
    assert waits.wait_of(waiting.endpoint, pending) == "its start"
    google = Endpoint(kind="google", project="p", location="us-central1")
    assert waits.wait_of(google, pending) == "its start; Google Cloud reports no reason"
    row = line(pending, Counts("0/9"), None, wait=waits.wait_of(waiting.endpoint, waiting.wide))
    assert row == f"pending, {SLOTS}"
