"""Tuning jobs whose emulator is killed: nothing is lost, nothing runs twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.job_emulator import JobEmulator, gone, job_id, pool, running_jobs, wait_for_flags
from support.killed_emulator import to_be_killed
from support.studies import double, study_spec
from support.tuning import JOBS, PARSED, QUICK, create, metric_of, trial_states, values_of, wait_for_trials
from support.waiting import eventually
from vertex_emulator.custom_jobs.sandbox.sandbox import Sandbox
from vertex_emulator.tuning_jobs import step
from vertex_emulator.vertex_ai import VertexService

MARKED = PARSED + (
    "with open(f\"/gcs/flags/runs-{os.environ['CLOUD_ML_TRIAL_ID']}\", 'a') as file: file.write('run\\n')\n"
    "report(x / 2, 1)\ntime.sleep(0.3)\nreport(x, 2)\n"
)


def custom_jobs(emulator: JobEmulator) -> list[str]:
    return [each["name"] for each in emulator.call("GET", "/_local/jobs").json()["jobs"]]


def ran_once(emulator: JobEmulator, trials: int) -> bool:
    return all((emulator.flags / f"runs-{n}").read_text() == "run\n" for n in range(1, trials + 1))


def test_an_emulator_that_is_killed_again_and_again(tmp_path: Path, sandbox: Sandbox) -> None:
    data = tmp_path / "data"
    name = ""
    for seconds in (0.4, 0.9, 1.4, 0.2):
        with to_be_killed(data) as emulator:
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
            gone(trial["customJob"])
        assert emulator.delete(name).status == 200
        assert custom_jobs(emulator) == []


def test_measurements_that_were_read_before_are_not_read_again(tmp_path: Path, sandbox: Sandbox) -> None:
    data = tmp_path / "data"
    program = PARSED + "for step in range(1, 6): report(x, 0)\n" + wait_for_flags("go") + "report(x, 0)\n"
    with to_be_killed(data) as emulator:
        name = create(emulator, pool(program), trials=1)
        eventually(lambda: len((emulator.get(name).get("trials") or [{}])[0].get("measurements", ())) == 5)
    (data / "buckets" / "flags" / "go").touch()
    with running_jobs(data, sandbox=sandbox) as emulator:
        assert len(emulator.wait(name)["trials"][0]["measurements"]) == 6


def test_a_cancellation_survives(tmp_path: Path, sandbox: Sandbox) -> None:
    data = tmp_path / "data"
    program = PARSED + "import signal; signal.signal(15, signal.SIG_IGN)\nreport(x)\ntime.sleep(600)\n"
    with to_be_killed(data) as emulator:
        name = create(emulator, pool(program), trials=5, parallel=2)
        trials = wait_for_trials(emulator, name, 2, "ACTIVE")
        assert emulator.cancel(name).status == 200
    with running_jobs(data, sandbox=sandbox) as emulator:
        done = emulator.wait(name)
        assert done["state"] == "JOB_STATE_CANCELLED"
        assert len(done["trials"]) == 2
        for trial in trials:
            gone(trial["customJob"])


class KilledError(Exception):
    """Stands for the end of the process at that point."""


def before(submit: Callable[..., Any]) -> Callable[..., Any]:
    def killed(*_: Any, **__: Any) -> Any:
        raise KilledError

    return killed


def after(submit: Callable[..., Any]) -> Callable[..., Any]:
    def killed(*args: Any, **options: Any) -> Any:
        submit(*args, **options)
        raise KilledError

    return killed


@pytest.mark.parametrize("killed", [before, after])
def test_a_kill_around_the_creation_of_a_custom_job(
    tmp_path: Path, sandbox: Sandbox, killed: Callable[..., Any]
) -> None:
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        service = emulator.daemon._jobs
        assert isinstance(service, VertexService)
        tuning = service.tuning
        emulator.daemon.scheduler.close()  # steps are taken by hand
        name = create(emulator, pool(MARKED), trials=1)
        service.jobs.submit = killed(service.jobs.submit)  # type: ignore[method-assign]
        with pytest.raises(KilledError):
            tuning._driver.step(job_id(name))
        assert trial_states(emulator.get(name)) == ["REQUESTED"]
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        done = emulator.wait(name)
        assert trial_states(done) == ["SUCCEEDED"]
        assert ran_once(emulator, 1)
        assert custom_jobs(emulator) == [done["trials"][0]["customJob"]]


def test_a_job_that_cannot_be_taken_further_holds_up_no_other(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    suggest = step.search.suggest

    def broken(study: Any, trials: Any, *, seed: int) -> Any:
        if study.parameters[0].id == "broken":
            raise ZeroDivisionError
        return suggest(study, trials, seed=seed)

    monkeypatch.setattr(step.search, "suggest", broken)
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        stuck = create(emulator, trials=1, study=study_spec(double("broken")))
        assert emulator.wait(create(emulator, pool(QUICK), trials=1))["state"] == "JOB_STATE_SUCCEEDED"
        assert emulator.get(stuck)["state"] == "JOB_STATE_PENDING"
        emulator.cancel(stuck)
        assert emulator.wait(stuck)["state"] == "JOB_STATE_CANCELLED"
        assert len(emulator.call("GET", JOBS).json()["hyperparameterTuningJobs"]) == 2
