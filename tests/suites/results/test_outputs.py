"""Outputs of the test programs of Go and Rust."""

from __future__ import annotations

import json

from suites.results import Case
from suites.results.outputs import go_cases, rust_cases


def events(*pairs: tuple[str, str], output: str = "", of: str = "") -> list[str]:
    lines = [json.dumps({"Action": "start"})]
    lines += [json.dumps({"Action": "run", "Test": test}) for test, _ in pairs]
    lines += [json.dumps({"Action": "output", "Test": of, "Output": output})]
    lines += [json.dumps({"Action": action, "Test": test}) for test, action in pairs if action != "none"]
    return lines


def outcomes(cases: list[str]) -> dict[str, str]:
    return {case.name: case.outcome for case in go_cases(cases)}


def test_a_test_with_tests_below_it_does_not_count() -> None:
    found = outcomes(events(("A", "fail"), ("A/x", "pass"), ("A/y", "fail"), ("B", "pass")))
    assert found == {"A/x": "passed", "A/y": "failed", "B": "passed"}


def test_a_test_that_fails_after_those_below_it_counts() -> None:
    assert outcomes(events(("A", "fail"), ("A/x", "pass"))) == {"A": "failed", "A/x": "passed"}


def test_a_test_that_did_not_end_has_failed() -> None:
    assert outcomes(events(("A", "pass"), ("B", "none"))) == {"A": "passed", "B": "failed"}


def test_the_reason_of_a_skipped_test() -> None:
    lines = events(("A", "skip"), output="    a_test.go:17: no copies here\n", of="A")
    assert list(go_cases(lines)) == [Case(name="A", outcome="skipped", why="no copies here")]


def test_outcomes_of_rust() -> None:
    text = "running 3 tests\ntest gcp::a ... ok\ntest gcp::b ... FAILED\ntest gcp::c ... ignored, slow\n\nok"
    assert list(rust_cases(text)) == [
        Case(name="gcp::a", outcome="passed"),
        Case(name="gcp::b", outcome="failed"),
        Case(name="gcp::c", outcome="skipped", why="slow"),
    ]
