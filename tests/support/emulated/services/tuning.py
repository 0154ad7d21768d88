"""Tuning jobs on an emulator in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.emulated.job_emulator import DONE, PARENT, JobEmulator, job_id, pool
from support.emulated.services.studies import double, study_spec

JOBS = f"{PARENT}/hyperparameterTuningJobs"

PARSED = (
    "import argparse, hypertune, json, os, sys, time\n"
    "parser = argparse.ArgumentParser()\n"
    "parser.add_argument('--x', type=float)\n"
    "x = parser.parse_known_args()[0].x\n"
    "tuner = hypertune.HyperTune()\n"
    "def report(value, step=1, name='accuracy'):\n"
    "    tuner.report_hyperparameter_tuning_metric(name, value, step)\n"
)
"""The begin of a program: parses the parameter `x`, and defines `report` for its metric."""

QUICK = PARSED + "report(x)\n"


def tuning_job(
    *pools: Mapping[str, Any], trials: int = 3, parallel: int = 1, failed: int = 0, **more: Any
) -> dict[str, Any]:
    """Return a tuning job in the API's JSON; `study` is its study, `spec` has fields of the trials' job."""
    spec = more.pop("spec", {})
    return {
        "displayName": "tune",
        "maxTrialCount": trials,
        "parallelTrialCount": parallel,
        **({"maxFailedTrialCount": failed} if failed else {}),
        "studySpec": more.pop("study", None) or study_spec(double("x")),
        "trialJobSpec": {"workerPoolSpecs": list(pools or [pool(QUICK)]), **spec},
        **more,
    }


def create(emulator: JobEmulator, *pools: Mapping[str, Any], **options: Any) -> str:
    """Create a tuning job. Return its name."""
    answer = emulator.call("POST", JOBS, tuning_job(*pools, **options))
    assert answer.status == 200, answer.body
    return str(answer.json()["name"])


def values_of(trial: Mapping[str, Any]) -> dict[str, Any]:
    return {each["parameterId"]: each["value"] for each in trial.get("parameters", ())}


def metric_of(trial: Mapping[str, Any]) -> float:
    return float(trial["finalMeasurement"]["metrics"][0]["value"])


def trial_states(job: Mapping[str, Any]) -> list[str]:
    return [each["state"] for each in job.get("trials", ())]


def wait_for_trials(emulator: JobEmulator, name: str, count: int, *states: str) -> list[dict[str, Any]]:
    """Wait until so many trials are in one of the states. Return the trials."""
    found: dict[str, Any] = {}

    def reached() -> bool:
        found.update(emulator.get(name))
        assert found["state"] not in DONE, found
        return sum(state in states for state in trial_states(found)) >= count

    emulator.until(reached, what=lambda: str(found))
    trials: list[dict[str, Any]] = found["trials"]
    return trials


def end_tuning(emulator: JobEmulator) -> None:
    """End and delete all tuning jobs of an emulator, and assert that no folder of them is left."""
    jobs = emulator.call("GET", JOBS).json().get("hyperparameterTuningJobs", [])
    for each in jobs:
        emulator.cancel(each["name"])
    for each in jobs:
        ended = emulator.wait(each["name"])
        assert emulator.delete(each["name"]).status == 200
        for trial in ended.get("trials", ()):
            if "customJob" in trial:
                assert not (emulator.data_dir / "jobs" / job_id(trial["customJob"])).exists()
