"""Table tests in one node: a failure names each wrong row."""

from __future__ import annotations

import inspect

import pytest

from support.tables import every_row


@every_row(("left", "right"), [(1, 1), (2, 2)])
def test_rows_with_a_fixture(left: int, right: int, request: pytest.FixtureRequest) -> None:
    assert request.node.name == "test_rows_with_a_fixture"
    assert left == right


def test_every_wrong_row_is_named() -> None:
    rows = [pytest.param(1, 2, id="one"), (2, 2), (3, 4)]

    @every_row("left, right", rows)
    def check(left: int, right: int) -> None:
        assert left == right, f"{left} is not {right}"

    with pytest.raises(pytest.fail.Exception) as failure:
        check()
    message = str(failure.value)
    assert message.startswith("2 of 3 rows fail\none: test_tables.py:")
    assert "AssertionError: 1 is not 2" in message
    assert "\nrow 2 (left=3, right=4): test_tables.py:" in message


def test_a_missing_error_fails_its_row_alone() -> None:
    seen = []

    @every_row("value", ["1", "a", "2"], ids=["first", "second", "third"])
    def check(value: str) -> None:
        seen.append(value)
        with pytest.raises(ValueError, match="invalid"):
            int(value)

    with pytest.raises(pytest.fail.Exception) as failure:
        check()
    assert [line.split(":")[0] for line in str(failure.value).splitlines()] == [
        "2 of 3 rows fail",
        "first",
        "third",
    ]
    assert seen == ["1", "a", "2"]


def test_tables_multiply() -> None:
    seen = []

    @every_row("left", [1, 2])
    @every_row("right", [3, 4], ids=lambda value: f"right-{value}")
    def check(left: int, right: int) -> None:
        seen.append((left, right))
        assert left * right != 6

    with pytest.raises(pytest.fail.Exception, match=r"^1 of 2 rows fail\nrow 1 \(left=2\): .*\nright-3: "):
        check()
    assert seen == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert list(inspect.signature(check).parameters) == []


def test_an_empty_table_fails() -> None:
    @every_row("value", [])
    def check(value: int) -> None:
        pass

    with pytest.raises(AssertionError, match="the table has no rows"):
        check()
