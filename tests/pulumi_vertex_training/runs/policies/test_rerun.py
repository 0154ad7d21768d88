"""The decision whether a job runs again: every case, and the page that shows the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pulumi_vertex_training.runs.policies import deletion_policy
from pulumi_vertex_training.runs.policies.rerun import ROWS, Action, Decision, Facts, Policy, Rerun, decide
from pulumi_vertex_training.runs.policies.run_status import (
    ENDED,
    FAILURES,
    LIVE,
    RERUN_CHANGES,
    Change,
    LastRun,
)
from support.client import rerun_page
from support.tables import every_row, not_empty

DOCS = Path(__file__).resolve().parents[4] / "docs"
GUIDES = tuple(DOCS / "guides" / "programs" / name for name in ("rerun.md", "protect-and-delete.md"))
PAGE = DOCS / "reference" / "reruns.md"
CASES = tuple(rerun_page.every_case())
DECIDED = tuple((facts, decide(facts)) for facts in CASES)
UNPROVOKED = tuple(
    (facts, decision)
    for facts, decision in DECIDED
    if facts.change not in RERUN_CHANGES and not facts.on_demand
)


def decided(about: Callable[[Facts], bool]) -> Sequence[tuple[Facts, Decision]]:
    """Return the decisions of some cases, of which there is at least one."""
    return not_empty((facts, decision) for facts, decision in DECIDED if about(facts))


def action(facts: Facts) -> Action:
    return decide(facts).action


def case(
    run: LastRun = LastRun.SUCCEEDED,
    change: Change = Change.NOTHING,
    policy: Policy = Policy.ON_CHANGE,
    *,
    limit: int = 2,
    reruns: int = 0,
    protect: bool = False,
    demand: bool = False,
) -> Facts:
    return Facts(
        change=change,
        last_run=run,
        rerun=Rerun(policy=policy, limit=limit),
        reruns=reruns,
        protect_running=protect,
        on_demand=demand,
    )


def test_the_cases_are_all_combinations() -> None:
    numbers = len(rerun_page.LIMITS) * len(rerun_page.COUNTS)
    of_ladders = 3 * 2 * 2  # climbs, with and without further rungs, on demand or not
    assert len(set(CASES)) == len(Change) * len(Policy) * (len(LastRun) * numbers * 2 * 2 + of_ladders)
    assert {(facts.reruns > facts.rerun.limit) - (facts.reruns < facts.rerun.limit) for facts in CASES} == {
        -1,
        0,
        1,
    }


def test_every_case_has_a_row() -> None:
    assert [facts for facts in CASES if not any(row.matches(facts) for row in ROWS)] == []


def test_every_row_decides_a_case() -> None:
    assert {decision.row for _, decision in DECIDED} == {row.name for row in ROWS}


def test_the_rows_have_names_of_their_own() -> None:
    for rows in (ROWS, deletion_policy.ROWS):
        assert len({row.name for row in rows}) == len(rows)


@every_row("position", range(len(ROWS)), ids=lambda position: ROWS[position].name)
def test_no_row_can_be_left_out(position: int) -> None:
    """Check that without the row some case has no row, another action or another sentence."""
    row, later = ROWS[position], ROWS[position + 1 :]
    mine = [facts for facts, decision in DECIDED if decision.row == row.name]
    instead = [next((other for other in later if other.matches(facts)), None) for facts in mine]
    assert any(
        other is None
        or (other.action, other.reason, other.reported) != (row.action, row.reason, row.reported)
        for other in instead
    )


@every_row(
    ("facts", "row", "sentence"),
    [
        pytest.param(case(LastRun.NONE), "first-run", "train will run: it has not run yet", id="first"),
        pytest.param(
            case(change=Change.SPEC), "spec", "train will run again: its spec changed", id="another spec"
        ),
        pytest.param(
            case(LastRun.NONE, Change.SPEC), "spec", "train will run: its spec changed", id="edited before"
        ),
        pytest.param(
            case(change=Change.SPEC_UNKNOWN),
            "spec",
            "train will run again: its spec depends on something that this deployment changes",
            id="spec not known",
        ),
        pytest.param(
            case(change=Change.RUN_TOKEN),
            "run-token",
            "train will run again: its run_token changed",
            id="token",
        ),
        pytest.param(case(), "succeeded", "train stays: it succeeded", id="steady"),
        pytest.param(
            case(change=Change.RECORD),
            "record",
            "train stays: only its record changed, which is updated in place",
            id="record",
        ),
        pytest.param(
            case(LastRun.FAILED),
            "failed",
            "train stays: it failed, and rerun is on_change; give it another run_token to try again",
            id="failed",
        ),
        pytest.param(
            case(LastRun.NO_CAPACITY),
            "no-capacity",
            "train will run again: it found no machines on any rung, climb 1 of 2",
            id="no capacity",
        ),
        pytest.param(
            replace(case(LastRun.NO_CAPACITY), climbs=2),
            "no-capacity-limit",
            "train stays: it found no machines on any rung, and capacity_limit, 2, is reached; give it "
            "another run_token to try again",
            id="no capacity again",
        ),
        pytest.param(
            replace(case(LastRun.NO_CAPACITY), climbs=2, has_next_rung=True),
            "next-rung",
            "train will run again: it found no machines, and its capacity ladder has further rungs",
            id="further rungs",
        ),
        pytest.param(
            case(LastRun.FAILED, Change.RECORD),
            "failed",
            "train stays: it failed, and rerun is on_change; give it another run_token to try again",
            id="failed, record edited",
        ),
        pytest.param(
            case(LastRun.FAILED, Change.RECORD, Policy.ON_FAILURE),
            "failed-again",
            "train will run again: it failed, rerun 1 of 2",
            id="failed, policy edited",
        ),
        pytest.param(
            case(LastRun.EXPIRED, policy=Policy.ON_FAILURE, reruns=1),
            "failed-again",
            "train will run again: it expired, rerun 2 of 2",
            id="expired again",
        ),
        pytest.param(
            case(LastRun.FAILED, policy=Policy.ON_FAILURE, reruns=2),
            "limit-reached",
            "train stays: it failed, and the limit of reruns on failure, 2, is reached; give it another "
            "run_token to try again",
            id="limit",
        ),
        pytest.param(
            case(LastRun.FAILED, policy=Policy.NEVER),
            "never",
            "train stays: it failed, and rerun is never",
            id="failed, never",
        ),
        pytest.param(
            case(LastRun.CANCELLED, policy=Policy.ON_FAILURE),
            "cancelled",
            "train stays: it was cancelled, and rerun is on_failure; give it another run_token to run it "
            "again",
            id="cancelled",
        ),
        pytest.param(
            case(LastRun.CANCELLING, policy=Policy.ALWAYS),
            "cancelling",
            "train stays: it is being cancelled, outside of this deployment",
            id="cancelling",
        ),
        pytest.param(
            case(policy=Policy.ALWAYS),
            "always",
            "train will run again: it succeeded, and rerun is always",
            id="always",
        ),
        pytest.param(
            case(LastRun.RUNNING, policy=Policy.ALWAYS), "under-way", "train stays: it is running", id="live"
        ),
        pytest.param(
            case(LastRun.GONE),
            "gone",
            "train will run again: it was deleted, and its end is not recorded (`pulumi refresh` records it)",
            id="gone",
        ),
        pytest.param(
            case(LastRun.GONE, policy=Policy.NEVER),
            "never",
            "train stays: it was deleted, and rerun is never",
            id="gone, never",
        ),
        pytest.param(
            case(LastRun.NOT_KNOWN, policy=Policy.ALWAYS),
            "not-known",
            "train stays: its state is not known",
            id="not known",
        ),
        pytest.param(
            case(LastRun.RUNNING, Change.SPEC, protect=True),
            "protected",
            "train cannot be replaced: its spec changed, but it is running and protect_running is set; let "
            "it end, cancel it, or set protect_running to False",
            id="protected",
        ),
        pytest.param(
            case(LastRun.QUEUED, protect=True, demand=True),
            "protected-on-demand",
            "train cannot be replaced: a replacement was requested, but it is queued and "
            "protect_running is set; let it end, cancel it, or set protect_running to False",
            id="protected, on demand",
        ),
        pytest.param(
            case(LastRun.CANCELLING, Change.SPEC, protect=True),
            "spec",
            "train will run again: its spec changed",
            id="given up",
        ),
        pytest.param(
            case(demand=True),
            "on-demand",
            "train will run again: a replacement was requested",
            id="on demand",
        ),
        pytest.param(
            case(policy=Policy.NEVER, demand=True),
            "never-on-demand",
            "train cannot be replaced: a replacement was requested, but rerun is never; set rerun to "
            "on_change first",
            id="on demand, never",
        ),
        pytest.param(
            case(LastRun.RUNNING, Change.SPEC, Policy.NEVER, protect=True),
            "never-changed",
            "train stays: its spec changed, but rerun is never",
            id="another spec, never",
        ),
    ],
)
def test_what_a_preview_says(facts: Facts, row: str, sentence: str) -> None:
    decision = decide(facts)
    assert (decision.row, decision.sentence("train")) == (row, sentence)


def test_a_live_job_that_is_as_declared_is_left_alone() -> None:
    seen = {
        decision.action for facts, decision in UNPROVOKED if facts.last_run in LIVE | {LastRun.CANCELLING}
    }
    assert seen == {Action.NOTHING}


def test_never_runs_once() -> None:
    seen = {
        (facts.last_run is LastRun.NONE, decision.action is Action.RUN)
        for facts, decision in DECIDED
        if facts.rerun.policy is Policy.NEVER
    }
    assert seen == {(True, True), (False, False)}


def test_every_policy_runs_what_has_not_run() -> None:
    assert {action(facts) for facts in CASES if facts.last_run is LastRun.NONE} == {Action.RUN}


def test_on_failure_stops_at_its_limit() -> None:
    failed = [each for each in UNPROVOKED if each[0].last_run in FAILURES]
    for facts, decision in not_empty(each for each in failed if each[0].rerun.policy is Policy.ON_FAILURE):
        assert (decision.action is Action.RUN) == (facts.reruns < facts.rerun.limit)


@pytest.mark.parametrize("limit", range(5))
def test_a_job_that_always_fails_runs_as_often_as_allowed(limit: int) -> None:
    reruns, runs = 0, 1
    for _ in range(10):
        decision = decide(case(LastRun.FAILED, policy=Policy.ON_FAILURE, limit=limit, reruns=reruns))
        reruns, runs = decision.reruns, runs + (decision.action is Action.RUN)
    assert (runs, reruns) == (1 + limit, limit)


def test_counting_starts_again_when_a_run_is_asked_for() -> None:
    for facts, decision in decided(
        lambda facts: (
            facts.change in RERUN_CHANGES or (facts.on_demand and facts.last_run is not LastRun.NONE)
        )
    ):
        assert decision.reruns == (0 if decision.action is Action.RUN else facts.reruns)


@pytest.mark.parametrize("run", [LastRun.GONE, LastRun.NONE, LastRun.RUNNING, LastRun.NOT_KNOWN])
def test_counting_goes_on_over_a_run_that_is_lost(run: LastRun) -> None:
    assert decide(case(run, policy=Policy.ON_FAILURE, reruns=1)).reruns == 1


def test_protection_refuses_what_would_replace_a_live_job_and_nothing_else() -> None:
    for facts, decision in decided(lambda facts: facts.protect_running):
        without = action(replace(facts, protect_running=False))
        refused = without is Action.RUN and facts.last_run in LIVE
        assert decision.action is (Action.REFUSE if refused else without)


def test_what_is_not_protected_is_refused_by_never_or_max_cost_alone() -> None:
    rows = {
        decision.row
        for facts, decision in DECIDED
        if decision.action is Action.REFUSE and not facts.protect_running
    }
    assert rows == {"never-on-demand", "max-cost-on-demand", "max-cost-changed"}


def test_nothing_runs_once_max_cost_is_used_up() -> None:
    spent = {decision.action for facts, decision in DECIDED if facts.last_run is LastRun.SPENT}
    assert spent == {Action.NOTHING, Action.REFUSE}


def test_a_run_that_is_not_known_decides_nothing() -> None:
    """Run or refuse it only if any ended run would be, too."""
    for facts, decision in DECIDED:
        if facts.last_run is LastRun.NOT_KNOWN and decision.action is not Action.NOTHING:
            ended = ENDED - {LastRun.SPENT}
            assert {action(replace(facts, last_run=run)) for run in ended} == {decision.action}
    unprovoked = {decision.action for facts, decision in UNPROVOKED if facts.last_run is LastRun.NOT_KNOWN}
    assert unprovoked == {Action.NOTHING}


def test_the_record_alone_changes_no_action() -> None:
    for facts, decision in decided(lambda facts: facts.change is Change.RECORD):
        assert action(replace(facts, change=Change.NOTHING)) is decision.action


def test_policies_agree_about_a_change() -> None:
    for facts, decision in decided(
        lambda facts: facts.change in RERUN_CHANGES and facts.rerun.policy is not Policy.NEVER
    ):
        assert action(replace(facts, rerun=Rerun(policy=Policy.ALWAYS))) is decision.action


def test_a_token_and_a_spec_weigh_the_same() -> None:
    for facts, decision in decided(lambda facts: facts.change in RERUN_CHANGES):
        assert {action(replace(facts, change=change)) for change in RERUN_CHANGES} == {decision.action}


def test_a_first_run_on_demand_is_a_first_run_and_nothing_to_tell() -> None:
    decision = decide(case(LastRun.NONE, demand=True))
    assert (decision.row, decision.action, decision.reported) == ("first-run", Action.RUN, False)


def test_never_is_refused_on_demand_also_where_the_spec_changed() -> None:
    assert decide(case(change=Change.SPEC, policy=Policy.NEVER, demand=True)).row == "never-on-demand"


def test_an_end_without_success_is_always_reported() -> None:
    reported = {
        decision.reported
        for facts, decision in DECIDED
        if facts.last_run in FAILURES | {LastRun.CANCELLED, LastRun.CANCELLING, LastRun.GONE}
    }
    assert reported == {True}


def test_a_thousand_jobs_that_are_well_say_nothing() -> None:
    quiet = {decision.reported for facts, decision in UNPROVOKED if facts.last_run in LIVE}
    assert quiet == {False}
    assert not decide(case()).reported


def test_a_limit_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or more, not -1"):
        Rerun(limit=-1)


def test_the_page_has_the_tables(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    prose = text.partition(rerun_page.BEGIN)[0]
    page = prose + rerun_page.as_markdown() + "\n"
    if request.config.getoption("--record"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_every_line_that_the_pages_quote_is_said() -> None:
    prose = "".join(guide.read_text(encoding="utf-8") for guide in GUIDES)
    quoted = [
        line
        for block in re.findall(r"```text\n(.*?)```", prose, flags=re.DOTALL)
        for line in block.splitlines()
    ]
    said = {decision.sentence("train") for _, decision in DECIDED if decision.reported}
    assert len(quoted) >= 10
    assert set(quoted) <= said


TEXTS = [(row.name, row.reason, row.because) for row in ROWS]
TEXTS += [(row.name, row.reason, row.because) for row in deletion_policy.ROWS]


@every_row(("name", "reason", "because"), TEXTS, ids=[name for name, _, _ in TEXTS])
def test_a_row_is_punctuated_once(name: str, reason: str, because: str) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert not re.search(r"[.;,:]$", reason)
    assert not because or re.search(r"[^.]\.$", because)
