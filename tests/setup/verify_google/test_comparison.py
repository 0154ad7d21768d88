"""Two results of a case, field by field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scripts.verify_google.comparison import MISSING, Allowed, Answer, CaseResult, compare


def result(*answers: tuple[str, int, Any]) -> CaseResult:
    made = (Answer(step=step, request={}, status=status, body=body) for step, status, body in answers)
    return CaseResult(case="c", outcome="answered", answers=tuple(made))


def found(google: CaseResult, emulator: CaseResult) -> list[tuple[str, str, Any, Any]]:
    return [
        (each.step, each.path, each.google, each.emulator) for each in compare(google, emulator).differences
    ]


def test_the_same() -> None:
    one = result(("a", 200, {"x": [1, {"y": "z"}], "e": {}}))
    assert found(one, one) == []


def test_fields_that_differ() -> None:
    one = result(("a", 200, {"x": [1, {"y": "z"}], "only": 1, "e": {}, "n": 1, "same": 0}))
    other = result(("a", 200, {"x": [1, {"y": "w"}, 2], "here": 2, "n": "1", "same": 0}))
    assert found(one, other) == [
        ("a", "x[1].y", "z", "w"),
        ("a", "only", 1, MISSING),
        ("a", "e", {}, MISSING),
        ("a", "n", 1, "1"),
        ("a", "x[2]", MISSING, 2),
        ("a", "here", MISSING, 2),
    ]


def test_a_number_is_no_truth_value() -> None:
    assert found(result(("a", 200, {"x": 1})), result(("a", 200, {"x": True}))) == [("a", "x", 1, True)]


def test_statuses_and_steps_differ() -> None:
    one = result(("a", 400, {}), ("b", 200, {}))
    other = result(("a", 200, {}), ("c", 404, {}))
    assert found(one, other) == [
        ("a", "(status)", 400, 200),
        ("b", "", 200, MISSING),
        ("c", "", MISSING, 404),
    ]


def test_known_differences_have_a_reason_and_may_be_unused() -> None:
    used = Allowed(step="a*", path="error.details*", reason="r")
    unused = Allowed(step="a", path="never", reason="s")
    one = result(("ab", 400, {"error": {"details": [1], "message": "x"}}))
    other = result(("ab", 400, {"error": {"message": "y"}}))
    compared = compare(one, other, (used, unused))
    assert [(each.path, each.allowed) for each in compared.differences] == [
        ("error.details[0]", "r"),
        ("error.message", None),
    ]
    assert compared.unused == (unused,)
    assert [each.path for each in compared.unexplained] == ["error.message"]


def test_of_a_case_that_failed_the_steps_of_both_are_compared() -> None:
    failed = replace(result(("a", 400, {})), outcome="failed", reason="no answer")
    compared = compare(failed, result(("a", 200, {}), ("b", 200, {})))
    assert not compared.is_complete
    assert [(each.step, each.path) for each in compared.differences] == [("a", "(status)")]
