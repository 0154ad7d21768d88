"""The report of a run, in Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scripts.verify_google.cases.case import Case
from scripts.verify_google.comparison import Comparison, Difference

Json = dict[str, Any]

_LONGEST_VALUE = 300


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Dollars: the budget, the highest cost that was counted, and the cost by the times of the jobs."""

    budget: float
    counted: float
    estimated: float


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The result of a run. `left_out` are cases that were not run, with their reasons."""

    day: str
    location: str
    cases: Sequence[Case]
    comparisons: Sequence[Comparison]
    left_out: dict[str, str]
    costs: Costs
    notes: Sequence[str] = ()

    @property
    def differing(self) -> int:
        """The number of differences that are not allowed."""
        return sum(len(each.unexplained) for each in self.comparisons)

    @property
    def failed(self) -> int:
        """The number of cases that one side did not answer."""
        return sum(not each.is_complete for each in self.comparisons)


def word(comparison: Comparison) -> str:
    """Return the result of a case in words."""
    for side, result in (("Google Cloud", comparison.google), ("the emulator", comparison.emulator)):
        if result.outcome != "answered":
            return f"{result.outcome} on {side}"
    count = len(comparison.unexplained)
    if count:
        return "1 difference" if count == 1 else f"{count} differences"
    return "the same" if not comparison.differences else "the same, except for known differences"


def markdown(found: Findings) -> str:
    """Return the report as Markdown."""
    about = {case.name: case for case in found.cases}
    lines = [
        "# Google Cloud and the emulator",
        "",
        f"{found.day}, {found.location}. {len(found.comparisons)} cases ran, "
        f"{found.differing} fields differ, {found.failed} cases failed.",
        f"Counted: ${found.costs.counted:.2f} of ${found.costs.budget:.2f}. "
        f"By the times of the jobs: ${found.costs.estimated:.2f}.",
        "",
        *(f"* {note}" for note in found.notes),
        *([""] if found.notes else []),
        "| case | compares | result |",
        "| --- | --- | --- |",
        *(f"| {each.case} | {about[each.case].about} | {word(each)} |" for each in found.comparisons),
        *(f"| {name} | {about[name].about} | not run |" for name in found.left_out),
    ]
    for each in found.comparisons:
        lines += _section(each, about[each.case])
    if found.left_out:
        lines += ["", "## Not run", ""]
        lines += [f"* {name}: {reason}" for name, reason in found.left_out.items()]
    return "\n".join(lines) + "\n"


def _section(comparison: Comparison, case: Case) -> list[str]:
    known = [each for each in comparison.differences if each.allowed is not None]
    reasons = [
        f"* {side}: {result.reason}"
        for side, result in (("Google Cloud", comparison.google), ("the emulator", comparison.emulator))
        if result.reason
    ]
    if not (comparison.unexplained or known or reasons):
        return []
    lines = [
        "",
        f"## {comparison.case}",
        "",
        f"Rows of the parity page: {'; '.join(case.rows)}.",
        "",
        *reasons,
    ]
    if comparison.unexplained:
        lines += _table(comparison.unexplained)
    if known:
        lines += ["", "Known differences:", "", *_table(known, with_reason=True)]
    return lines


def _table(differences: Sequence[Difference], *, with_reason: bool = False) -> list[str]:
    titles = ["step", "field", "Google Cloud", "the emulator", *(["why"] if with_reason else [])]
    lines = [f"| {' | '.join(titles)} |", "| --- " * len(titles) + "|"]
    for each in differences:
        cells = [each.step, each.path or "(the whole step)", _shown(each.google), _shown(each.emulator)]
        lines.append(f"| {' | '.join([*map(_cell, cells), *([str(each.allowed)] if with_reason else [])])} |")
    return lines


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _cell(text: str) -> str:
    for mark, written in (("\\", "\\\\"), ("|", "\\|"), ("\r", " "), ("\n", "<br>"), ("\t", " ")):
        text = text.replace(mark, written)
    return text


def as_json(found: Findings) -> Json:
    """Return the report as a JSON document."""
    return {
        "day": found.day,
        "location": found.location,
        "budget": found.costs.budget,
        "counted": round(found.costs.counted, 4),
        "estimated": round(found.costs.estimated, 4),
        "notes": list(found.notes),
        "cases": [
            {
                "case": each.case,
                "result": word(each),
                "google": {"outcome": each.google.outcome, "reason": each.google.reason},
                "emulator": {"outcome": each.emulator.outcome, "reason": each.emulator.reason},
                "differences": [one.to_json() for one in each.differences],
                "knownDifferencesThatDidNotOccur": [
                    {"step": one.step, "field": one.path, "why": one.reason} for one in each.unused
                ],
            }
            for each in found.comparisons
        ],
        "notRun": found.left_out,
    }
