"""The limits that a change sets for itself: a plan's, compared with the last deployment's.

A change that raises a limit passes the check of that limit, so its reviewer has to see both values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pulumi_vertex_training import configuration_keys as keys
from pulumi_vertex_training.cli.teams.plan.checks import CheckFinding, CheckResult, PlanContext
from pulumi_vertex_training.cli.teams.promote.stacks import Value, deployment_at
from pulumi_vertex_training.costs.reports import HIDDEN
from vertex_training.command_line.errors import CommandError

_NAMES = {
    keys.MAX_HOURLY_COST.name: "hourly cost",
    keys.MAX_RUN_COST.name: "cost of a run",
    keys.ALLOW_UNKNOWN_PRICES.name: "unknown prices allowed",
    keys.POLICY_PACK.name: "policy pack",
    keys.POLICY_CONFIG.name: "settings of policies",
}
_BUDGET = "monthlyBudget"
"""The setting of a project that declares an environment, as `environment/` does."""


class _Change(NamedTuple):
    key: str
    name: str
    before: str | None
    after: str | None

    @property
    def words(self) -> str:
        return f"{self.name} {self.before or 'none'} -> {self.after or 'none'}"


def check(context: PlanContext) -> CheckResult | None:
    """Return the limits that differ from the last deployment's; None if none does, or it is the first."""
    plan = context.previewed.plan
    if not plan.stack:
        return None
    try:
        last = deployment_at(context.folder, context.stack or plan.stack, None, context.timeouts)
    except CommandError as error:
        unknown = CheckFinding(
            severity="unknown", message=f"the limits of the last deployment are not known: {error}"
        )
        return CheckResult(name="limits", findings=(unknown,))
    changes = tuple(_changes(last.config, context.previewed.configuration, plan.project)) if last else ()
    if not changes:
        return None
    return CheckResult(
        name="limits",
        summary=", ".join(one.words for one in changes),
        document={"changes": [{"key": one.key, "before": one.before, "after": one.after} for one in changes]},
    )


def _changes(before: Mapping[str, Value], after: Mapping[str, Any], project: str) -> Iterator[_Change]:
    for key, name in {**_NAMES, f"{project}:{_BUDGET}": "monthly budget"}.items():
        old, new = before.get(key), after.get(key)
        was = None if old is None else HIDDEN if old.secret else old.text
        now = None if new is None else str(new)
        if was != now:
            yield _Change(key, name, was, now)
