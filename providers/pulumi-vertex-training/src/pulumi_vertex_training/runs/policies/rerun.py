"""When a declaration runs again: one table, with the reason of each run.

The reason is in a label of the job. A label is the only place that both the service and a lost state leave
intact. Its value has at most 63 lowercase letters, digits, dashes and underscores.

`ROWS` is the table; its first row that matches decides. Every combination of facts has a row, and
`docs/reference/reruns.md` is made from the same rows (`rerun_page`). `deletion_policy` decides what
happens to the job that is replaced or destroyed.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from pulumi_vertex_training.runs.policies.run_status import (
    ENDED,
    FAILURES,
    LIVE,
    RECORD_CHANGES,
    RERUN_CHANGES,
    STARTED,
    Change,
    LastRun,
)

DEFAULT_LIMIT = 1
"""The default number of reruns on failure: one, since each costs as much as the first run."""

DEFAULT_CLIMB_LIMIT = 2
"""The default number of further climbs for lack of capacity, which cost nothing but time."""


class Policy(enum.Enum):
    """The declared `rerun`."""

    ON_CHANGE = "on_change"
    ON_FAILURE = "on_failure"
    ALWAYS = "always"
    NEVER = "never"


class Action(enum.Enum):
    """The action of a deployment on a declaration."""

    NOTHING = "stays"
    RUN = "runs"
    REFUSE = "refused"


@dataclass(frozen=True, kw_only=True)
class Rerun:
    """The policy, and the most runs in a row: `limit` on failure, `climb_limit` for lack of capacity."""

    policy: Policy = Policy.ON_CHANGE
    limit: int = DEFAULT_LIMIT
    climb_limit: int = DEFAULT_CLIMB_LIMIT

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError(f"a limit of reruns is 0 or more, not {self.limit}")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All facts that the decision rests on.

    `reruns` counts reruns on failure since a run was last asked for (`Decision.reruns` of the last decision).
    `climbs` counts runs for lack of capacity likewise. `has_next_rung`: the last pass over the capacity
    ladder has not tried all rungs. `on_demand`: the engine replaces the job whatever is declared, as with
    `pulumi up --replace`.
    """

    change: Change
    last_run: LastRun
    rerun: Rerun = Rerun()
    reruns: int = 0
    climbs: int = 0
    has_next_rung: bool = False
    protect_running: bool = False
    on_demand: bool = False


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table: the facts that it is for, and its decision.

    `reason` may contain the facts {change}, {state}, {policy}, {this}, {limit}, {climb} and {climb_limit}.
    `reported` is whether a preview prints the decision. `because` gives the reason for the row, for the page.
    """

    name: str
    action: Action
    reason: str
    because: str = ""
    change: frozenset[Change] = frozenset(Change)
    last_run: frozenset[LastRun] = frozenset(LastRun)
    policy: frozenset[Policy] = frozenset(Policy)
    protect_running: bool | None = None
    on_demand: bool | None = None
    below_limit: bool | None = None
    below_climb_limit: bool | None = None
    has_next_rung: bool | None = None
    reported: bool = True

    def matches(self, facts: Facts) -> bool:
        return (
            facts.change in self.change
            and facts.last_run in self.last_run
            and facts.rerun.policy in self.policy
            and self.protect_running in (None, facts.protect_running)
            and self.on_demand in (None, facts.on_demand)
            and self.below_limit in (None, facts.reruns < facts.rerun.limit)
            and self.below_climb_limit in (None, facts.climbs < facts.rerun.climb_limit)
            and self.has_next_rung in (None, facts.has_next_rung)
        )


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The decision about a declaration.

    `row` is the name of the row that applies, `reason` the part of a sentence that gives the reason,
    `reported` whether a preview prints it, `reruns` and `climbs` the numbers to record with a run, for the
    next decision.
    """

    action: Action
    row: str
    reason: str
    reported: bool
    reruns: int
    climbs: int = 0
    first: bool = False

    def sentence(self, name: str) -> str:
        """Return the line for the preview: `train will run again: its spec changed`."""
        if self.action is Action.RUN:
            does = "will run" if self.first else "will run again"
        else:
            does = "stays" if self.action is Action.NOTHING else "cannot be replaced"
        return f"{name} {does}: {self.reason}"


_ONE_RUN = frozenset({Policy.NEVER})
_PROTECTED = "{state} and protect_running is set; let it end, cancel it, or set protect_running to False"

ROWS: tuple[Row, ...] = (
    Row(
        name="first-run",
        action=Action.RUN,
        reason="{state}",
        because="A job that an interrupted deployment left behind is adopted.",
        change=RECORD_CHANGES,
        last_run=frozenset({LastRun.NONE}),
        reported=False,
    ),
    Row(
        name="never-on-demand",
        action=Action.REFUSE,
        reason="a replacement was requested, but rerun is never; set rerun to on_change first",
        because="`never` also holds for `pulumi up --replace`.",
        last_run=STARTED,
        policy=_ONE_RUN,
        on_demand=True,
    ),
    Row(
        name="never-changed",
        action=Action.NOTHING,
        reason="{change}, but rerun is never",
        because="It runs again as soon as `rerun` allows it.",
        change=RERUN_CHANGES,
        last_run=STARTED,
        policy=_ONE_RUN,
    ),
    Row(
        name="protected-on-demand",
        action=Action.REFUSE,
        reason="a replacement was requested, but " + _PROTECTED,
        because="Replacing a live job cancels it.",
        last_run=LIVE,
        protect_running=True,
        on_demand=True,
    ),
    Row(
        name="protected",
        action=Action.REFUSE,
        reason="{change}, but " + _PROTECTED,
        because="Also if only the deployment can find out whether the spec changes.",
        change=RERUN_CHANGES,
        last_run=LIVE,
        protect_running=True,
    ),
    Row(
        name="max-cost-on-demand",
        action=Action.REFUSE,
        reason="a replacement was requested, but {state}; raise max_cost",
        because="`max_cost` also holds for `pulumi up --replace`.",
        last_run=frozenset({LastRun.SPENT}),
        on_demand=True,
    ),
    Row(
        name="max-cost-changed",
        action=Action.REFUSE,
        reason="{change}, but {state}; raise max_cost",
        because="A live job goes on.",
        change=RERUN_CHANGES,
        last_run=frozenset({LastRun.SPENT}),
    ),
    Row(
        name="on-demand",
        action=Action.RUN,
        reason="a replacement was requested",
        because="`pulumi up --replace`, or an option of the resource that has the same effect.",
        on_demand=True,
    ),
    Row(
        name="spec",
        action=Action.RUN,
        reason="{change}",
        because="A live job is cancelled.",
        change=frozenset({Change.SPEC, Change.SPEC_UNKNOWN}),
    ),
    Row(
        name="run-token",
        action=Action.RUN,
        reason="{change}",
        change=frozenset({Change.RUN_TOKEN}),
    ),
    Row(
        name="cancelling",
        action=Action.NOTHING,
        reason="{state}, outside of this deployment",
        because="It has not ended.",
        last_run=frozenset({LastRun.CANCELLING}),
    ),
    Row(
        name="never",
        action=Action.NOTHING,
        reason="{state}, and rerun is never",
        because="However it ended.",
        last_run=FAILURES
        | {LastRun.CANCELLED, LastRun.GONE, LastRun.STOPPED, LastRun.SPENT, LastRun.NO_CAPACITY},
        policy=_ONE_RUN,
    ),
    Row(
        name="max-cost",
        action=Action.NOTHING,
        reason="{state}; raise max_cost to let it run again",
        because="Another run would have to stop within a minute.",
        last_run=frozenset({LastRun.SPENT}),
    ),
    Row(
        name="gone",
        action=Action.RUN,
        reason="{state}, and its end is not recorded (`pulumi refresh` records it)",
        because="It may never have finished.",
        last_run=frozenset({LastRun.GONE}),
    ),
    Row(
        name="interrupted",
        action=Action.RUN,
        reason="{state}",
        because="`pulumi destroy` or `up --replace` was killed before it deleted the job.",
        last_run=frozenset({LastRun.STOPPED}),
    ),
    Row(
        name="always",
        action=Action.RUN,
        reason="{state}, and rerun is always",
        because="After the previous run has ended.",
        last_run=ENDED - {LastRun.SPENT},
        policy=frozenset({Policy.ALWAYS}),
    ),
    Row(
        name="next-rung",
        action=Action.RUN,
        reason="{state}, and its capacity ladder has further rungs",
        because="No rung is tried twice.",
        last_run=frozenset({LastRun.NO_CAPACITY}),
        has_next_rung=True,
    ),
    Row(
        name="no-capacity",
        action=Action.RUN,
        reason="{state} on any rung, climb {climb} of {climb_limit}",
        because="The next `pulumi up` begins at the first rung again.",
        last_run=frozenset({LastRun.NO_CAPACITY}),
        below_climb_limit=True,
    ),
    Row(
        name="no-capacity-limit",
        action=Action.NOTHING,
        reason="{state} on any rung, and capacity_limit, {climb_limit}, is reached; give it another "
        "run_token to try again",
        because="More rungs, other regions or more quota help more than another try.",
        last_run=frozenset({LastRun.NO_CAPACITY}),
    ),
    Row(
        name="record",
        action=Action.NOTHING,
        reason="{change}, which is updated in place",
        change=frozenset({Change.RECORD}),
        last_run=LIVE | {LastRun.SUCCEEDED, LastRun.NOT_KNOWN},
        reported=False,
    ),
    Row(
        name="under-way",
        action=Action.NOTHING,
        reason="{state}",
        because="No policy submits a second job while the declared one is live.",
        last_run=LIVE,
        reported=False,
    ),
    Row(
        name="not-known",
        action=Action.NOTHING,
        reason="{state}",
        because="The job may be running.",
        last_run=frozenset({LastRun.NOT_KNOWN}),
        reported=False,
    ),
    Row(
        name="succeeded",
        action=Action.NOTHING,
        reason="{state}",
        because="A finished job stays finished, even if its record in the cloud is deleted later.",
        last_run=frozenset({LastRun.SUCCEEDED}),
        reported=False,
    ),
    Row(
        name="failed-again",
        action=Action.RUN,
        reason="{state}, rerun {this} of {limit}",
        last_run=FAILURES,
        policy=frozenset({Policy.ON_FAILURE}),
        below_limit=True,
    ),
    Row(
        name="limit-reached",
        action=Action.NOTHING,
        reason="{state}, and the limit of reruns on failure, {limit}, is reached; give it another run_token "
        "to try again",
        because="A new spec or run_token starts the count again.",
        last_run=FAILURES,
        policy=frozenset({Policy.ON_FAILURE}),
    ),
    Row(
        name="failed",
        action=Action.NOTHING,
        reason="{state}, and rerun is {policy}; give it another run_token to try again",
        because="The same program with the same data would fail again, at the same cost.",
        last_run=FAILURES,
    ),
    Row(
        name="cancelled",
        action=Action.NOTHING,
        reason="{state}, and rerun is {policy}; give it another run_token to run it again",
        because="Somebody stopped it on purpose, so it did not fail.",
        last_run=frozenset({LastRun.CANCELLED}),
    ),
)


def decide(facts: Facts) -> Decision:
    """Return the decision about a declaration, by the first row of `ROWS` that matches."""
    row = next(row for row in ROWS if row.matches(facts))
    reason = row.reason.format(
        change=facts.change.value,
        state=facts.last_run.value,
        policy=facts.rerun.policy.value,
        this=facts.reruns + 1,
        limit=facts.rerun.limit,
        climb=facts.climbs + 1,
        climb_limit=facts.rerun.climb_limit,
    )
    return Decision(
        action=row.action,
        row=row.name,
        reason=reason,
        reported=row.reported,
        reruns=_counted(row, facts),
        climbs=_climbs(row, facts),
        first=facts.last_run is LastRun.NONE,
    )


def _counted(row: Row, facts: Facts) -> int:
    """Return the reruns on failure after the decision.

    A run that was asked for starts counting from 0; one that only replaces a lost or interrupted run does
    not.
    """
    if row.name == "failed-again":
        return facts.reruns + 1
    return facts.reruns if row.action is not Action.RUN or row.name in _GOES_ON else 0


def _climbs(row: Row, facts: Facts) -> int:
    """Return the climbs for lack of capacity after the decision, counted as reruns are."""
    if row.name == NO_CAPACITY:
        return facts.climbs + 1
    return facts.climbs if row.action is not Action.RUN or row.name in _GOES_ON else 0


NO_CAPACITY, NEXT_RUNG = "no-capacity", "next-rung"
_GOES_ON = ("first-run", "gone", "interrupted", NO_CAPACITY, NEXT_RUNG)
"""Rows that replace a run which nobody asked to end."""


FIRST = "first-run"
ON_DEMAND = "on-demand"
GONE = "gone"
INTERRUPTED = "interrupted"
SPEC = "spec"
MOVED = "moved"

_WORDS = {
    FIRST: "first run",
    SPEC: "its spec changed",
    "run-token": "its run_token changed",
    ON_DEMAND: "a replacement was requested",
    GONE: "the run before was deleted outside of Pulumi",
    INTERRUPTED: "an interrupted deployment cancelled the run before",
    MOVED: "its project or location changed",
    NEXT_RUNG: "the rung before had no machines",
    "schedule": "its schedule submitted it",
}
SCHEDULED = "schedule"
_FAILED = re.compile(r"failed-again-(\d+)-of-(\d+)")
_CLIMBED = re.compile(rf"{NO_CAPACITY}-(\d+)-of-(\d+)")
_ALWAYS = "always"


def code_of(facts: Facts, decision: Decision) -> str:
    """Return the code of a decision to run."""
    if decision.row == "failed-again":
        return f"{decision.row}-{decision.reruns}-of-{facts.rerun.limit}"
    if decision.row == NO_CAPACITY:
        return f"{decision.row}-{decision.climbs}-of-{facts.rerun.climb_limit}"
    return FIRST if decision.first or facts.last_run is LastRun.NONE else decision.row


def reruns_of(code: str) -> int:
    """Return the number of reruns on failure with which a run of this code was submitted."""
    failed = _FAILED.fullmatch(code)
    return int(failed[1]) if failed else 0


def resumes(code: str) -> bool:
    """Return whether a run of this code continues from the checkpoints of the run before.

    It repeats a run that was interrupted, failed or found no machines, with the same declaration. Any other
    run begins a new training.
    """
    return code in (GONE, INTERRUPTED, NEXT_RUNG) or bool(_FAILED.fullmatch(code) or _CLIMBED.fullmatch(code))


def words_of(code: str) -> str:
    """Return the words for a code; "" for no code, and the code itself if this version does not know it."""
    if failed := _FAILED.fullmatch(code):
        return f"the run before failed, rerun {failed[1]} of {failed[2]}"
    if climbed := _CLIMBED.fullmatch(code):
        return f"no rung had machines, climb {climbed[1]} of {climbed[2]}"
    return "rerun is always" if code == _ALWAYS else _WORDS.get(code, code)
