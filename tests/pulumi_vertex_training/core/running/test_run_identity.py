"""The identity of a run: when it is the same run, and when it is another.

The engine is the one in the test's process; `tests/engine/identity/test_run_identity.py` has what needs the
real one.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pulumi_vertex_training.core.running.declaration import JobResourceType
from support.client.in_process.small_engine import kills
from support.client.in_process.trials import Trial
from support.client.kills.subjects import (
    CUSTOM_JOB,
    PIPELINE,
    TUNING_JOB,
    Declaration,
    Subject,
    local,
    state_of,
)
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


@pytest.mark.parametrize("subject", [TUNING_JOB, PIPELINE], ids=lambda subject: subject.noun)
def test_a_job_whose_creation_was_killed_is_found_again(data_dir: Path, subject: Subject) -> None:
    """Kill it as soon as the service has the job; custom jobs are in `test_kills_everywhere.py`."""
    trial = Trial(subject=subject, data_dir=data_dir)
    point = re.compile(rf"after POST .*/{subject.collection}(\?|$)")
    assert kills(trial.engine, lambda: trial.up(A), lambda what: point.match(what) is not None)
    trial.control.forget_requests()
    trial.up(A)
    assert trial.submissions() == 0
    trial.assert_declared(A)
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
    assert (trial.submissions(), trial.run()["reruns"]) == (2, 1)
    trial.up(job)
    until_ended(trial)
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


@pytest.mark.parametrize(
    ("moments", "then"),
    [
        (["after"], True),
        (["after"], False),
        (["before", "after"], True),
        (["before", "before", "after"], False),
    ],
)
def test_a_killed_replacement_on_demand_is_finished_by_the_same_command_or_by_a_plain_one(
    trial: Trial, moments: list[str], then: bool
) -> None:
    """Kill it on each side of the submission: the engine calls no `diff` and `delete` when it is repeated."""
    job = replace(A, options='on_replace="delete"') if "before" in moments else A
    trial.up(job)
    trial.control.forget_requests()
    before = trial.recorded()
    for moment in moments:
        assert kills(trial.engine, lambda: trial.up(job, replace=True), at_submission(moment))
    ((made, *_),) = trial.there()
    trial.up(job, replace=then)
    assert trial.submissions() == 1
    assert trial.recorded() == [made] != before
    trial.assert_declared(job)
    assert trial.up(job) == 0
    trial.destroy()


def killed_after_submission(trial: Trial, job: Declaration) -> str:
    """Kill a deployment when the service has the job, and return the job's name."""
    before = {name for name, *_ in trial.there()}
    assert kills(trial.engine, lambda: trial.up(job), at_submission("after"))
    ((made, *_),) = [one for one in trial.there() if one[0] not in before]
    return made


@pytest.mark.parametrize("first", [True, False], ids=["the first job", "a replacement"])
def test_another_machine_finds_the_job_of_a_killed_deployment(trial: Trial, first: bool) -> None:
    """Leave it the state, without the notes of this machine."""
    if not first:
        trial.up(replace(A, spec="spec-2"))
    trial.control.forget_requests()
    made = killed_after_submission(trial, A)
    for note in (trial.data_dir / "creations").glob("*.begun"):
        note.unlink()
    trial.up(A)
    assert (trial.submissions(), trial.recorded()) == (1, [made])
    trial.assert_declared(A)
    trial.destroy()


@pytest.mark.parametrize("first", [True, False], ids=["the first job", "a replacement"])
def test_a_version_with_another_hash_leaves_one_job_after_a_kill(
    trial: Trial, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upgrade the package between the kill and the next deployment: a job of another hash is stopped."""
    if not first:
        trial.up(replace(A, spec="spec-2"))
    made = killed_after_submission(trial, A)
    before = JobResourceType.declared_hash
    monkeypatch.setattr(JobResourceType, "declared_hash", lambda *given: f"v3-{before(*given)[3:]}")
    trial.up(A)
    assert trial.recorded() != [made]
    trial.assert_declared(A)
    assert trial.up(A) == 0
    trial.destroy()


@pytest.mark.parametrize("then", [A, replace(A, spec="spec-2")], ids=["unchanged", "changed"])
def test_a_live_job_that_was_deleted_from_the_state_is_taken_back_or_stopped(
    trial: Trial, then: Declaration
) -> None:
    trial.up(A)
    trial.control.forget_requests()
    (before,) = trial.recorded()
    trial.engine.entries = [one for one in trial.engine.entries if one.name != trial.name]  # `state delete`
    trial.up(then)
    trial.assert_declared(then)
    assert (trial.submissions(), trial.recorded() == [before]) == ((0, True) if then is A else (1, False))
    assert trial.up(then) == 0
    trial.destroy()


def test_a_record_that_a_removed_declaration_kept_is_no_job_of_the_next_one(trial: Trial) -> None:
    """Declare it again, and let the new job be killed once: it is found, and the old record is left alone."""
    trial.up(FINISHED)
    until_ended(trial)
    (kept,) = trial.recorded()
    trial.up(None)
    trial.control.forget_requests()
    long = replace(A, options='on_delete="cancel"')
    made = killed_after_submission(trial, long)
    trial.up(long)
    assert (trial.submissions(), trial.recorded()) == (1, [made])
    assert {kept, made} == {local(one["name"]) for one in trial.records()}


def test_a_refresh_gives_a_state_that_was_edited_the_values_of_the_job(trial: Trial) -> None:
    """Count the directory that its run chose as no change, with the hash of the live job in the state."""
    job = replace(A, options='staging_bucket="trial-staging"')
    trial.up(job)
    (entry,) = [one for one in trial.engine.live() if one.name == trial.name]
    before, directory = copy.deepcopy(entry.inputs), entry.outs["base_output_directory"]
    for props in (entry.inputs, entry.outs):
        (chief,) = props["worker_pool_specs"]
        chief["machine_spec"] = {"machine_type": "n1-standard-8"}
    assert not trial.engine.refresh()
    assert entry.inputs == before
    assert entry.outs["base_output_directory"] == directory
    trial.control.forget_requests()
    trial.up(job)
    assert trial.submissions() == 0
    trial.engine.destroy()
