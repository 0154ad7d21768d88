"""The report in Markdown and JSON."""

from __future__ import annotations

from scripts.verify_google.cases import CASES
from scripts.verify_google.comparison import Allowed, Answer, CaseResult, compare
from scripts.verify_google.report import Costs, Findings, as_json, markdown

NAME = CASES[0].name


def answered(body: object) -> CaseResult:
    return CaseResult(
        case=NAME, outcome="answered", answers=(Answer(step="get", request={}, status=200, body=body),)
    )


def findings(*results: tuple[CaseResult, CaseResult], allowed: tuple[Allowed, ...] = ()) -> Findings:
    return Findings(
        day="2026-01-01",
        location="us-central1",
        cases=CASES,
        comparisons=[compare(one, other, allowed) for one, other in results],
        left_out={"tuning": "it could cost $0.12"},
        costs=Costs(budget=1.0, counted=0.5, estimated=0.1),
    )


def test_cells_keep_their_table() -> None:
    found = findings((answered({"a|b": "x|y\nz\t\\"}), answered({"a|b": "w" * 1000})))
    row = next(line for line in markdown(found).splitlines() if line.startswith("| get |"))
    assert row == f"| get | a\\|b | x\\|y<br>z \\\\ | {'w' * 300}... |"


def test_known_differences_have_a_table_of_their_own() -> None:
    known = Allowed(step="*", path="a", reason="why not")
    unused = Allowed(step="never", path="a", reason="no more")
    found = findings((answered({"a": 1}), answered({"a": 2})), allowed=(known, unused))
    text = markdown(found)
    assert "Known differences:" in text
    assert "| get | a | 1 | 2 | why not |" in text
    assert f"| {NAME} | {CASES[0].about} | the same, except for known differences |" in text
    (case,) = as_json(found)["cases"]
    assert case["knownDifferencesThatDidNotOccur"] == [{"step": "never", "field": "a", "why": "no more"}]
    assert found.differing == 0


def test_a_case_that_failed_has_its_reason() -> None:
    failed = CaseResult(case=NAME, outcome="failed", reason="GET: no answer (ConnectionError)")
    found = findings((failed, answered({})))
    assert "* Google Cloud: GET: no answer (ConnectionError)" in markdown(found)
    assert as_json(found)["cases"][0]["result"] == "failed on Google Cloud"
    assert found.failed == 1


def test_what_did_not_run_and_the_costs_are_named() -> None:
    text = markdown(findings((answered({}), answered({}))))
    assert "* tuning: it could cost $0.12" in text
    assert "Counted: $0.50 of $1.00. By the times of the jobs: $0.10." in text
    assert "| tuning | a grid of two trials: arguments, metrics, measurements, the end | not run |" in text
