"""Custom jobs and tuning jobs whose deployment is killed at every single point of each operation.

Whatever the point: the next deployment leaves one live run of what is declared, which is the one that the
state has, and the one after it has nothing to do; a destruction leaves nothing.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.in_process_programs import custom_job, tuning_job
from support.small_engine import Declared, SmallEngine, kills
from support.subjects import CUSTOM_JOB, PARENT, TUNING_JOB, Subject, has_ended, state_of
from support.waiting import eventually
from vertex_emulator.control import Control

pytestmark = pytest.mark.slow

SLEEPS, FAILS = ("sleep", "600"), ("false",)
_NUMBERS = itertools.count(1)


@dataclass
class Trial:
    """A stack with one run of its own name."""

    subject: Subject
    declares: Callable[..., list[Declared]]
    endpoint: Endpoint
    engine: SmallEngine
    name: str

    def up(self, spec: str, *, replace: bool = False, **options: Any) -> int:
        return self.engine.up(self.program(spec, **options), replace=[self.name] if replace else [])

    def program(self, spec: str, **options: Any) -> list[Declared]:
        return self.declares(self.name, spec, **options)

    @property
    def control(self) -> Control:
        return Control(url=self.endpoint.url or "", token=self.endpoint.token or "")

    def there(self) -> list[dict[str, Any]]:
        """Return the service's records of this stack, by the name that all of them have."""
        collection = self.subject.collection
        found = self.control.call("GET", f"{PARENT}/{collection}").get(collection, [])
        return [one for one in found if one["displayName"] == self.name]

    def recorded(self) -> list[str]:
        return [one.id for one in self.engine.entries if one.name == self.name]

    def run(self) -> Mapping[str, Any]:
        (found,) = [dict(one.outs) for one in self.engine.entries if one.name == f"run of {self.name}"]
        return found

    def state(self) -> str:
        (one,) = self.there()
        return state_of(one)

    def assert_one(self, spec: str) -> None:
        """Assert that one live job exists, as declared, and that the state has it."""
        (one,) = self.there()
        assert [one["name"]] == self.recorded()
        assert not has_ended(one), one
        assert one["labels"]["vertex-training-run"] == self.run()["key"]
        assert f"'value': '{spec}'" in str(one)

    def assert_nothing(self) -> None:
        assert (self.there(), self.engine.entries) == ([], [])


KINDS = {
    "job": (CUSTOM_JOB, custom_job),
    "tuning job": (TUNING_JOB, tuning_job),
}


@pytest.fixture(params=KINDS if os.environ.get("KILLS") == "all" else ["job"])
def trials(request: pytest.FixtureRequest, data_dir: Path, endpoint: Endpoint) -> Callable[[], Trial]:
    subject, declares = KINDS[request.param]

    def make() -> Trial:
        engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
        return Trial(subject, declares, endpoint, engine, f"run-{next(_NUMBERS)}")

    return make


def everywhere(
    trials: Callable[[], Trial],
    prepare: Callable[[Trial], object],
    operation: Callable[[Trial], object],
    then: Callable[[Trial], object],
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


def nothing(trial: Trial) -> None:
    """Begin with an empty stack."""


def live(trial: Trial) -> None:
    trial.up("A")


def again(spec: str) -> Callable[[Trial], None]:
    """Deploy once more: one run, and nothing left to do."""

    def then(trial: Trial) -> None:
        trial.up(spec)
        trial.assert_one(spec)
        assert trial.up(spec) == 0
        trial.assert_one(spec)

    return then


def test_the_first_run(trials: Callable[[], Trial]) -> None:
    everywhere(trials, nothing, lambda trial: trial.up("A"), again("A"))


def test_the_first_run_and_then_a_destruction(trials: Callable[[], Trial]) -> None:
    """Kill a deployment whose job is in no state: only the run has its key."""
    everywhere(trials, nothing, lambda trial: trial.up("A"), lambda trial: None)


def test_the_first_run_and_then_another_spec(trials: Callable[[], Trial]) -> None:
    everywhere(trials, nothing, lambda trial: trial.up("A"), again("B"))


def test_a_run_whose_job_was_never_submitted(trials: Callable[[], Trial]) -> None:
    def prepare(trial: Trial) -> None:
        assert kills(
            trial.engine,
            lambda: trial.up("A"),
            lambda what: re.match(rf"before POST .*/{trial.subject.collection}(\?|$)", what) is not None,
        )
        assert trial.run()["generation"] == 1
        assert trial.there() == []

    everywhere(trials, prepare, lambda trial: trial.up("A"), again("A"))


def test_a_changed_spec(trials: Callable[[], Trial]) -> None:
    everywhere(trials, live, lambda trial: trial.up("B"), again("B"))


def test_a_changed_spec_and_back(trials: Callable[[], Trial]) -> None:
    """Delete the jobs of the other spec; A runs again, or was never stopped."""
    everywhere(trials, live, lambda trial: trial.up("B"), again("A"))


def test_a_refresh(trials: Callable[[], Trial]) -> None:
    def then(trial: Trial) -> None:
        before = trial.recorded()
        again("A")(trial)
        assert trial.recorded() == before

    everywhere(trials, live, lambda trial: trial.engine.refresh(), then)


def test_a_destruction_and_then_another(trials: Callable[[], Trial]) -> None:
    everywhere(trials, live, lambda trial: trial.engine.destroy(), lambda trial: None)


def healed_after_deletion(trial: Trial) -> None:
    """Keep live jobs and run deleted ones again.

    Nothing records who cancelled a job: it stays cancelled until a replacement is asked for.
    """
    trial.up("A")
    if state_of(trial.there()[0]).startswith("CANCEL"):
        assert [trial.there()[0]["name"]] == trial.recorded()
        trial.up("A", replace=True)
    trial.assert_one("A")
    assert trial.up("A") == 0


def test_a_destruction_and_then_a_deployment(trials: Callable[[], Trial]) -> None:
    everywhere(trials, live, lambda trial: trial.engine.destroy(), healed_after_deletion)


def test_a_replacement_on_demand(trials: Callable[[], Trial]) -> None:
    everywhere(trials, live, lambda trial: trial.up("A", replace=True), healed_after_deletion)


def test_a_rerun_on_failure_counts_though_it_was_interrupted(trials: Callable[[], Trial]) -> None:
    """Submit twice in all with a limit of one rerun, wherever the second deployment is killed."""
    options: dict[str, Any] = {"command": FAILS, "rerun": "on_failure", "rerun_limit": 1}

    def failed(trial: Trial) -> None:
        eventually(lambda: trial.state() == "FAILED")

    def prepare(trial: Trial) -> None:
        trial.up("A", **options)
        failed(trial)

    def then(trial: Trial) -> None:
        first = trial.run()
        trial.up("A", **options)
        failed(trial)
        assert trial.run()["reruns"] == 1, first
        assert trial.up("A", **options) == 0
        assert trial.run()["generation"] == 2

    everywhere(trials, prepare, lambda trial: trial.up("A", **options), then)
