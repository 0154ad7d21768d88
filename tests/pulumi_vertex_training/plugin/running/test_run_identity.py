"""The identity of a run: when it is the same run, and when it is another.

The engine is the one in the test's process; `tests/engine/identity/test_run_identity.py` has what needs the
real one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job.provider import CustomJobProvider
from support.in_process.programs import custom_job, pool, runnable
from support.in_process.run_trials import RunTrial
from support.in_process.small_engine import SmallEngine, kills
from support.kills.subjects import CUSTOM_JOB, state_of
from support.waiting import eventually

FINISHED: dict[str, Any] = {"command": ("true",), "on_delete": "cancel"}
"""The options of a job that ends, and whose record the service keeps."""
LAG = {"method": "ListCustomJobs", "stale": {"changes": 1}, "times": "always"}
"""Make lists show the jobs from before the last one was created or deleted."""
_NUMBERS = itertools.count(1)


@pytest.fixture
def trial(data_dir: Path, endpoint: Endpoint) -> RunTrial:
    engine = SmallEngine({"vertex-training:dataDir": str(data_dir)})
    return RunTrial(CUSTOM_JOB, custom_job, endpoint, engine, f"identity-{next(_NUMBERS)}")


def at_submission(moment: str) -> Callable[[str], bool]:
    """Return the point `before` or `after` a job is submitted."""
    return lambda what: re.match(rf"{moment} POST .*/customJobs(\?|$)", what) is not None


def until_ended(trial: RunTrial) -> None:
    eventually(lambda: trial.live() == [])


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="live jobs"),
        pytest.param(FINISHED, id="finished jobs that the service keeps"),
    ],
)
def test_a_declaration_that_is_changed_and_changed_back_runs_again(
    trial: RunTrial, options: dict[str, Any]
) -> None:
    trial.forget_requests()
    names = []
    for spec in ("A", "B", "A"):
        if options and len(names) == 2:  # a process that did not make the key has to look for its job
            assert kills(trial.engine, lambda: trial.up("A", **options), at_submission("before"))
        trial.up(spec, **options)
        if options:
            until_ended(trial)
            trial.engine.refresh()
        names.append(trial.recorded())
    assert trial.submissions() == 3
    assert names[0] != names[2]
    if not options:
        trial.assert_one("A")
    trial.engine.destroy()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="a live job"),
        pytest.param(FINISHED, id="a finished job that the service keeps"),
    ],
)
def test_a_job_that_is_replaced_on_demand_runs_again(trial: RunTrial, options: dict[str, Any]) -> None:
    trial.up("A", **options)
    if options:
        until_ended(trial)
        trial.engine.refresh()
    trial.forget_requests()
    before = trial.recorded()
    trial.up("A", replace=True, **options)
    assert trial.submissions() == 1
    assert trial.recorded() != before
    assert trial.up("A", **options) == 0
    assert trial.submissions() == 1
    trial.engine.destroy()


def test_every_rerun_on_failure_may_be_interrupted_and_counts(
    trial: RunTrial, capsys: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {"command": ("false",), "rerun": "on_failure", "rerun_limit": 2}
    trial.forget_requests()
    for moment in ("before", "after"):
        assert kills(trial.engine, lambda: trial.up("A", **options), at_submission(moment))
        until_ended(trial)
        trial.up("A", **options)
        until_ended(trial)
        assert {state_of(one) for one in trial.there()} == {"FAILED"}
    capsys.readouterr()
    assert trial.up("A", **options) == 0
    assert "limit of reruns on failure, 2, is reached" in capsys.readouterr().out
    assert trial.submissions() == 3
    assert set(trial.recorded()) <= {job["name"] for job in trial.there()}
    trial.engine.destroy()


def test_a_job_that_is_not_listed_yet_is_not_run_again(trial: RunTrial) -> None:
    options: dict[str, Any] = {"rerun": "on_failure", "rerun_limit": 1}
    trial.up("A", **options)
    trial.forget_requests()
    trial.control.add_fault(LAG)
    try:
        assert trial.up("A", **options) == 0
    finally:
        trial.control.clear_faults()
    assert trial.submissions() == 0
    trial.assert_one("A")
    trial.engine.destroy()


def test_a_job_that_is_listed_though_it_is_gone_is_not_adopted(trial: RunTrial) -> None:
    trial.up("A")
    trial.forget_requests()
    before = trial.live()
    trial.control.add_fault(LAG)
    try:
        trial.up("A", replace=True)
    finally:
        trial.control.clear_faults()
    assert trial.submissions() == 1
    trial.assert_one("A")
    assert trial.live() != before
    trial.engine.destroy()


@pytest.mark.parametrize(
    ("adopt", "reason"),
    [
        ("42", "there is no custom job 42 to adopt"),
        ("the one of yesterday", "Give a job's id or its full name"),
    ],
)
def test_only_an_existing_job_is_adopted_by_its_id_or_name(trial: RunTrial, adopt: str, reason: str) -> None:
    run, job = trial.program("A")
    trial.engine.up([run])
    assert callable(job.inputs)
    found = job.provider.check({}, {**job.inputs(trial.engine.outputs()), "adopt": adopt})
    assert reason in "\n".join(str(failure.reason) for failure in found.failures)
    trial.engine.destroy()


def test_a_job_that_was_refused_at_first_has_not_run_yet(
    trial: RunTrial, capsys: pytest.CaptureFixture[str]
) -> None:
    for note in ("a", "b"):
        refused = {"worker_pool_specs": [{**pool("A", ["sleep", "600"]), "replica_count": 3}]}
        declared = runnable(CustomJobProvider(), trial.name, {**refused, "labels": {"note": note}})
        with pytest.raises(AssertionError, match="replica_count: 3"):
            trial.engine.up(declared)
    trial.up("A")
    assert trial.run()["generation"] == 1
    assert "will run" not in capsys.readouterr().out
    trial.up("B")
    assert trial.run()["generation"] == 2
    assert "will run again: its spec changed" in capsys.readouterr().out
    trial.engine.destroy()
