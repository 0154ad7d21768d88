"""The rerun table from declaration to submission: which jobs run again, stay, or are refused.

The engine is the one in the test's process; `tests/engine/jobs/test_rerun_policies.py` has the same on the
real one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pulumi_vertex_training.core.provider import Failure
from support.client.in_process.trials import Trial
from support.client.kills.subjects import CUSTOM_JOB, Declaration
from support.waiting import eventually

A = Declaration()


@pytest.fixture
def trial(data_dir: Path) -> Trial:
    made = Trial(subject=CUSTOM_JOB, data_dir=data_dir)
    made.control.forget_requests()
    return made


def cancel(trial: Trial) -> None:
    for name in trial.left():
        trial.control.call("POST", f"/v1/{name}:cancel")
    eventually(lambda: trial.there() == [])


def test_always_runs_again_once_the_run_before_has_ended(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    job = replace(A, options='rerun="always"')
    trial.up(job)
    assert trial.up(job) == 0
    cancel(trial)
    trial.up(job)
    assert "will run again: it was cancelled, and rerun is always" in capsys.readouterr().out
    assert trial.submissions() == 2
    trial.engine.destroy()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        pytest.param(A.command, "stays: it was cancelled, and rerun is on_change", id="cancelled"),
        pytest.param(("false",), "stays: it failed, and rerun is on_change", id="failed"),
    ],
)
def test_a_job_that_was_cancelled_or_failed_stays_also_without_its_record(
    trial: Trial, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], says: str
) -> None:
    job = replace(A, command=command)
    trial.up(job)
    if command == A.command:
        cancel(trial)
    eventually(lambda: trial.there() == [])
    assert trial.up(job) == 0
    assert says in capsys.readouterr().out
    trial.engine.refresh()
    for name in trial.left():
        trial.control.call("DELETE", f"/v1/{name}")
    eventually(lambda: trial.left() == [])
    assert trial.up(job) == 0
    assert says in capsys.readouterr().out
    assert trial.submissions() == 1
    trial.engine.destroy()


def test_never_keeps_the_job_until_another_policy_lets_its_change_run(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    job = replace(A, options='rerun="never"')
    trial.up(job)
    trial.up(replace(job, spec="spec-2"))
    assert "stays: its spec changed, but rerun is never" in capsys.readouterr().out
    with pytest.raises(Failure, match="rerun is never; set rerun to on_change first"):
        trial.up(replace(job, spec="spec-2"), replace=True)
    trial.assert_declared(job)
    assert trial.submissions() == 1
    trial.up(replace(A, spec="spec-2"))
    assert "will run again: its spec changed" in capsys.readouterr().out
    trial.assert_declared(replace(A, spec="spec-2"))
    trial.engine.destroy()


def test_a_protected_job_is_neither_replaced_nor_destroyed_while_it_is_live(trial: Trial) -> None:
    job = replace(A, options='protect_running=True, wait="running"')
    trial.up(job)
    with pytest.raises(Failure, match="cannot be replaced: its spec changed, but it is running and "):
        trial.up(replace(job, spec="spec-2"))
    with pytest.raises(Failure, match="a replacement was requested, but it is running"):
        trial.up(job, replace=True)
    with pytest.raises(Failure, match="cannot be destroyed: it is running"):
        trial.engine.destroy()
    trial.assert_declared(job)
    assert trial.submissions() == 1
    trial.up(replace(A, spec="spec-2"))  # the declared protection counts, not the recorded one
    trial.assert_declared(replace(A, spec="spec-2"))
    trial.engine.destroy()


def test_policies_alone_are_updated_in_place_and_the_cancelled_job_keeps_its_record(trial: Trial) -> None:
    trial.up(A)
    changed = replace(A, options='rerun="on_failure", on_delete="cancel"')
    assert trial.up(changed) == 1
    assert trial.up(changed) == 0
    assert trial.submissions() == 1
    trial.engine.destroy()
    assert len(trial.left()) == 1
    assert trial.state() in ("CANCELLED", "CANCELLING")
