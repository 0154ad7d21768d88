"""The cost of a schedule: of all its runs that can be live at the same time."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import islice

from pulumi_vertex_training.costs.declared import NOT_YET
from vertex_training.cost.cost import Cost, Gap, Item
from vertex_training.fields import cron
from vertex_training.fields.values import Unknown

_FROM = datetime(2026, 1, 1, tzinfo=timezone.utc)
_MOST_TIMES = 12_000
"""Due times that are looked at: every minute for more than the 7 days of the default timeout."""


def cost_of_runs(cost: Cost, schedule: object) -> Cost:
    """Return the cost of a schedule by the cost of one run, whose cost until the timeout it keeps.

    A schedule that is not known yet is a gap.
    """
    if isinstance(schedule, Unknown):
        gap = Gap(path="schedule", what="schedule", why=NOT_YET, cause="value")
        return replace(cost, hourly=None, most_hourly=None, unknown=(*cost.unknown, gap))
    if not isinstance(schedule, str) or not cost.timeout_seconds:
        return cost
    runs = runs_at_once(schedule, cost.timeout_seconds)
    if runs <= 1:
        return cost

    def several(items: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(
            replace(item, what=f"{runs} runs with {item.what}", hourly=item.hourly * runs) for item in items
        )

    return replace(
        cost,
        hourly=None if cost.hourly is None else cost.hourly * runs,
        most_hourly=None if cost.most_hourly is None else cost.most_hourly * runs,
        billed_hours=None if cost.billed_hours is None else cost.billed_hours / runs,
        items=several(cost.items),
        most_items=several(cost.most_items),
    )


def runs_at_once(expression: str, seconds: int) -> int:
    """Return the most runs that are due within `seconds`; 1 for an expression that is not valid."""
    if cron.problem_with(expression):
        return 1
    window: deque[datetime] = deque()
    most = 1
    for due in islice(cron.times(expression, timezone.utc, _FROM), _MOST_TIMES):
        window.append(due)
        while due - window[0] >= timedelta(seconds=seconds):
            window.popleft()
        most = max(most, len(window))
        if due - _FROM > timedelta(days=800):
            break
    return most
