"""The model of the soak says what the table of `lifecycle.rerun` says, in every combination of facts."""

from __future__ import annotations

import itertools

import pytest

from soak import checks
from soak.checks import Ending, Seen
from soak.model import (
    Declared,
    Fate,
    Job,
    Record,
    Run,
    Spec,
    Stands,
    Verdict,
    World,
    deployment,
    judge,
    refreshed,
    removal,
)
from vertex_training.lifecycle import removal_plan, rerun
from vertex_training.lifecycle.removal_plan import OnDelete, Step
from vertex_training.lifecycle.rerun import Facts, Policy, Rerun
from vertex_training.lifecycle.standing import Change, LastRun

SPEC = Spec(program="runs", salt=1)
OTHER = Spec(program="runs", salt=2)
_LAST = {
    Stands.NONE: LastRun.NONE,
    Stands.GONE: LastRun.GONE,
    Fate.LIVE: LastRun.RUNNING,
    Fate.CANCELLING: LastRun.CANCELLING,
    Fate.SUCCEEDED: LastRun.SUCCEEDED,
    Fate.FAILED: LastRun.FAILED,
    Fate.CANCELLED: LastRun.CANCELLED,
}
_WORDS = {Verdict.RUN: "RUN", Verdict.STAY: "NOTHING", Verdict.REFUSE: "REFUSE"}


def declared(**fields) -> Declared:
    return Declared(**{"names": ("d0",), "spec": SPEC, **fields})


def world(
    fate: Fate | None = Fate.LIVE, *, ended: Fate | None = None, job_key: str = "i-1", **record
) -> World:
    """A declaration whose job stands so; None: it is gone."""
    kept = {"rerun": "on_change", "protect_running": False, "on_delete": "delete", **record}
    job = Job(name="j1", key=job_key, spec=SPEC, fate=fate or Fate.LIVE, created="1")
    return World(
        run=Run(key="i-1", reruns=0, spec=SPEC, run_token=None),
        record=Record(job="j1", run="i-1", ended=ended, **kept),
        jobs=(job,) if fate else (),
    )


@pytest.mark.parametrize("policy", list(Policy), ids=lambda policy: policy.value)
def test_the_model_judges_as_the_table_does(policy: Policy) -> None:
    facts = itertools.product(_LAST, Change, (False, True), (False, True), (0, 1), (0, 1))
    for stands, change, protect, on_demand, reruns, limit in facts:
        changed = change not in (Change.NOTHING, Change.RECORD)
        verdict, why = judge(
            declared(rerun=policy.value, rerun_limit=limit, protect_running=protect),
            stands,
            changed=changed,
            reruns=reruns,
            on_demand=on_demand,
        )
        decision = rerun.decide(
            Facts(
                change=change,
                last_run=_LAST[stands],
                rerun=Rerun(policy=policy, limit=limit),
                reruns=reruns,
                protect_running=protect,
                on_demand=on_demand,
            )
        )
        assert _WORDS[verdict] == decision.verdict.name, (stands, change, protect, on_demand, why, decision)


@pytest.mark.parametrize("on_delete", list(OnDelete), ids=lambda one: one.value)
@pytest.mark.parametrize("protect", [False, True], ids=["open", "protected"])
def test_the_model_removes_as_the_table_does(on_delete: OnDelete, protect: bool) -> None:
    for fate in Fate:
        forecast = removal(world(fate, on_delete=on_delete.value, protect_running=protect))
        plan = removal_plan.plan(_LAST[fate], on_delete=on_delete, protect_running=protect)
        assert (forecast.verdict is Verdict.REFUSE) == plan.refused
        assert forecast.keeps_record == (Step.DELETE not in plan.steps) or plan.refused


def of(before: World, after: World, submitted: set[str], one: Declared | None, ending: Ending) -> list[str]:
    seen = Seen(before=before, after=after, submitted=frozenset(submitted))
    return list(checks.complaints(one, deployment(one, before), seen, ending))


def ran_again(before: World, *, key: str = "i-2", jobs: tuple[Job, ...] | None = None) -> World:
    """After a clean run of another spec."""
    new = Job(name="j2", key=key, spec=OTHER, fate=Fate.LIVE, created="2")
    assert before.record is not None
    return World(
        run=Run(key=key, reruns=0, spec=OTHER, run_token=None),
        record=Record(
            job="j2", run=key, ended=None, rerun="on_change", protect_running=False, on_delete="delete"
        ),
        jobs=(new,) if jobs is None else (*jobs, new),
    )


def test_a_clean_change_has_no_complaint() -> None:
    assert of(world(), ran_again(world()), {"j2"}, declared(spec=OTHER), Ending.CLEAN) == []


LEFT = Job(name="j1", key="i-1", spec=SPEC, fate=Fate.LIVE, created="1")


@pytest.mark.parametrize(
    ("after", "submitted", "one", "said"),
    [
        pytest.param(
            ran_again(world()), {"j2", "j3"}, declared(spec=OTHER), "2 jobs were submitted", id="doubled"
        ),
        pytest.param(world(), {"j2"}, declared(), "1 jobs were submitted where 0 are due", id="not due"),
        pytest.param(
            world(), set(), declared(spec=OTHER), "no job was submitted where one is due", id="none"
        ),
        pytest.param(
            ran_again(world(), jobs=(LEFT,)), {"j2"}, declared(spec=OTHER), "no state knows it", id="orphan"
        ),
        pytest.param(
            ran_again(world(), jobs=(LEFT,)),
            {"j2"},
            declared(spec=OTHER),
            "record is still",
            id="not deleted",
        ),
        pytest.param(world(), set(), None, "the state still has it", id="not removed"),
        pytest.param(World(jobs=(LEFT,)), set(), None, "j1 of run i-1 is live", id="left behind"),
        pytest.param(world(Fate.CANCELLED), set(), declared(), "was cancelled, and nothing", id="cancelled"),
        pytest.param(world(None), set(), declared(), "does not exist", id="lost"),
        pytest.param(world(job_key="i-0"), set(), declared(), "carries the key i-0", id="of another run"),
        pytest.param(
            world(), set(), declared(protect_running=True), "protect_running is False on record", id="policy"
        ),
    ],
)
def test_what_must_not_be_is_said(after: World, submitted: set[str], one: Declared | None, said: str) -> None:
    assert said in "\n".join(of(world(), after, submitted, one, Ending.CLEAN))


def test_a_killed_deployment_may_stop_anywhere_but_not_run_twice() -> None:
    for after, submitted in ((world(), set()), (ran_again(world()), {"j2"})):
        assert of(world(), after, submitted, declared(spec=OTHER), Ending.BROKEN) == []
    assert of(world(), ran_again(world()), {"j2", "j3"}, declared(spec=OTHER), Ending.BROKEN)


def test_a_run_that_nobody_recorded_is_joined_and_one_that_was_cancelled_is_not() -> None:
    run = world().run
    for fate, submits in ((Fate.LIVE, 0), (Fate.SUCCEEDED, 0), (Fate.CANCELLED, 1), (None, 1)):
        jobs = (Job(name="j1", key="i-1", spec=SPEC, fate=fate, created="1"),) if fate else ()
        forecast = deployment(declared(), World(run=run, jobs=jobs))
        assert (forecast.submits, forecast.new_key) == (submits, False), fate
    failed = (Job(name="j1", key="i-1", spec=SPEC, fate=Fate.FAILED, created="1"),)
    forecast = deployment(declared(rerun="on_failure"), World(run=run, jobs=failed))
    assert (forecast.submits, forecast.new_key, forecast.reruns) == (1, True, 1)


def test_a_refresh_puts_ends_on_record_and_drops_what_is_gone() -> None:
    ended = refreshed(world(Fate.FAILED)).record
    assert ended is not None
    assert ended.ended is Fate.FAILED
    assert refreshed(world(None)).record is None
    assert refreshed(world(None, ended=Fate.FAILED)).record is not None
    assert refreshed(world(None, rerun="never")).record is not None
