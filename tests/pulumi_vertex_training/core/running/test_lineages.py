"""The checkpoints that a run continues, also after a kill: their folder is in a variable of its job."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cloud.jobs import from_wire as record_of
from pulumi_vertex_training.views.runs.history import changes_since
from support.client.in_process.small_engine import kills
from support.client.in_process.trials import Trial, at_every_point
from support.client.kills.subjects import CUSTOM_JOB, PIPELINE, TUNING_JOB, Declaration, has_ended, state_of
from support.waiting import eventually

VARIABLE = "VERTEX_CLUSTER_CHECKPOINT_DIR"
WITH_BUCKET = dataclasses.replace(
    CUSTOM_JOB,
    needs=('bucket = vt.StagingBucket("bucket", name=f"{name}-bucket", force_destroy=True)\n',),
    text=CUSTOM_JOB.text.replace("name, worker", "name, staging_bucket=bucket, worker"),
)
FAILS = Declaration(command=("false",), options='rerun="on_failure", rerun_limit=9')
RUNS = Declaration(options='rerun="on_failure", rerun_limit=9')


@pytest.fixture(params=[False, True], ids=["dynamic", "package"])
def trial(data_dir: Path, request: pytest.FixtureRequest) -> Trial:
    return Trial(subject=WITH_BUCKET, data_dir=data_dir, serves_package=request.param)


def newest(trial: Trial) -> dict[str, Any]:
    return max(trial.records(), key=lambda one: str(one["createTime"]))


def folders(record: dict[str, Any]) -> list[str]:
    """Return the value of the variable in each pool of a job."""
    spec = record.get("jobSpec") or record.get("trainingTaskInputs") or record["trialJobSpec"]
    return [
        each["value"]
        for pool in spec["workerPoolSpecs"]
        for each in (pool.get("containerSpec") or {}).get("env", [])
        if each["name"] == VARIABLE
    ]


def folder(trial: Trial) -> str:
    """Return the folder of the newest job, which the state has, too."""
    (found,) = folders(newest(trial))
    assert trial.run()["checkpoints"] == found
    return found


def until_failed(trial: Trial) -> None:
    eventually(lambda: state_of(newest(trial)) == "FAILED")


def begin(trial: Trial, declared: Declaration) -> str:
    """Deploy a first run, and return its folder."""
    trial.up(declared)
    if declared.command == ("false",):
        until_failed(trial)
    run = trial.run()["key"]
    assert folder(trial) == f"gs://{trial.name}-bucket/{trial.name}/checkpoints/{run}/"
    return folder(trial)


def test_a_rerun_on_failure_continues_and_nothing_counts_as_a_change(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    first = begin(trial, FAILS)
    for _ in range(2):
        trial.up(FAILS)
        assert f"the next run continues from the checkpoints in {first}" in capsys.readouterr().out
        until_failed(trial)
        assert folder(trial) == first
        trial.engine.refresh()
        assert trial.engine.refresh()
    assert trial.run()["generation"] == 3
    trial.engine.destroy()


@pytest.mark.parametrize(
    "then",
    [
        replace(FAILS, spec="spec-2"),
        replace(FAILS, options='run_token="again"'),
        replace(FAILS, options='rerun="always"'),
    ],
    ids=["another spec", "another token", "always"],
)
def test_a_run_that_was_asked_for_begins_a_new_training(trial: Trial, then: Declaration) -> None:
    first = begin(trial, FAILS)
    before = record_of(newest(trial))
    trial.up(then)
    assert folder(trial) != first
    if then.spec == FAILS.spec:
        assert changes_since(before, record_of(newest(trial))) == ()
    assert folder(trial).endswith(f"/checkpoints/{trial.run()['key']}/")
    trial.engine.destroy()


def test_a_replacement_on_demand_begins_a_new_training(trial: Trial) -> None:
    first = begin(trial, RUNS)
    trial.up(RUNS, replace=True)
    assert folder(trial) != first
    trial.engine.destroy()


def test_a_job_that_is_gone_continues(trial: Trial) -> None:
    first = begin(trial, RUNS)
    name = newest(trial)["name"]
    trial.control.call("POST", f"/v1/{name}:cancel", {})
    eventually(lambda: trial.there() == [])
    trial.control.call("DELETE", f"/v1/{name}")
    trial.up(RUNS)
    assert folder(trial) == first
    trial.engine.destroy()


def test_never_and_a_folder_of_the_program_are_updated_in_place(trial: Trial) -> None:
    first = begin(trial, FAILS)
    never, own = (
        replace(FAILS, options=f'{FAILS.options}, resume="{word}"') for word in ("never", "gs://shared/all")
    )
    trial.up(never)
    until_failed(trial)
    assert (folders(newest(trial)), trial.run().get("checkpoints")) == ([], None)
    trial.up(own)
    until_failed(trial)
    assert folder(trial) == "gs://shared/all/"
    assert trial.engine.refresh() or trial.engine.refresh()
    trial.up(FAILS)
    assert folder(trial) not in (first, "gs://shared/all/")
    trial.engine.destroy()


@pytest.mark.parametrize(
    ("trial", "record"),
    [
        pytest.param(False, "keep", id="dynamic-keep"),
        pytest.param(True, "delete", id="package-delete", marks=pytest.mark.slow),
        pytest.param(False, "delete", id="dynamic-delete", marks=pytest.mark.slow),
        pytest.param(True, "keep", id="package-keep", marks=pytest.mark.slow),
    ],
    indirect=["trial"],
)
def test_a_rerun_that_is_killed_continues_in_the_end(trial: Trial, record: str) -> None:
    """Kill it at every point, such as between the deletion and the creation, and once more after that."""
    fails = replace(FAILS, options=f'{FAILS.options}, on_replace="{record}"')
    data_dir, package = trial.data_dir, trial.serves_package
    first: dict[str, str] = {}

    def begun() -> Trial:
        made = Trial(subject=WITH_BUCKET, data_dir=data_dir, serves_package=package)
        first[made.name] = begin(made, fails)
        return made

    def then(made: Trial, _died: str) -> None:
        kills(made.engine, lambda: made.up(fails), at_submission("before"))
        made.up(fails)
        until_failed(made)
        assert made.run()["generation"] > 1
        assert folder(made) == first[made.name]
        assert {each for one in made.records() for each in folders(one)} == {first[made.name]}
        made.engine.destroy()

    at_every_point(begun, lambda made: made.up(fails), then)


@pytest.mark.parametrize("resume", ["", ', resume="gs://shared/all"'], ids=["lineage", "folder"])
def test_a_job_is_adopted_and_imported_with_its_folder(
    trial: Trial, resume: str, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = replace(RUNS, options=f"{RUNS.options}{resume}")
    trial.up(declared)
    first = folder(trial)
    job = str(newest(trial)["name"]).rpartition("/")[2]
    trial.engine.entries = [one for one in trial.engine.entries if one.name != trial.name]
    capsys.readouterr()
    assert main(["import", job, "--data-dir", str(trial.data_dir)]) == 0
    assert (VARIABLE in capsys.readouterr().out) is bool(resume)  # like a variable of the program
    trial.up(replace(declared, options=f'{declared.options}, adopt="{job}"'))
    assert str(newest(trial)["name"]).endswith(job)
    assert folder(trial) == first
    eventually(lambda: trial.state() == "RUNNING", what=trial.state)
    trial.engine.refresh()
    assert trial.engine.refresh()
    trial.engine.destroy()


@pytest.mark.slow
def test_a_destruction_that_is_killed_continues_if_the_job_runs_again(trial: Trial) -> None:
    data_dir, package = trial.data_dir, trial.serves_package
    first: dict[str, str] = {}

    def begun() -> Trial:
        made = Trial(subject=WITH_BUCKET, data_dir=data_dir, serves_package=package)
        first[made.name] = begin(made, RUNS)
        return made

    def then(made: Trial, _died: str) -> None:
        is_recorded = bool(made.recorded())
        made.up(RUNS)
        if not [one for one in made.records() if not has_ended(one)]:
            return  # nobody cancelled it: it is left alone
        assert (folder(made) == first[made.name]) or not is_recorded
        made.engine.destroy()

    at_every_point(begun, lambda made: made.engine.destroy(), then)


def test_two_jobs_never_use_a_folder_at_the_same_time(trial: Trial) -> None:
    """Kill a destruction that has cancelled a job which ends late: the next run begins after its end."""
    late = ("sh", "-c", "trap 'sleep 1; exit 1' TERM; sleep 600 & wait; sleep 600")
    declared = replace(RUNS, command=late, options=f'{RUNS.options}, on_replace="keep"')
    first = begin(trial, declared)
    eventually(lambda: state_of(newest(trial)) == "RUNNING")
    assert kills(
        trial.engine, trial.engine.destroy, lambda what: re.match("after POST .*:cancel", what) is not None
    )
    assert state_of(newest(trial)) == "CANCELLING"
    trial.up(declared)
    before, after = sorted(trial.records(), key=lambda one: str(one["createTime"]))
    assert folders(before) == folders(after) == [first]
    assert str(before["endTime"]) <= str(after["createTime"])
    trial.engine.destroy()


def at_submission(moment: str) -> Callable[[str], bool]:
    return lambda what: re.match(rf"{moment} POST .*/customJobs(\?|$)", what) is not None


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_requested_replacement_that_is_killed_begins_a_new_training(trial: Trial, moment: str) -> None:
    first = begin(trial, RUNS)
    assert kills(trial.engine, lambda: trial.up(RUNS, replace=True), at_submission(moment))
    trial.up(RUNS)
    assert len([one for one in trial.records() if not has_ended(one)]) == 1
    assert folder(trial) != first
    trial.engine.destroy()


def test_a_first_run_that_is_killed_keeps_its_folder(trial: Trial) -> None:
    assert kills(trial.engine, lambda: trial.up(RUNS), at_submission("after"))
    (made,) = trial.records()
    trial.up(RUNS)
    assert [folder(trial)] == folders(made)
    trial.engine.destroy()


def test_a_pipeline_has_a_folder_and_a_tuning_job_has_none(data_dir: Path) -> None:
    pipeline = Trial(subject=PIPELINE, data_dir=data_dir)
    pipeline.up(RUNS)
    assert folder(pipeline).endswith(f"/checkpoints/{pipeline.run()['key']}/")
    pipeline.engine.destroy()
    tuning = Trial(subject=TUNING_JOB, data_dir=data_dir)
    tuning.up(replace(RUNS, options=f'{RUNS.options}, staging_bucket="trials"'))
    assert (folders(newest(tuning)), tuning.run().get("checkpoints")) == ([], None)
    tuning.engine.destroy()
    with pytest.raises(AssertionError, match="trial 3 of another run has other parameters"):
        tuning.up(Declaration(options='resume="after_interruption", staging_bucket="trials"'))
