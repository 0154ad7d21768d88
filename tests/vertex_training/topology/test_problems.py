from __future__ import annotations

import pytest

from vertex_training.findings.problems import Problem, errors, is_within, known, warnings


def test_a_problem_reads_as_path_and_message():
    assert str(Problem(path="labels.a", message="is wrong")) == "labels.a: is wrong"


def test_a_problem_of_the_whole_has_no_path():
    assert str(Problem(path="", message="is wrong")) == "is wrong"


@pytest.mark.parametrize(
    ("path", "ancestor", "within"),
    [
        ("a", "a", True),
        ("a.b", "a", True),
        ("a[0]", "a", True),
        ("a[0].b", "a[0]", True),
        ("a[10]", "a[1]", False),
        ("ab", "a", False),
        ("a", "a.b", False),
        ("a", "", True),
    ],
)
def test_is_within(path, ancestor, within):
    assert is_within(path, ancestor) is within


@pytest.mark.parametrize("gap", ["pools[0]", "pools[0].machine", "pools[0].machine.type"])
def test_a_finding_at_above_or_below_an_unknown_value_is_dropped(gap):
    assert known([Problem(path="pools[0].machine", message="x")], {gap}) == ()


@pytest.mark.parametrize("gap", ["pools[1]", "pools[0].disk", "labels"])
def test_a_finding_next_to_an_unknown_value_is_kept(gap):
    problem = Problem(path="pools[0].machine", message="x")
    assert known([problem], {gap}) == (problem,)


def test_a_finding_that_rests_on_known_values_is_kept():
    problem = Problem(path="pools", message="five", rests_on=("pools",))
    assert known([problem], {"pools[0].task.image"}) == (problem,)


def test_a_finding_that_rests_on_an_unknown_value_is_dropped():
    problem = Problem(path="pools[1].count", message="unequal", rests_on=("pools[0].count", "pools[1].count"))
    assert known([problem], {"pools[0]"}) == ()


def test_errors_and_warnings_are_separated():
    wrong, risky = Problem(path="a", message="x"), Problem(path="b", message="y", level="warning")
    assert errors([wrong, risky]) == (wrong,)
    assert warnings([wrong, risky]) == (risky,)
