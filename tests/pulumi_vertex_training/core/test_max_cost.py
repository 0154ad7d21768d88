"""`max_cost` with the engine in the test's process and a real emulator, in both forms of the provider."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.runs.identity import RUN_LABEL
from support.client.in_process.small_engine import kills
from support.client.in_process.trials import FORMS, Trial, at_every_point
from support.client.kills.subjects import CUSTOM_JOB, PIPELINE, TUNING_JOB, Declaration, Subject, has_ended
from support.waiting import eventually
from vertex_training.cost.max_cost import LABEL, Limit, read_label

QUICK = ("true",)


@pytest.fixture
def stack(data_dir: Path) -> Callable[..., Trial]:
    return lambda subject=CUSTOM_JOB, package=False: Trial(
        subject=subject, data_dir=data_dir, serves_package=package
    )


def declared(options: str, **more: Any) -> Declaration:
    return Declaration(options=options, **more)


def newest(trial: Trial) -> dict[str, Any]:
    return max(trial.records(), key=lambda one: str(one["createTime"]))


def limit(record: dict[str, Any]) -> Limit:
    found = read_label(record["labels"].get(LABEL))
    assert found is not None
    return found


def a_minute(trial: Trial) -> float:
    """Return the cost of a minute of the newest job."""
    found = limit(newest(trial))
    return found.most / found.seconds * 60


def ended(trial: Trial) -> None:
    eventually(lambda: has_ended(newest(trial)))
    trial.engine.refresh()


@pytest.mark.parametrize("package", FORMS)
@pytest.mark.parametrize("subject", [CUSTOM_JOB, TUNING_JOB, PIPELINE], ids=lambda one: one.noun)
def test_a_run_gets_the_timeout_that_the_price_allows(
    stack: Callable[..., Trial], subject: Subject, package: bool
) -> None:
    trial = stack(subject, package)
    trial.up(declared("max_cost=1"))
    record = newest(trial)
    part = record.get("jobSpec") or record.get("trialJobSpec") or record["trainingTaskInputs"]
    found = limit(record)
    assert part["scheduling"] == {"timeout": f"{found.seconds}s", "disableRetries": True}
    assert found.seconds % 60 == 0
    assert 1 - found.most / found.seconds * 60 < found.most <= 1
    assert found.spent == 0
    trials = 3 if subject is TUNING_JOB else 1
    assert found.seconds == pytest.approx(14_640 / trials, rel=0.02)  # an n1-standard-4 and its disk
    # The derived timeout is no difference: not for the next deployment, nor for a refresh.
    trial.engine.refresh()
    (entry,) = [one for one in trial.engine.live() if one.name == trial.name]
    assert "disable_retries" not in json.dumps([entry.inputs, entry.outs])
    assert trial.up(declared("max_cost=1")) == 0
    trial.destroy()


@pytest.mark.parametrize("package", FORMS)
def test_another_sum_runs_nothing_and_counts_for_the_next_run(
    stack: Callable[..., Trial], package: bool
) -> None:
    trial = stack(package=package)
    trial.up(declared('max_cost=1, on_replace="keep"', command=QUICK))
    ended(trial)
    first = newest(trial)
    assert trial.up(declared('max_cost=2, on_replace="keep"', command=QUICK)) == 1  # the record, in place
    assert [one["name"] for one in trial.records()] == [first["name"]]
    assert trial.up(declared('max_cost=2, on_replace="keep"', command=QUICK)) == 0
    trial.up(declared('max_cost=2, on_replace="keep"', command=QUICK, spec="spec-2"))
    second = limit(newest(trial))
    assert second.seconds > 1.9 * limit(first).seconds
    assert 0 < second.spent < a_minute(trial)
    assert second.total <= 2
    # The sum goes on with the third run, also if the record of the first one is deleted.
    ended(trial)
    trial.up(declared('max_cost=2, on_replace="keep", keep_runs=0', command=QUICK, spec="spec-3"))
    assert len(trial.records()) == 1
    assert limit(newest(trial)).spent > second.spent
    trial.destroy()


@pytest.mark.parametrize("package", FORMS)
@pytest.mark.parametrize("on_replace", ["keep", "delete"])
def test_a_used_up_sum_refuses_the_next_run_before_anything_is_cancelled(
    stack: Callable[..., Trial], package: bool, on_replace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = stack(package=package)
    trial.up(declared("max_cost=1"))
    options = f"max_cost={a_minute(trial) * 1.000001!r}, on_replace={on_replace!r}"
    trial.up(declared(options))
    eventually(lambda: trial.state() == "RUNNING")
    (live,) = trial.there()
    for spec, forced in (("spec-2", False), ("spec-1", True)):
        with pytest.raises(Failure, match="its runs have used up max_cost; raise max_cost"):
            trial.up(declared(options, spec=spec), replace=forced)
        assert trial.there() == [live]
    capsys.readouterr()
    trial.up(declared(f"max_cost=1, on_replace={on_replace!r}", spec="spec-2"))
    assert "stops after " in capsys.readouterr().out
    assert limit(newest(trial)).spent > 0
    trial.destroy()


@pytest.mark.parametrize("package", FORMS)
@pytest.mark.parametrize("policy", ["on_failure", "always", "on_change"])
def test_a_failed_job_stays_once_the_sum_is_used_up(
    stack: Callable[..., Trial], package: bool, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = {"command": ("false",), "spec": "spec-2"}
    trial = stack(package=package)
    trial.up(declared("max_cost=1"))
    little = f"max_cost={a_minute(trial) * 1.000001!r}, rerun={policy!r}"
    fresh = stack(package=package)
    fresh.up(declared(little, **failing))
    ended(fresh)
    number = len(fresh.records())
    capsys.readouterr()
    assert fresh.up(declared(little, **failing)) == 0
    assert len(fresh.records()) == number
    assert "stays: its runs have used up max_cost; raise max_cost to let it run again" in (
        capsys.readouterr().out
    )
    # A higher sum runs it again only where the policy does.
    fresh.up(declared(f"max_cost=1, rerun={policy!r}", **failing))
    assert fresh.run()["generation"] == (1 if policy == "on_change" else 2)
    trial.destroy()
    fresh.destroy()


@pytest.mark.parametrize("package", FORMS)
@pytest.mark.slow
@pytest.mark.parametrize("on_replace", ["keep", "delete"])
def test_a_replacement_that_is_killed_anywhere_counts_what_was_spent(
    stack: Callable[..., Trial], package: bool, on_replace: str
) -> None:
    options = f"max_cost=1, on_replace={on_replace!r}"
    again = declared(options, spec="spec-2")

    def begin() -> Trial:
        trial = stack(package=package)
        trial.up(declared(options, command=QUICK))
        ended(trial)
        return trial

    def heals(trial: Trial, _died: str) -> None:
        trial.up(again)
        assert len(trial.there()) == 1
        assert trial.run()["limit"] == newest(trial)["labels"][LABEL]
        assert 0 < limit(newest(trial)).spent < limit(newest(trial)).total <= 1
        assert trial.up(again) == 0
        trial.destroy()

    points = at_every_point(begin, lambda trial: trial.up(again), heals)
    assert points >= len(("a submission", "its answer", "a record"))


def test_a_job_with_a_limit_can_be_adopted(stack: Callable[..., Trial]) -> None:
    first, second = stack(), stack()
    first.up(declared('max_cost=1, on_delete="cancel"', command=QUICK))
    ended(first)
    job = newest(first)
    first.engine.destroy()
    program = CUSTOM_JOB.program(declared("max_cost=2", command=QUICK), second.name)
    # The same declaration under another name: it names itself in its environment.
    program = program.replace('"value": name}', f'"value": "{first.name}"}}')
    taken = f'display_name="{first.name}", adopt="{job["name"]}", taking_over="{job["labels"][RUN_LABEL]}", '
    second.engine.up(program.replace("CustomJob(name, ", f"CustomJob(name, {taken}"))
    assert second.recorded() == [job["name"].partition("/locations/")[2]]
    assert second.run()["limit"] == job["labels"][LABEL]
    second.engine.destroy()


def test_declared_retries_are_kept(stack: Callable[..., Trial], capsys: pytest.CaptureFixture[str]) -> None:
    for text, kept in (
        ('scheduling={"disable_retries": False}', True),
        ('scheduling={"restart_job_on_worker_restart": True}', True),
        ('scheduling={"timeout": "90s"}', False),
        ("scheduling=vt.SchedulingArgs(disable_retries=False)", True),
    ):
        trial = stack()
        program = CUSTOM_JOB.program(Declaration(options="max_cost=1"), trial.name)
        trial.engine.up(program.replace("made = vt.CustomJob(name,", f"made = vt.CustomJob(name, {text},"))
        assert bool(newest(trial)["jobSpec"]["scheduling"].get("disableRetries")) is not kept
        assert (
            "In the worst case $3.99: if the service restarts it 3 times" in capsys.readouterr().out
        ) is kept
        trial.destroy()


@pytest.mark.parametrize("package", FORMS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("max_cost=0", r"max_cost is 0; it must be US dollars above 0, such as 50"),
        ("max_cost=-3.5", r"max_cost is -3.5; it must be US dollars above 0"),
        ('max_cost=float("nan")', r"max_cost is nan; it must be US dollars above 0"),
        ('max_cost=float("inf")', r"max_cost is inf; it must be US dollars above 0"),
        ('max_cost="50"', r"max_cost is '50'; it must be US dollars above 0"),
        ("max_cost=True", r"max_cost is True; it must be US dollars above 0"),
        (
            "max_cost=0.001",
            r"max_?[cC]ost: \$0.001 is below the cost of a minute of running, .*give at least 0.01",
        ),
        (
            'max_cost=0.01, scheduling={"timeout": "3600s"}',
            r"scheduling.timeout: 1 h cost up to \$0.25, above max_cost of \$0.01; leave the timeout out, "
            r"give at most 120s, or raise max_cost to 0.25",
        ),
    ],
)
def test_bad_input(stack: Callable[..., Trial], package: bool, options: str, message: str) -> None:
    trial = stack(package=package)
    with pytest.raises(Exception, match=message):
        trial.up(declared(options))
    assert trial.records() == []


def test_a_first_run_of_a_killed_deployment_is_adopted_with_its_limit(stack: Callable[..., Trial]) -> None:
    trial = stack()
    first = declared("max_cost=1")
    assert kills(trial.engine, lambda: trial.up(first), lambda text: text.startswith("after POST"))
    trial.up(replace(first, options="max_cost=2"))
    assert trial.run()["limit"] == newest(trial)["labels"][LABEL]
    assert limit(newest(trial)).total <= 1
    trial.destroy()
