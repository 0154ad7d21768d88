"""The identity of a run: when it is the same run, and when it is another.

The engine is the one in the test's process; `tests/engine/identity/test_run_identity.py` has what needs the
real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.client.in_process.small_engine import kills
from support.client.in_process.trials import Trial
from support.client.kills.subjects import CUSTOM_JOB, Declaration, local, state_of
from support.waiting import eventually

A = Declaration()
FINISHED = replace(A, command=("true",), options='on_delete="cancel"')
"""A job that ends, and whose record the service keeps."""
LAG = {"method": "ListCustomJobs", "stale": {"changes": 1}, "times": "always"}
"""Make lists show the jobs from before the last one was created or deleted."""


@pytest.fixture
def trial(data_dir: Path) -> Trial:
    return Trial(subject=CUSTOM_JOB, data_dir=data_dir)


def at_submission(moment: str) -> Callable[[str], bool]:
    """Return the point `before` or `after` a job is submitted."""
    return lambda what: re.match(rf"{moment} POST .*/customJobs(\?|$)", what) is not None


def until_ended(trial: Trial) -> None:
    eventually(lambda: trial.there() == [])


KINDS = pytest.mark.parametrize("job", [A, FINISHED], ids=["live", "finished, and kept by the service"])


@KINDS
def test_a_declaration_that_is_changed_and_changed_back_runs_again(trial: Trial, job: Declaration) -> None:
    trial.control.forget_requests()
    names = []
    for spec in ("spec-1", "spec-2", "spec-1"):
        if job is FINISHED and len(names) == 2:  # a process that did not make the key has to look for its job
            assert kills(trial.engine, lambda: trial.up(job), at_submission("before"))
        trial.up(replace(job, spec=spec))
        if job is FINISHED:
            until_ended(trial)
            trial.engine.refresh()
        names.append(trial.recorded())
    assert trial.submissions() == 3
    assert names[0] != names[2]
    if job is A:
        trial.assert_declared(A)
    trial.engine.destroy()


@KINDS
def test_a_job_that_is_replaced_on_demand_runs_again(trial: Trial, job: Declaration) -> None:
    trial.up(job)
    if job is FINISHED:
        until_ended(trial)
        trial.engine.refresh()
    trial.control.forget_requests()
    before = trial.recorded()
    trial.up(job, replace=True)
    assert trial.submissions() == 1
    assert trial.recorded() != before
    assert trial.up(job) == 0
    assert trial.submissions() == 1
    trial.engine.destroy()


def test_every_rerun_on_failure_may_be_interrupted_and_counts(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    job = replace(A, command=("false",), options='rerun="on_failure", rerun_limit=2')
    trial.control.forget_requests()
    for moment in ("before", "after"):
        assert kills(trial.engine, lambda: trial.up(job), at_submission(moment))
        until_ended(trial)
        trial.up(job)
        until_ended(trial)
        assert {state_of(one) for one in trial.records()} == {"FAILED"}
    capsys.readouterr()
    assert trial.up(job) == 0
    assert "limit of reruns on failure, 2, is reached" in capsys.readouterr().out
    assert trial.submissions() == 3
    assert set(trial.recorded()) <= {local(one["name"]) for one in trial.records()}
    trial.engine.destroy()


def test_the_number_of_the_run_in_a_display_name_is_of_the_submission_alone(trial: Trial) -> None:
    def names() -> list[str]:
        return sorted(one["displayName"] for one in trial.records())

    kept = 'on_delete="cancel", on_replace="keep"'
    plain = replace(FINISHED, options=f'{kept}, display_name="fit"')
    numbered = replace(FINISHED, options=f'{kept}, display_name="fit {{run}} of {{run}}"')
    trial.up(plain)
    until_ended(trial)
    trial.engine.refresh()
    trial.control.forget_requests()
    trial.up(numbered)  # a name is no reason to run
    assert (trial.submissions(), names()) == (0, ["fit"])
    trial.up(replace(numbered, spec="spec-2"))
    until_ended(trial)
    assert names() == ["fit", "fit 2 of 2"]
    trial.engine.refresh()
    assert trial.engine.refresh()  # nothing differs from the service
    trial.up(replace(numbered, spec="spec-2"))
    assert trial.submissions() == 1
    assert kills(trial.engine, lambda: trial.up(replace(numbered, spec="spec-3")), at_submission("after"))
    trial.up(replace(numbered, spec="spec-3"))
    until_ended(trial)
    assert (trial.submissions(), names()) == (2, ["fit", "fit 2 of 2", "fit 3 of 3"])
    trial.engine.destroy()


def test_a_job_that_is_not_listed_yet_is_not_run_again(trial: Trial) -> None:
    job = replace(A, options='rerun="on_failure", rerun_limit=1')
    trial.up(job)
    trial.control.forget_requests()
    trial.control.add_fault(LAG)
    try:
        assert trial.up(job) == 0
    finally:
        trial.control.clear_faults()
    assert trial.submissions() == 0
    trial.assert_declared(A)
    trial.engine.destroy()


def test_a_job_that_is_listed_though_it_is_gone_is_not_adopted(trial: Trial) -> None:
    trial.up(A)
    trial.control.forget_requests()
    before = trial.there()
    trial.control.add_fault(LAG)
    try:
        trial.up(A, replace=True)
    finally:
        trial.control.clear_faults()
    assert trial.submissions() == 1
    trial.assert_declared(A)
    assert trial.there() != before
    trial.engine.destroy()


@pytest.mark.parametrize(
    ("adopt", "reason"),
    [
        ("42", "there is no custom job 42 to adopt"),
        ("the one of yesterday", "Give a job's id or its full name"),
    ],
)
def test_only_an_existing_job_is_adopted_by_its_id_or_name(trial: Trial, adopt: str, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        trial.up(replace(A, options=f"adopt={adopt!r}"))
    trial.engine.destroy()


def test_a_job_that_was_refused_at_first_has_not_run_yet(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    for note in ("a", "b"):
        program = CUSTOM_JOB.program(replace(A, options=f"labels={{'note': {note!r}}}"), trial.name)
        with pytest.raises(AssertionError, match="replica_count: 3"):
            trial.engine.up(program.replace('"replica_count": 1', '"replica_count": 3'))
    trial.up(A)
    assert trial.run()["generation"] == 1
    assert "will run" not in capsys.readouterr().out
    trial.up(replace(A, spec="spec-2"))
    assert trial.run()["generation"] == 2
    assert "will run again: " in capsys.readouterr().out
    trial.engine.destroy()
