"""Tuning jobs of a killed emulator: no trial is lost or runs twice."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from support.emulated.job_emulator import (
    JobEmulator,
    job_id,
    pool,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.emulated.services.killed_emulator import killed_after_block
from support.emulated.services.studies import double, study_spec
from support.emulated.services.tuning import (
    JOBS,
    PARSED,
    QUICK,
    create,
    metric_of,
    trial_states,
    values_of,
    wait_for_trials,
)
from support.waiting import eventually
from vertex_emulator.daemon.vertex_ai import VertexService
from vertex_emulator.jobs.custom import store
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.services.resource_engine.records import Record

MARKED = PARSED + (
    "with open(f\"/gcs/flags/runs-{os.environ['CLOUD_ML_TRIAL_ID']}\", 'a') as file: file.write('run\\n')\n"
    "report(x / 2, 1)\ntime.sleep(0.3)\nreport(x, 2)\n"
)


def custom_jobs(emulator: JobEmulator) -> list[str]:
    return [each["name"] for each in emulator.call("GET", "/_local/jobs").json()["jobs"]]


def ran_once(emulator: JobEmulator, trials: int) -> bool:
    return all((emulator.flags / f"runs-{n}").read_text() == "run\n" for n in range(1, trials + 1))


@pytest.mark.parity(
    "Tuning jobs: a killed emulator, with trials running",
    own_way="the next start continues; no trial runs twice and no measurement is lost",
)
def test_an_emulator_that_is_killed_again_and_again(tmp_path: Path, sandbox: Sandbox) -> None:
    data = tmp_path / "data"
    name = ""
    for seconds in (0.4, 0.9, 1.4, 0.2):
        with killed_after_block(data) as emulator:
            name = name or create(emulator, pool(MARKED), trials=10, parallel=3)
            time.sleep(seconds)
    with running_jobs(data, sandbox=sandbox) as emulator:
        done = emulator.wait(name)
        assert done["state"] == "JOB_STATE_SUCCEEDED", done
        assert trial_states(done) == ["SUCCEEDED"] * 10
        assert ran_once(emulator, 10)
        assert len(custom_jobs(emulator)) == 10
        assert sorted(custom_jobs(emulator)) == sorted(each["customJob"] for each in done["trials"])
        for trial in done["trials"]:
            assert metric_of(trial) == values_of(trial)["x"]
            assert [each["stepCount"] for each in trial["measurements"]] == ["1", "2"]
            wait_until_gone(trial["customJob"])
        assert emulator.delete(name).status == 200
        assert custom_jobs(emulator) == []


def test_measurements_that_were_read_before_are_not_read_again(tmp_path: Path, sandbox: Sandbox) -> None:
    data = tmp_path / "data"
    program = PARSED + "for step in range(1, 6): report(x, 0)\n" + wait_for_flags("go") + "report(x, 0)\n"
    with killed_after_block(data) as emulator:
        name = create(emulator, pool(program), trials=1)
        eventually(lambda: len((emulator.get(name).get("trials") or [{}])[0].get("measurements", ())) == 5)
    (data / "buckets" / "flags" / "go").touch()
    with running_jobs(data, sandbox=sandbox) as emulator:
        assert len(emulator.wait(name)["trials"][0]["measurements"]) == 6


def test_a_cancellation_survives(tmp_path: Path, sandbox: Sandbox) -> None:
    data = tmp_path / "data"
    program = PARSED + "import signal; signal.signal(15, signal.SIG_IGN)\nreport(x)\ntime.sleep(600)\n"
    with killed_after_block(data) as emulator:
        name = create(emulator, pool(program), trials=5, parallel=2)
        trials = wait_for_trials(emulator, name, 2, "ACTIVE")
        assert emulator.cancel(name).status == 200
    with running_jobs(data, sandbox=sandbox) as emulator:
        done = emulator.wait(name)
        assert done["state"] == "JOB_STATE_CANCELLED"
        assert len(done["trials"]) == 2
        for trial in trials:
            wait_until_gone(trial["customJob"])


class KilledError(Exception):
    """Represents the end of the process at that point."""


@pytest.mark.parity("Tuning jobs: a killed emulator, with trials running")
@pytest.mark.parametrize("killed_at", ["submit", "submitted"])
def test_a_kill_around_the_creation_of_a_custom_job(tmp_path: Path, sandbox: Sandbox, killed_at: str) -> None:
    def kill(step: str, _: Record) -> None:
        if step == killed_at:
            raise KilledError

    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        service = emulator.daemon._jobs
        assert isinstance(service, VertexService)
        tuning = service.tuning
        emulator.daemon.scheduler.close()  # the test calls each step
        name = create(emulator, pool(MARKED), trials=1)
        tuning._driver.on_step = kill
        with pytest.raises(KilledError):
            tuning._driver.step(job_id(name))
        assert trial_states(emulator.get(name)) == ["REQUESTED"]
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        done = emulator.wait(name)
        assert trial_states(done) == ["SUCCEEDED"]
        assert ran_once(emulator, 1)
        assert custom_jobs(emulator) == [done["trials"][0]["customJob"]]


def test_a_trial_whose_supervisor_was_killed_is_not_run_again(tmp_path: Path, sandbox: Sandbox) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        program = PARSED + "report(x)\n" + wait_for_flags("go")
        name = create(emulator, pool(program), trials=2, parallel=1)
        (first,) = wait_for_trials(emulator, name, 1, "ACTIVE")
        eventually(lambda: emulator.get(name)["trials"][0].get("measurements"))
        os.kill(emulator.supervisor(first["customJob"]), signal.SIGKILL)
        (emulator.flags / "go").touch()
        done = emulator.wait(name)
        assert trial_states(done)[0] != "ACTIVE"
        jobs = [trial["customJob"] for trial in done["trials"]]
        assert sorted(custom_jobs(emulator)) == sorted(set(jobs))
        assert jobs[0] == first["customJob"]


def test_a_job_that_fails_to_advance_delays_no_other(tmp_path: Path, sandbox: Sandbox) -> None:
    def fail(_: str, job: Record) -> None:
        if job.message.study_spec.parameters[0].parameter_id == "broken" and job.state == store.PENDING:
            raise ZeroDivisionError

    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        service = emulator.daemon._jobs
        assert isinstance(service, VertexService)
        service.tuning._driver.on_step = fail
        stuck = create(emulator, trials=1, study=study_spec(double("broken")))
        assert emulator.wait(create(emulator, pool(QUICK), trials=1))["state"] == "JOB_STATE_SUCCEEDED"
        assert emulator.get(stuck)["state"] == "JOB_STATE_PENDING"
        emulator.cancel(stuck)
        assert emulator.wait(stuck)["state"] == "JOB_STATE_CANCELLED"
        assert len(emulator.call("GET", JOBS).json()["hyperparameterTuningJobs"]) == 2
