"""The table of suites, and its place in docs/reference/suites.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from suites.catalog import NOT_RUN, SUITES
from suites.results import Results

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "suites.md"
BEGIN = "<!-- `make suites ARGS=--write` writes this part. -->\n"
END = "<!-- End of the written part. -->\n"


_HEAD = (
    "| suite | from | tests | passed | not passed | left out | skipped by itself | run on |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
)
_WHY = "Why tests did not pass or are left out, with their number. Suites also skip tests by themselves.\n\n"


def table(found: Sequence[Results], *, today: str) -> str:
    """Return the results as a table in Markdown."""
    return _HEAD + "".join(f"{_row(each, today)}\n" for each in found)


def reasons(found: Sequence[Results]) -> str:
    """Return a list with the reasons of each suite for tests that did not pass or are left out."""
    return "".join(f"{line}\n" for line in (*(line for each in found for line in _whys(each)), _not_run()))


def written(text: str, found: Sequence[Results], *, today: str) -> str:
    """Return the page with these results between its two comments. Other suites keep their rows.

    Raises ValueError if the page lacks the comments.
    """
    before, begin, rest = text.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has no lines {BEGIN.strip()!r} and {END.strip()!r}.")
    rows: dict[str, list[str]] = {}
    for line in old.splitlines():
        if name := re.match(r"\| ([\w-]+) \||\* \*\*([\w-]+)\*\*: ", line):
            rows.setdefault(name[1] or name[2], []).append(line)
    for each in found:
        rows[each.suite.name] = [_row(each, today), *_whys(each)]
    of_suites = [rows[suite.name] for suite in SUITES if suite.name in rows]
    results = "".join(f"{row}\n" for row, *_ in of_suites)
    whys = "".join(f"{line}\n" for line in (*(why for _, *whys in of_suites for why in whys), _not_run()))
    part = f"{_HEAD}{results}\n{_WHY}{whys}"
    return f"{before}{begin}\n{part}\n{end}{after}"


def _row(results: Results, today: str) -> str:
    left_out, skipped = (sum(n for _, n in counts) for counts in (results.left_out, results.skipped))
    numbers = (results.total, len(results.passed), len(results.failed), left_out, skipped)
    suite = results.suite
    return f"| {suite.name} | {suite.source} | {' | '.join(map(str, numbers))} | {today} |"


def _whys(results: Results) -> list[str]:
    unexplained = ((f"not explained: `{name}`", 1) for name in results.unexplained())
    counts = {"Not passed": [*results.explained(), *unexplained], "Left out": results.left_out}
    parts = [
        f"{kind}: {'; '.join(f'{_in_one_line(why)} ({n})' for why, n in of_kind)}"
        for kind, of_kind in counts.items()
        if of_kind
    ]
    return [f"* **{results.suite.name}**: {'. '.join(parts)}"] if parts else []


def _not_run() -> str:
    return f"* **Not run at all**: {'; '.join(f'{what} ({why})' for what, why in NOT_RUN)}"


def _in_one_line(text: str) -> str:
    """Return a reason in one line; a suite's own reasons may be long, or have line ends."""
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:117]}..."
