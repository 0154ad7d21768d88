"""The tables of `docs/reference/reruns.md`, generated from `rerun.ROWS` and `deletion_policy.ROWS`."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from pulumi_vertex_training.runs.policies import deletion_policy, rerun
from pulumi_vertex_training.runs.policies.deletion_policy import DeletionRow
from pulumi_vertex_training.runs.policies.rerun import Action, Facts, Policy, Rerun, Row, decide
from pulumi_vertex_training.runs.policies.run_status import LIVE, Change, LastRun

Member = TypeVar("Member", bound=enum.Enum)

BEGIN = "<!-- The tables from here on are made from the code. -->"
END = "<!-- End of the tables that are made from the code. -->"

LIMITS = (0, 2)
COUNTS = (0, 1, 2, 3)

_CHANGES = {
    Change.SPEC_UNKNOWN: "the spec (not known yet)",
    Change.SPEC: "the spec",
    Change.RUN_TOKEN: "the run_token",
    Change.RECORD: "the record",
    Change.NOTHING: "nothing",
}
_RUNS = {run: run.name.lower().replace("_", " ") for run in LastRun} | {LastRun.NONE: "none yet"}
_POLICIES = {policy: f"`{policy.value}`" for policy in Policy}
_ACTIONS = {Action.NOTHING: "stays", Action.RUN: "**runs**", Action.REFUSE: "**refused**"}
_TYPICAL = (LastRun.RUNNING, LastRun.FAILED, LastRun.SUCCEEDED)


def every_case() -> Iterator[Facts]:
    """Yield each combination of facts, with numbers below, at and above a limit."""
    for change, run, policy, limit, reruns, protect, demand in itertools.product(
        reversed(Change), LastRun, Policy, LIMITS, COUNTS, (False, True), (False, True)
    ):
        yield Facts(
            change=change,
            last_run=run,
            rerun=Rerun(policy=policy, limit=limit),
            reruns=reruns,
            protect_running=protect,
            on_demand=demand,
        )
    for change, policy, climbs, has_next_rung, demand in itertools.product(
        reversed(Change), Policy, (1, 2, 3), (False, True), (False, True)
    ):
        yield Facts(
            change=change,
            last_run=LastRun.NO_CAPACITY,
            rerun=Rerun(policy=policy, climb_limit=2),
            climbs=climbs,
            has_next_rung=has_next_rung,
            on_demand=demand,
        )


def as_markdown() -> str:
    """Return all tables, between the lines that mark them in the page."""
    return "\n".join([BEGIN, "", *_unchanged(), *_changed(), *_rows(), *_removals(), END])


def _unchanged() -> list[str]:
    def cell(run: LastRun, policy: Policy) -> str:
        words = {
            _ACTIONS[decide(_case(Change.NOTHING, run, policy, reruns=reruns, climbs=2 * reruns)).action]
            for reruns in (0, 1)
        }
        return words.pop() if len(words) == 1 else f"{_ACTIONS[Action.RUN]}, up to its limit"

    return [
        "## Nothing changed, or the record alone",
        "",
        "The record has the options that are not part of the job: `wait`, `rerun`, `rerun_limit`, "
        "`protect_running`, `on_delete`, `on_replace`, `keep_runs`, `max_cost`, `resume`, `capacity`, "
        "`capacity_limit`. It is updated in place.",
        "",
        *_table(
            ["last run", *_POLICIES.values()],
            _merged([_RUNS[run], *(cell(run, policy) for policy in Policy)] for run in LastRun),
        ),
    ]


def _merged(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the rows with one row for all runs that have the same cells."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for run, *cells in rows:
        runs.setdefault(tuple(cells), []).append(run)
    for found, of in runs.items():
        yield [", ".join(of), *found]


def _changed() -> list[str]:
    def cell(run: LastRun, policy: Policy, protect: bool) -> str:
        return _ACTIONS[decide(_case(Change.SPEC, run, policy, protect=protect)).action]

    return [
        "## The spec or the run_token changed",
        "",
        *_table(
            [
                "last run",
                "`on_change`, `on_failure`, `always`",
                "the same with `protect_running`",
                "`never`",
            ],
            _merged(
                [
                    _RUNS[run],
                    cell(run, Policy.ON_CHANGE, False),
                    cell(run, Policy.ON_CHANGE, True),
                    cell(run, Policy.NEVER, False),
                ]
                for run in LastRun
            ),
        ),
    ]


def _rows() -> list[str]:
    decided: dict[str, list[Facts]] = {}
    for facts in every_case():
        decided.setdefault(decide(facts).row, []).append(facts)

    def line(row: Row) -> str:
        facts = [
            f"change: {_set(row.change, _CHANGES)}" if len(row.change) < len(Change) else "",
            f"last run: {_runs(row.last_run)}" if len(row.last_run) < len(LastRun) else "",
            f"rerun: {_set(row.policy, _POLICIES)}" if len(row.policy) < len(Policy) else "",
            _conditions(row),
        ]
        printed = f" (`{_printed(_example(decided[row.name]))}`)" if row.reported else ""
        return _item(row.name, facts, f"{_ACTIONS[row.action]}{printed}", row.because)

    return [
        "## Every row",
        "",
        "The first row that matches decides. A live job is queued, pending, running or paused. In "
        "parentheses is the reason that a preview prints, as in `train will run again: its spec changed`; "
        "some rows print none.",
        "",
        *map(line, rerun.ROWS),
        "",
    ]


def _item(name: str, facts: list[str], result: str, because: str) -> str:
    return f"1. `{name}`. {'; '.join(filter(None, facts))}: {result}. {because}".rstrip()


def _printed(sentence: str) -> str:
    """Return the reason in a line of a preview, without the words that all lines of an action share."""
    return sentence.partition(": ")[2].replace("`", "")


def _removals() -> list[str]:
    def line(row: DeletionRow) -> str:
        kept = "" if row.keep_record is None else "record kept" if row.keep_record else "record deleted"
        facts = [f"last run: {_runs(row.last_run)}", kept, "`protect_running`" if row.protect_running else ""]
        steps = ", ".join(step.value for step in row.steps) or "nothing to do"
        return _item(row.name, facts, _ACTIONS[Action.REFUSE] if row.refused else steps, row.because)

    return [
        "## What a deletion does",
        "",
        "A record is kept if `on_delete` is `cancel`, for a job that is destroyed or removed from the "
        "program, and if `on_replace` is `keep`, for one that a new run replaces. The first row decides.",
        "",
        *map(line, deletion_policy.ROWS),
        "",
    ]


def _case(
    change: Change, run: LastRun, policy: Policy, *, reruns: int = 0, climbs: int = 0, protect: bool = False
) -> Facts:
    return Facts(
        change=change,
        last_run=run,
        rerun=Rerun(policy=policy, limit=1),
        reruns=reruns,
        climbs=climbs,
        protect_running=protect,
    )


def _example(cases: Iterable[Facts]) -> str:
    """Return the line that a preview prints in the most typical of the cases."""
    typical = min(
        cases,
        key=lambda facts: (
            facts.change is not Change.SPEC,
            facts.last_run not in _TYPICAL,
            facts.rerun.limit != LIMITS[-1],
            facts.on_demand,
        ),
    )
    return decide(typical).sentence("train")


def _conditions(row: Row) -> str:
    parts = [
        "`protect_running`" if row.protect_running else "",
        "replacement requested" if row.on_demand else "",
        "below the limit" if row.below_limit or row.below_climb_limit else "",
        "further rungs" if row.has_next_rung else "",
    ]
    return ", ".join(filter(None, parts))


def _set(chosen: frozenset[Member], words: Mapping[Member, str]) -> str:
    """Return the members in their order; "any" for all of them, "all but X" if one is missing."""
    missing = [word for item, word in words.items() if item not in chosen]
    if len(missing) < 2:
        return f"all but {missing[0]}" if missing else "any"
    return ", ".join(word for item, word in words.items() if item in chosen)


def _runs(chosen: frozenset[LastRun]) -> str:
    if not chosen >= LIVE or len(chosen) > len(LastRun) - 2:
        return _set(chosen, _RUNS)
    others = chosen - LIVE
    return "live" + (f", {_set(others, _RUNS)}" if others else "")


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines] + [""]
