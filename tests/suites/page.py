"""The table of suites, and its place in docs/reference/suites.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from suites.catalog import NOT_RUN, SUITES
from suites.results import Results

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "suites.md"
BEGIN = "<!-- `make suites ARGS=--write` writes this part. -->\n"
END = "<!-- End of the written part. -->\n"


_HEAD = (
    "| suite | from | tests | passed | not passed | left out | skipped by itself | run on |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
)
_SHOWN, _RARE = 1, 5
_WHY_HEAD = "| suite | tests | | why |\n| --- | --- | --- | --- |\n"


def table(found: Sequence[Results], *, today: str) -> str:
    """Return the results as a table in Markdown."""
    return _HEAD + "".join(f"{_row(each, today)}\n" for each in found)


def reasons(found: Sequence[Results]) -> str:
    """Return a table with the reason for each test that did not pass or did not run."""
    lines = [line for each in found for line in _whys(each)]
    return _WHY_HEAD + "".join(f"{line}\n" for line in (*lines, *_not_run()))


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
        rows.setdefault(line.partition(" | ")[0].removeprefix("| "), []).append(line)
    for each in found:
        rows[each.suite.name] = [_row(each, today), *_whys(each)]
    of_suites = [rows[suite.name] for suite in SUITES if suite.name in rows]
    results = "".join(f"{row}\n" for row, *_ in of_suites)
    whys = "".join(f"{line}\n" for line in (*(why for _, *whys in of_suites for why in whys), *_not_run()))
    part = f"{_HEAD}{results}\nWhy tests did not pass or did not run:\n\n{_WHY_HEAD}{whys}"
    return f"{before}{begin}\n{part}\n{end}{after}"


def _row(results: Results, today: str) -> str:
    left_out, skipped = (sum(n for _, n in counts) for counts in (results.left_out, results.skipped))
    numbers = (results.total, len(results.passed), len(results.failed), left_out, skipped)
    suite = results.suite
    return f"| {suite.name} | {suite.source} | {' | '.join(map(str, numbers))} | {today} |"


def _whys(results: Results) -> list[str]:
    counts: Mapping[str, Sequence[tuple[str, int]]] = {
        "not passed": (
            *results.explained(),
            *((f"not explained: `{name}`", 1) for name in results.unexplained()),
        ),
        "left out": results.left_out,
        "skipped by itself": _with_rare_ones_together(results.skipped),
    }
    return [
        f"| {results.suite.name} | {n} | {kind} | {_cell(why)} |"
        for kind, of_kind in counts.items()
        for why, n in of_kind
    ]


def _with_rare_ones_together(counts: Sequence[tuple[str, int]]) -> Sequence[tuple[str, int]]:
    """Return the reasons of a suite to skip its tests; after the first, the rare ones as one row."""
    rare = [(why, n) for at, (why, n) in enumerate(counts) if at >= _SHOWN and n < _RARE]
    if len(rare) < 2:
        return counts
    rest = (f"{len(rare)} other reasons", sum(n for _, n in rare))
    return (*(each for each in counts if each not in rare), rest)


def _not_run() -> list[str]:
    return [f"| {what} | all | not run | {why} |" for what, why in NOT_RUN]


def _cell(text: str) -> str:
    """Return a reason in one cell; a suite's own reasons may be long, or have line ends."""
    text = " ".join(text.replace("|", "/").split())
    return text if len(text) <= 120 else f"{text[:117]}..."
