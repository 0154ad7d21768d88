"""The model of the soak and the table of `runs.policies.rerun`, each compared with rules written out here.

The two could agree and both be wrong. So neither is compared with the other, nor with the tables of
docs/reference/reruns.md, which are generated from `runs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from pulumi_vertex_training.runs.policies import deletion_policy, rerun
from pulumi_vertex_training.runs.policies.deletion_policy import Step
from pulumi_vertex_training.runs.policies.rerun import Facts, Policy, Rerun
from pulumi_vertex_training.runs.policies.run_status import Change, LastRun
from soak.jobs import checks
from soak.jobs.checks import Ending, Observed
from soak.jobs.model import (
    Decision,
    Declared,
    Job,
    JobState,
    Record,
    Run,
    RunState,
    Spec,
    World,
    decide,
    deployment,
    refreshed,
    removal,
)
from support.tables import every_row

SPEC = Spec(program="runs", salt=1)
OTHER = Spec(program="runs", salt=2)


def declared(**fields) -> Declared:
    return Declared(**{"spec": SPEC, **fields})


def world(
    state: JobState | None = JobState.LIVE, *, ended: JobState | None = None, job_key: str = "i-1", **record
) -> World:
    """Return a declaration whose job is in this state; None: the job is gone."""
    kept = {"rerun": "on_change", "protect_running": False, "on_delete": "delete", **record}
    job = Job(name="j1", key=job_key, spec=SPEC, state=state or JobState.LIVE, created="1")
    return World(
        run=Run(key="i-1", reruns=0, spec=SPEC, run_token=None),
        record=Record(job="j1", run="i-1", ended=ended, **kept),
        jobs=(job,) if state else (),
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
"""The expected decisions. Each cell was filled in manually from these sentences:

* A declaration runs once, under all policies.
* A finished job is steady state. A job that was cancelled or failed is finished, too.
* `on_failure` repairs failures, not successes and not cancellations, until its limit in a row is reached.
* `always` runs an ended job again. It never starts a second one next to a job that has not ended.
* A job that vanished before its end was recorded was never finished, so it runs again.
* `never` means once. A request on the command line is refused, not ignored.
* Another spec or another `run_token` is another run, and so is `pulumi up --replace`.

"kept" is an unchanged declaration, "changed" one with another spec or `run_token`, "demand" is
--replace.
"""

PROTECTED = {"changed": ("live",), "demand": ("live",)}
"""With `protect_running` a live job is not replaced. An ended one is not protected."""

REMOVED = """
                      live            cancelling  succeeded  failed   cancelled
delete                cancel+delete   delete      delete     delete   delete
delete-protected      refuse          delete      delete     delete   delete
cancel                cancel          nothing     nothing    nothing  nothing
cancel-protected      refuse          nothing     nothing    nothing  nothing
"""
"""The steps for the job of a removed declaration, by `on_delete`.

A live job is cancelled either way. `delete` deletes its record afterwards, `cancel` keeps it as a history.
"""


def cells(table: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the words that begin each row, and the column's name and the cell of each column."""
    head, *rows = [line.split() for line in table.strip().splitlines()]
    for row in rows:
        first = len(row) - len(head)
        for column, cell in zip(head, row[first:], strict=True):
            yield tuple(row[:first]), column, cell


LAST_RUN_STATES: dict[str, RunState | JobState] = {each.name.lower(): each for each in (*RunState, *JobState)}
LAST: dict[str, tuple[LastRun, ...]] = {
    "none": (LastRun.NONE,),
    "gone": (LastRun.GONE, LastRun.STOPPED),
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
    """A cell of `RULES`, with or without protection."""

    asked: str
    policy: str
    reruns: int
    last_run: str
    protect: bool
    decision: str

    def __str__(self) -> str:
        return (
            f"{self.asked}-{self.policy}-{self.reruns}-{self.last_run}{'-protected' if self.protect else ''}"
        )


def rules() -> Iterator[Rule]:
    for (asked, row), last_run, cell in cells(RULES):
        policy, _, at_limit = row.partition("-")
        for protect in (False, True):
            is_protected = protect and last_run in PROTECTED.get(asked, ()) and cell == "run"
            yield Rule(
                asked=asked,
                policy=policy,
                reruns=LIMIT if at_limit else LIMIT - 1,
                last_run=last_run,
                protect=protect,
                decision="refuse" if is_protected else cell,
            )


EACH_RULE = every_row("rule", tuple(rules()), ids=str)


@EACH_RULE
def test_the_model_decides_by_the_rules(rule: Rule) -> None:
    decision, why = decide(
        declared(rerun=rule.policy, rerun_limit=LIMIT, protect_running=rule.protect),
        LAST_RUN_STATES[rule.last_run],
        changed=rule.asked == "changed",
        reruns=rule.reruns,
        on_demand=rule.asked == "demand",
    )
    assert (decision.name.lower(), why) == (rule.decision, why)


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
        for last in LAST[rule.last_run]
    }
    expected = {"run": "RUN", "stay": "NOTHING", "refuse": "REFUSE"}[rule.decision]
    assert {case: action.name for case, action in found.items()} == dict.fromkeys(found, expected)


def test_all_policies_and_states_have_a_rule() -> None:
    assert {rule.policy for rule in rules()} == {policy.value for policy in Policy}
    assert {rule.last_run for rule in rules()} == set(LAST_RUN_STATES) == set(LAST)
    seen = {last for each in LAST.values() for last in each}
    # The emulator of a soak always answers, and never cancels a job at its timeout. No job has `max_cost` or
    # a ladder.
    assert set(LastRun) - seen == {
        *(LastRun.NOT_KNOWN, LastRun.TIMED_OUT, LastRun.SPENT, LastRun.NO_CAPACITY)
    }
    assert {change for each in CHANGES.values() for change in each} == set(Change)


EACH_REMOVAL = every_row("row, last_run, cell", [*cells(REMOVED)])


@EACH_REMOVAL
def test_the_model_removes_by_the_rules(row: tuple[str], last_run: str, cell: str) -> None:
    on_delete, _, protected = row[0].partition("-")
    forecast = removal(
        world(JobState[last_run.upper()], on_delete=on_delete, protect_running=bool(protected))
    )
    assert (forecast.decision is Decision.REFUSE) == (cell == "refuse")
    if cell != "refuse":
        assert forecast.removes == "j1"
        assert forecast.keeps_record == (on_delete == "cancel")


@EACH_REMOVAL
def test_the_table_removes_by_the_rules(row: tuple[str], last_run: str, cell: str) -> None:
    on_delete, _, protected = row[0].partition("-")
    for last in LAST[last_run]:
        plan = deletion_policy.plan(last, keep_record=on_delete == "cancel", protect_running=bool(protected))
        assert plan.refused == (cell == "refuse"), last
        steps = [step for step in (Step.CANCEL, Step.DELETE) if step in plan.steps]
        expected = {
            "cancel+delete": [Step.CANCEL, Step.DELETE],
            "cancel": [Step.CANCEL],
            "delete": [Step.DELETE],
        }
        assert steps == expected.get(cell, []), last


def of(before: World, after: World, submitted: set[str], one: Declared | None, ending: Ending) -> list[str]:
    seen = Observed(before=before, after=after, submitted=frozenset(submitted))
    return list(checks.complaints(one, deployment(one, before), seen, ending))


def ran_again(before: World, *, key: str = "i-2", jobs: tuple[Job, ...] | None = None) -> World:
    """Return the world after an undisturbed run of another spec; the job that it replaced is kept."""
    kept = Job(name="j1", key="i-1", spec=SPEC, state=JobState.CANCELLED, created="1")
    new = Job(name="j2", key=key, spec=OTHER, state=JobState.LIVE, created="2")
    assert before.record is not None
    return World(
        run=Run(key=key, reruns=0, spec=OTHER, run_token=None),
        record=Record(
            job="j2", run=key, ended=None, rerun="on_change", protect_running=False, on_delete="delete"
        ),
        jobs=(kept, new) if jobs is None else (*jobs, new),
    )


def test_an_undisturbed_change_has_no_complaint() -> None:
    assert of(world(), ran_again(world()), {"j2"}, declared(spec=OTHER), Ending.CLEAN) == []


LEFT = Job(name="j1", key="i-1", spec=SPEC, state=JobState.LIVE, created="1")


@every_row(
    "after, submitted, one, complaint",
    [
        pytest.param(
            ran_again(world()), {"j2", "j3"}, declared(spec=OTHER), "2 jobs were submitted", id="doubled"
        ),
        pytest.param(world(), {"j2"}, declared(), "1 jobs were submitted where 0 are due", id="not due"),
        pytest.param(
            world(), set(), declared(spec=OTHER), "no job was submitted where one is due", id="none"
        ),
        pytest.param(
            ran_again(world(), jobs=(LEFT,)),
            {"j2"},
            declared(spec=OTHER),
            "but not in the state",
            id="orphan",
        ),
        pytest.param(
            ran_again(world(), jobs=()),
            {"j2"},
            declared(spec=OTHER),
            "is gone, but must be kept",
            id="not kept",
        ),
        pytest.param(world(), set(), None, "the state still has it", id="not removed"),
        pytest.param(World(jobs=(LEFT,)), set(), None, "j1 of run i-1 is live", id="left behind"),
        pytest.param(
            world(JobState.CANCELLED), set(), declared(), "was cancelled without a reason", id="cancelled"
        ),
        pytest.param(world(None), set(), declared(), "does not exist", id="lost"),
        pytest.param(world(job_key="i-0"), set(), declared(), "has the key i-0", id="of another run"),
        pytest.param(
            world(), set(), declared(protect_running=True), "protect_running is False on record", id="policy"
        ),
    ],
)
def test_violations_are_reported(
    after: World, submitted: set[str], one: Declared | None, complaint: str
) -> None:
    assert complaint in "\n".join(of(world(), after, submitted, one, Ending.CLEAN))


def test_a_killed_deployment_submits_at_most_one_job() -> None:
    for after, submitted in ((world(), set()), (ran_again(world()), {"j2"})):
        assert of(world(), after, submitted, declared(spec=OTHER), Ending.BROKEN) == []
    assert of(world(), ran_again(world()), {"j2", "j3"}, declared(spec=OTHER), Ending.BROKEN)


def test_a_job_that_was_left_behind_is_adopted_unless_cancelled() -> None:
    begun = frozenset({"i"})
    for state, submits in ((JobState.LIVE, 0), (JobState.SUCCEEDED, 0), (JobState.CANCELLED, 1), (None, 1)):
        jobs = (Job(name="j1", key="i-1", spec=SPEC, state=state, created="1"),) if state else ()
        assert deployment(declared(), World(begun=begun, jobs=jobs)).submits == submits, state
        assert deployment(declared(spec=OTHER), World(begun=begun, jobs=jobs)).submits == 1, state
    kept = (Job(name="j1", key="i-1", spec=SPEC, state=JobState.SUCCEEDED, created="1"),)
    assert deployment(declared(), World(jobs=kept)).submits == 1
    later = Job(name="j2", key="i-2", spec=OTHER, state=JobState.FAILED, created="2")
    unfinished = World(run=world().run, released="j1", jobs=(*kept, later))
    assert [deployment(declared(spec=spec), unfinished).submits for spec in (SPEC, OTHER)] == [1, 0]


def test_a_refresh_records_ends_and_drops_lost_jobs() -> None:
    ended = refreshed(world(JobState.FAILED)).record
    assert ended is not None
    assert ended.ended is JobState.FAILED
    assert (refreshed(world(None)).record, refreshed(world(None)).run) == (None, None)
    assert refreshed(world(None, ended=JobState.FAILED)).record is not None
    assert refreshed(world(None, rerun="never")).record is not None
