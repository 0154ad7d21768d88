"""The table of suites, and its place in docs/guides/emulator/clients/suites.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from suites.catalog import NOT_RUN, SUITES
from suites.results import Results

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "emulator" / "clients" / "suites.md"
BEGIN = "<!-- `make suites ARGS=--write` writes this part. -->\n"
END = "<!-- End of the written part. -->\n"


def table(found: Sequence[Results]) -> str:
    """Return the results as a table in Markdown."""
    lines = [
        "| suite | from | tests | passed | not passed | left out | skipped by itself |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in found:
        left_out, skipped = (sum(n for _, n in counts) for counts in (each.left_out, each.skipped))
        numbers = (each.total, len(each.passed), len(each.failed), left_out, skipped)
        lines.append(f"| {each.suite.name} | {each.suite.source} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines) + "\n"


def reasons(found: Sequence[Results]) -> str:
    """Return a table with the reason for each test that did not pass or did not run."""
    lines = ["| suite | tests | | why |", "| --- | --- | --- | --- |"]
    for each in found:
        counts: Mapping[str, Sequence[tuple[str, int]]] = {
            "not passed": (
                *each.explained(),
                *((f"not explained: `{name}`", 1) for name in each.unexplained()),
            ),
            "left out": each.left_out,
            "skipped by itself": each.skipped,
        }
        for kind, of_kind in counts.items():
            lines += [f"| {each.suite.name} | {n} | {kind} | {_cell(why)} |" for why, n in of_kind]
    lines += [f"| {what} | all | not run | {why} |" for what, why in NOT_RUN]
    return "\n".join(lines) + "\n"


def written(text: str, found: Sequence[Results], *, today: str) -> str:
    """Return the page with new results between its two comments.

    Raises ValueError if the page lacks the comments, or if a suite has no results: numbers of different runs
    would stand side by side.
    """
    missing = {suite.name for suite in SUITES} - {each.suite.name for each in found}
    if missing:
        raise ValueError(f"No results of {', '.join(sorted(missing))}. Run all suites to write the page.")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has no lines {BEGIN.strip()!r} and {END.strip()!r}.")
    part = f"Run on {today}:\n\n{table(found)}\nWhy tests did not pass or did not run:\n\n{reasons(found)}"
    return f"{before}{begin}\n{part}\n{end}{after}"


def _cell(text: str) -> str:
    """Return a reason in one cell; a suite's own reasons may be long, or have line ends."""
    text = " ".join(text.replace("|", "/").split())
    return text if len(text) <= 120 else f"{text[:117]}..."
