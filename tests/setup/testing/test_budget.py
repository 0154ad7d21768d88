"""The budget of the project, and the minutes that a run writes for it."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.checks import budget
from scripts.testing import minutes
from scripts.testing.results import Cost, EndedTest, Results


def test_what_exceeds_its_budget_is_named_with_the_remedy() -> None:
    allowed = {"lines": {"tests": 1000, "scripts": 500}}
    assert list(budget.problems(allowed, {"lines": {"tests": 1000, "scripts": 400}})) == []
    assert list(budget.problems(allowed, {"lines": {"tests": 1001}, "features": {"commands": 3}})) == [
        "tests: 1,001 lines exceed the budget of 1,000. Remove something, or raise the figure in "
        "tests/budget.json in the same commit, with the reason in its message.",
        "commands has no budget of features: add one to tests/budget.json",
    ]


def test_weak_words_may_only_become_fewer() -> None:
    allowed = {"weak words": {"that of": 10}}
    assert list(budget.problems(allowed, {"weak words": {"that of": 9}})) == []
    assert list(budget.problems(allowed, {"weak words": {"that of": 11}})) == [
        "that of: 11 uses, 10 before. The count may only fall: name the noun again."
    ]


def test_parameters_of_any_type_and_long_functions_may_only_become_fewer() -> None:
    def of_lines(count: int) -> str:
        return "\n".join(["def run() -> None:", *["    pass"] * (count - 1)])

    code = "async def run(a: Any, b: list[Any], *c: Any, d: int = 1, **e: Any) -> Any: ..."
    found = budget.shape([code, of_lines(40), of_lines(41)])
    assert found == {"parameters typed Any": 3, "functions over 40 lines": 1}
    assert list(budget.problems({"code": {"long": 2}}, {"code": {"long": 3}})) == [
        "long: 3 uses, 2 before. The count may only fall: name the type, or split the function."
    ]


def test_a_written_budget_allows_for_the_figures(root: Path, tmp_path: Path) -> None:
    measured = budget.measure(root, tmp_path)
    measured["processor minutes"] = {"pure": 1.23, "Pulumi CLI": 8.0}
    written = budget.rounded_up(measured)
    assert list(budget.problems(written, measured)) == []
    assert written["processor minutes"] == {"pure": 1.4, "Pulumi CLI": 8.8}
    assert all(figure % 100 == 0 for figure in written["lines"].values())
    assert measured["features"]["commands"] > 40 and measured["features"]["emulated services"] > 15
    assert written["code"] == measured["code"] and all(figure > 0 for figure in measured["code"].values())
    assert measured["lines"]["tests"] > measured["lines"]["scripts"] > 1000


def test_minutes_are_those_of_a_machine_of_the_reference_speed(tmp_path: Path) -> None:
    test = EndedTest(
        name="tests/test_file.py::test_it", outcome="passed", ring="pure", wall=9.0, processor=90.0
    )
    minutes.write(tmp_path, Results(tests=[test], collection=Cost(processor=60.0)), speed=2.0)
    assert json.loads((tmp_path / minutes.FILE).read_text()) == {"imports and collection": 2.0, "pure": 3.0}
    measured = budget.measure(tmp_path / "empty clone", tmp_path)
    assert measured["processor minutes"] == {"imports and collection": 2.0, "pure": 3.0}
    assert minutes.speed() > 0
