"""The model of the soak and the table of `runs.rerun`, each held to rules that are written out here.

Two that agree can be wrong together. So neither is compared with the other, nor with the tables of
docs/rerun.md, which are made from `lifecycle`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from pulumi_vertex_training.runs import deletion_policy, rerun
from pulumi_vertex_training.runs.deletion_policy import OnDelete, Step
from pulumi_vertex_training.runs.rerun import Facts, Policy, Rerun
from pulumi_vertex_training.runs.run_status import Change, LastRun
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

SPEC = Spec(program="runs", salt=1)
OTHER = Spec(program="runs", salt=2)


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


RULES = """
                               none     gone     live     cancelling  succeeded  failed   cancelled
kept     on_change             run      run      stay     stay        stay       stay     stay
kept     on_failure            run      run      stay     stay        stay       run      stay
kept     on_failure-at-limit   run      run      stay     stay        stay       stay     stay
kept     always                run      run      stay     stay        run        run      run
kept     never                 run      stay     stay     stay        stay       stay     stay
changed  on_change             run      run      run      run         run        run      run
changed  on_failure            run      run      run      run         run        run      run
changed  on_failure-at-limit   run      run      run      run         run        run      run
changed  always                run      run      run      run         run        run      run
changed  never                 run      stay     stay     stay        stay       stay     stay
demand   on_change             run      run      run      run         run        run      run
demand   on_failure            run      run      run      run         run        run      run
demand   on_failure-at-limit   run      run      run      run         run        run      run
demand   always                run      run      run      run         run        run      run
demand   never                 run      refuse   refuse   refuse      refuse     refuse   refuse
"""
"""What is decided. Each cell was filled in by hand from these sentences:

* A declaration runs once, under every policy.
* A finished job is steady state. A job that was cancelled or failed is finished, too.
* `on_failure` repairs failures, not successes and not cancellations, until its limit in a row is reached.
* `always` runs again what has ended. Nothing doubles a job that has not.
* A job that vanished before its end was recorded was never finished, so it runs again.
* `never` means once, whatever happens. What the command line asks for is refused, not ignored.
* Another spec or another `run_token` is another run, and so is `pulumi up --replace`.

"kept" is a declaration that did not change, "changed" one with another spec or `run_token`, "demand" is
--replace.
"""

PROTECTED = {"changed": ("live",), "demand": ("live",)}
"""With `protect_running` nothing takes the place of a live job. It does not protect one that has ended."""

REMOVED = """
                      live            cancelling  succeeded  failed   cancelled
delete                cancel+delete   delete      delete     delete   delete
delete-protected      refuse          delete      delete     delete   delete
cancel                cancel          nothing     nothing    nothing  nothing
cancel-protected      refuse          nothing     nothing    nothing  nothing
"""
"""What happens to the job of a declaration that is taken away, by `on_delete`.

A live job is cancelled either way. `delete` removes its record afterwards, `cancel` keeps it as a history.
"""


def cells(table: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """The words that begin each row, and the column's name and the cell of each column."""
    head, *rows = [line.split() for line in table.strip().splitlines()]
    for row in rows:
        first = len(row) - len(head)
        for column, cell in zip(head, row[first:], strict=True):
            yield tuple(row[:first]), column, cell


STANDS: dict[str, Stands | Fate] = {each.name.lower(): each for each in (*Stands, *Fate)}
LAST: dict[str, tuple[LastRun, ...]] = {
    "none": (LastRun.NONE,),
    "gone": (LastRun.GONE,),
    "live": (LastRun.QUEUED, LastRun.PENDING, LastRun.RUNNING, LastRun.PAUSED),
    "cancelling": (LastRun.CANCELLING,),
    "succeeded": (LastRun.SUCCEEDED,),
    "failed": (LastRun.FAILED, LastRun.EXPIRED),
    "cancelled": (LastRun.CANCELLED,),
}
CHANGES: dict[str, tuple[Change, ...]] = {
    "kept": (Change.NOTHING, Change.RECORD),
    "changed": (Change.SPEC, Change.SPEC_UNKNOWN, Change.RUN_TOKEN),
    "demand": tuple(Change),
}
LIMIT = 2


@dataclass(frozen=True)
class Rule:
    """One cell of `RULES`, with or without protection."""

    asked: str
    policy: str
    reruns: int
    stands: str
    protect: bool
    decision: str

    def __str__(self) -> str:
        return f"{self.asked}-{self.policy}-{self.reruns}-{self.stands}{'-protected' if self.protect else ''}"


def rules() -> Iterator[Rule]:
    for (asked, row), stands, cell in cells(RULES):
        policy, _, at_limit = row.partition("-")
        for protect in (False, True):
            is_held = protect and stands in PROTECTED.get(asked, ()) and cell == "run"
            yield Rule(
                asked=asked,
                policy=policy,
                reruns=LIMIT if at_limit else LIMIT - 1,
                stands=stands,
                protect=protect,
                decision="refuse" if is_held else cell,
            )


EACH_RULE = pytest.mark.parametrize("rule", tuple(rules()), ids=str)


@EACH_RULE
def test_the_model_decides_by_the_rules(rule: Rule) -> None:
    verdict, why = judge(
        declared(rerun=rule.policy, rerun_limit=LIMIT, protect_running=rule.protect),
        STANDS[rule.stands],
        changed=rule.asked == "changed",
        reruns=rule.reruns,
        on_demand=rule.asked == "demand",
    )
    assert (verdict.name.lower(), why) == (rule.decision, why)


@EACH_RULE
def test_the_table_decides_by_the_rules(rule: Rule) -> None:
    found = {
        (change, last): rerun.decide(
            Facts(
                change=change,
                last_run=last,
                rerun=Rerun(policy=Policy(rule.policy), limit=LIMIT),
                reruns=rule.reruns,
                protect_running=rule.protect,
                on_demand=rule.asked == "demand",
            )
        ).action
        for change in CHANGES[rule.asked]
        for last in LAST[rule.stands]
    }
    expected = {"run": "RUN", "stay": "NOTHING", "refuse": "REFUSE"}[rule.decision]
    assert {case: verdict.name for case, verdict in found.items()} == dict.fromkeys(found, expected)


def test_every_policy_and_every_state_has_a_rule() -> None:
    assert {rule.policy for rule in rules()} == {policy.value for policy in Policy}
    assert {rule.stands for rule in rules()} == set(STANDS) == set(LAST)
    seen = {last for each in LAST.values() for last in each}
    assert set(LastRun) - seen == {LastRun.NOT_KNOWN}, "the emulator of a soak always answers"
    assert {change for each in CHANGES.values() for change in each} == set(Change)


EACH_REMOVAL = pytest.mark.parametrize(("row", "stands", "cell"), [*cells(REMOVED)])


@EACH_REMOVAL
def test_the_model_removes_by_the_rules(row: tuple[str], stands: str, cell: str) -> None:
    on_delete, _, protected = row[0].partition("-")
    forecast = removal(world(Fate[stands.upper()], on_delete=on_delete, protect_running=bool(protected)))
    assert (forecast.verdict is Verdict.REFUSE) == (cell == "refuse")
    if cell != "refuse":
        assert forecast.removes == "j1"
        assert forecast.keeps_record == (on_delete == "cancel")


@EACH_REMOVAL
def test_the_table_removes_by_the_rules(row: tuple[str], stands: str, cell: str) -> None:
    on_delete, _, protected = row[0].partition("-")
    for last in LAST[stands]:
        plan = deletion_policy.plan(last, on_delete=OnDelete(on_delete), protect_running=bool(protected))
        assert plan.refused == (cell == "refuse"), last
        steps = [step for step in (Step.CANCEL, Step.DELETE) if step in plan.steps]
        expected = {
            "cancel+delete": [Step.CANCEL, Step.DELETE],
            "cancel": [Step.CANCEL],
            "delete": [Step.DELETE],
        }
        assert steps == expected.get(cell, []), last


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
