"""Choose the cases that fit a budget, and show their costs before anything is spent."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.verify_google.cases.case import Case

_NARROWEST = 20


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cases that run, and those that do not, with the reasons."""

    location: str
    cases: tuple[Case, ...]
    left_out: dict[str, str]

    @property
    def highest(self) -> float:
        """The dollars that the run can cost at most."""
        return sum(each.highest_cost(self.location) for each in self.cases)

    @property
    def expected(self) -> float:
        """The dollars that the run is likely to cost."""
        return sum(each.expected_cost(self.location) for each in self.cases)


def make_plan(cases: Sequence[Case], *, location: str, budget: float | None, carried: float = 0.0) -> Plan:
    """Choose the cases that fit into a budget, in their order. None is no limit.

    Raises UnknownPriceError for a location without prices.
    """
    chosen: list[Case] = []
    left_out: dict[str, str] = {}
    counted = carried
    for case in cases:
        cost = case.highest_cost(location)
        if budget is not None and counted + cost > budget + 1e-9:
            left_out[case.name] = (
                f"it could cost ${cost:.2f}, and ${counted:.2f} of the budget of ${budget:.2f} "
                "are counted already"
            )
        else:
            chosen.append(case)
            counted += cost
    return Plan(location=location, cases=tuple(chosen), left_out=left_out)


def table(plan: Plan, cases: Sequence[Case]) -> str:
    """Return the cases with their costs, as wide as the terminal."""
    width = shutil.get_terminal_size().columns
    return "\n".join(_lines(plan, cases, width))


def _lines(plan: Plan, cases: Sequence[Case], width: int) -> Iterator[str]:
    longest = max(len(each.name) for each in cases)
    start = longest + 22
    yield f"{'case':{longest}}  expected  at most  compares"
    for case in cases:
        about = case.about if case.name not in plan.left_out else f"(not run) {case.about}"
        first, *rest = textwrap.wrap(about, max(width - start, _NARROWEST)) or [""]
        expected, highest = case.expected_cost(plan.location), case.highest_cost(plan.location)
        costs = f"{_dollars(expected):>8}  {_dollars(highest):>7}"
        yield f"{case.name:{longest}}  {costs}  {first}".rstrip()
        yield from (" " * start + line for line in rest)
    yield f"{'together':{longest}}  {_dollars(plan.expected):>8}  {_dollars(plan.highest):>7}"


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount else "-"
