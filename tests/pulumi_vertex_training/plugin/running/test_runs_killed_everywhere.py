"""Custom jobs and tuning jobs whose deployment is killed at every single point of each operation.

Whatever the point: the next deployment leaves one live run of what is declared, which is the one that the
state has, and the one after it has nothing to do; a destruction leaves nothing.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.in_process.programs import custom_job, tuning_job
from support.in_process.run_trials import RunTrial
from support.in_process.small_engine import SmallEngine, kills
from support.kills.subjects import CUSTOM_JOB, TUNING_JOB, state_of
from support.waiting import eventually

pytestmark = pytest.mark.slow

SLEEPS, FAILS = ("sleep", "600"), ("false",)
_NUMBERS = itertools.count(1)


KINDS = {
    "job": (CUSTOM_JOB, custom_job),
    "tuning job": (TUNING_JOB, tuning_job),
}


@pytest.fixture(params=KINDS if os.environ.get("KILLS") == "all" else ["job"])
def trials(request: pytest.FixtureRequest, data_dir: Path, endpoint: Endpoint) -> Callable[[], RunTrial]:
    subject, declares = KINDS[request.param]

    def make() -> RunTrial:
        engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
        return RunTrial(subject, declares, endpoint, engine, f"run-{next(_NUMBERS)}")

    return make


def everywhere(
    trials: Callable[[], RunTrial],
    prepare: Callable[[RunTrial], object],
    operation: Callable[[RunTrial], object],
    then: Callable[[RunTrial], object],
) -> int:
    """Kill the operation at each of its points, each time on a stack of its own; how many there were."""
    wrong = []
    for at in range(300):
        trial = trials()
        prepare(trial)
        died = kills(trial.engine, lambda trial=trial: operation(trial), at)
        try:
            then(trial)
            trial.engine.destroy()
            trial.assert_nothing()
        except Exception as error:
            wrong.append(f"point {at}: {type(error).__name__}: {str(error)[:300]}")
        if not died:
            break
    assert not wrong, "\n".join(wrong)
    assert at >= 2  # or nothing was killed
    return at


def nothing(trial: RunTrial) -> None:
    """Begin with an empty stack."""


def live(trial: RunTrial) -> None:
    trial.up("A")


def again(spec: str) -> Callable[[RunTrial], None]:
    """Deploy once more: one run, and nothing left to do."""

    def then(trial: RunTrial) -> None:
        trial.up(spec)
        trial.assert_one(spec)
        assert trial.up(spec) == 0
        trial.assert_one(spec)

    return then


def test_the_first_run(trials: Callable[[], RunTrial]) -> None:
    everywhere(trials, nothing, lambda trial: trial.up("A"), again("A"))


def test_the_first_run_and_then_a_destruction(trials: Callable[[], RunTrial]) -> None:
    """Kill a deployment whose job is in no state: only the run has its key."""
    everywhere(trials, nothing, lambda trial: trial.up("A"), lambda trial: None)


def test_the_first_run_and_then_another_spec(trials: Callable[[], RunTrial]) -> None:
    everywhere(trials, nothing, lambda trial: trial.up("A"), again("B"))


def test_a_run_whose_job_was_never_submitted(trials: Callable[[], RunTrial]) -> None:
    def prepare(trial: RunTrial) -> None:
        assert kills(
            trial.engine,
            lambda: trial.up("A"),
            lambda what: re.match(rf"before POST .*/{trial.subject.collection}(\?|$)", what) is not None,
        )
        assert trial.run()["generation"] == 1
        assert trial.there() == []

    everywhere(trials, prepare, lambda trial: trial.up("A"), again("A"))


def test_a_changed_spec(trials: Callable[[], RunTrial]) -> None:
    everywhere(trials, live, lambda trial: trial.up("B"), again("B"))


def test_a_changed_spec_and_back(trials: Callable[[], RunTrial]) -> None:
    """Delete the jobs of the other spec; A runs again, or was never stopped."""
    everywhere(trials, live, lambda trial: trial.up("B"), again("A"))


def test_a_refresh(trials: Callable[[], RunTrial]) -> None:
    def then(trial: RunTrial) -> None:
        before = trial.recorded()
        again("A")(trial)
        assert trial.recorded() == before

    everywhere(trials, live, lambda trial: trial.engine.refresh(), then)


def test_a_destruction_and_then_another(trials: Callable[[], RunTrial]) -> None:
    everywhere(trials, live, lambda trial: trial.engine.destroy(), lambda trial: None)


def healed_after_deletion(trial: RunTrial) -> None:
    """Keep live jobs and run deleted ones again.

    Nothing records who cancelled a job: it stays cancelled until a replacement is asked for.
    """
    trial.up("A")
    if state_of(trial.there()[0]).startswith("CANCEL"):
        assert [trial.there()[0]["name"]] == trial.recorded()
        trial.up("A", replace=True)
    trial.assert_one("A")
    assert trial.up("A") == 0


def test_a_destruction_and_then_a_deployment(trials: Callable[[], RunTrial]) -> None:
    everywhere(trials, live, lambda trial: trial.engine.destroy(), healed_after_deletion)


def test_a_replacement_on_demand(trials: Callable[[], RunTrial]) -> None:
    everywhere(trials, live, lambda trial: trial.up("A", replace=True), healed_after_deletion)


def test_a_rerun_on_failure_counts_though_it_was_interrupted(trials: Callable[[], RunTrial]) -> None:
    """Submit twice in all with a limit of one rerun, wherever the second deployment is killed."""
    options: dict[str, Any] = {"command": FAILS, "rerun": "on_failure", "rerun_limit": 1}

    def failed(trial: RunTrial) -> None:
        eventually(lambda: trial.state() == "FAILED")

    def prepare(trial: RunTrial) -> None:
        trial.up("A", **options)
        failed(trial)

    def then(trial: RunTrial) -> None:
        first = trial.run()
        trial.up("A", **options)
        failed(trial)
        assert trial.run()["reruns"] == 1, first
        assert trial.up("A", **options) == 0
        assert trial.run()["generation"] == 2

    everywhere(trials, prepare, lambda trial: trial.up("A", **options), then)
