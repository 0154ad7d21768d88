"""Results of suites: counts, reasons, and their place in docs/reference/suites.md."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from suites.catalog import SUITES
from suites.results import Results, read
from suites.results.page import BEGIN, END, PAGE, reasons, table, written
from suites.suite import GoSuite, PythonSuite, Reason

SUITE = PythonSuite(
    name="s",
    distribution="d",
    version="1",
    folder="tests",
    tests=("tests",),
    requirements=("d==1",),
    not_passed=(Reason(tests="::test_known", why="needs Google"), Reason(tests="::test_gone", why="was so")),
)
JUNIT = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_passes"/>
<testcase classname="tests.a" name="test_known"><failure message="x"/></testcase>
<testcase classname="tests.a" name="test_new"><failure message="x"/></testcase>
<testcase classname="tests.a" name="test_errs_at_its_end"/>
<testcase classname="tests.a" name="test_errs_at_its_end"><error message="x"/></testcase>
<testcase classname="tests.a" name="test_left"><skipped message="left out: needs FUSE"/></testcase>
<testcase classname="tests.a" name="test_own"><skipped message="no | network"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def results(tmp_path: Path) -> Results:
    file = tmp_path / "junit.xml"
    file.write_text(JUNIT)
    return read(SUITE, file)


def test_each_test_counts_once(results: Results) -> None:
    assert (results.total, len(results.passed), len(results.failed)) == (6, 1, 3)
    assert (results.left_out, results.skipped) == ((("needs FUSE", 1),), (("no | network", 1),))


def test_a_failure_has_a_reason_or_is_reported(results: Results) -> None:
    assert results.explained() == (("needs Google", 1),)
    assert results.unexplained() == ["tests/a.py::test_errs_at_its_end", "tests/a.py::test_new"]


def test_a_reason_that_nothing_needs_is_reported(results: Results) -> None:
    assert results.outdated() == ["was so"]


def test_equal_names_of_a_go_program_are_tests_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    file.write_text('<r><testcase name="a"/><testcase name="a"/><testcase name="a" status="skipped"/></r>')
    found = read(GoSuite(name="s", module="m", version="v0-1-c"), file)
    assert (found.total, len(found.passed), found.skipped) == (3, 2, (("no reason given", 1),))


def test_a_run_without_tests_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    file.write_text("<testsuites/>")
    with pytest.raises(ValueError, match="s ran no tests"):
        read(SUITE, file)


def test_the_tables(results: Results) -> None:
    assert "| s | d 1 | 6 | 1 | 3 | 1 | 1 | 2026-01-02 |" in table([results], today="2026-01-02")
    why = reasons([results])
    assert why.startswith("* **s**: Not passed: needs Google (1); ")
    assert "; not explained: `tests/a.py::test_new` (1)" in why
    assert ". Left out: " in why
    assert why.splitlines()[-1].startswith("* **Not run at all**: ")


def test_only_the_part_between_the_comments_is_written(results: Results) -> None:
    found = [replace(results, suite=suite) for suite in SUITES]
    text = written(f"before\n{BEGIN}old\n{END}after\n", found, today="2026-01-02")
    assert text.startswith(f"before\n{BEGIN}") and text.endswith(f"{END}after\n")
    assert "| 2026-01-02 |" in text and "old" not in text


def test_rows_of_suites_that_did_not_run_stay(results: Results) -> None:
    found = [replace(results, suite=suite) for suite in SUITES]
    page = written(f"{BEGIN}{END}", found, today="2026-01-02")
    again = written(page, [replace(found[1], failed=frozenset())], today="2026-01-03")
    assert again.count("| 2026-01-02 |") == len(SUITES) - 1
    of_second = lines_of(again, SUITES[1].name)
    assert "| 2026-01-03 |" in of_second[0] and not any("not passed" in line for line in of_second)
    assert len(of_second) == len(lines_of(again, SUITES[0].name)) == 2
    assert lines_of(again, SUITES[0].name) == lines_of(page, SUITES[0].name)


def lines_of(page: str, suite: str) -> list[str]:
    """Return the row and the reasons of a suite."""
    return [line for line in page.splitlines() if line.startswith((f"| {suite} |", f"* **{suite}**: "))]


def test_the_page_has_a_row_for_each_pinned_suite() -> None:
    part = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = re.findall(r"^\| ([\w-]+) \| ([^|]+) \| \d+ \| \d+ \|", part, re.MULTILINE)
    assert rows == [(suite.name, suite.source) for suite in SUITES]


def test_the_page_explains_every_test_that_did_not_pass() -> None:
    part = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert "not explained" not in part
