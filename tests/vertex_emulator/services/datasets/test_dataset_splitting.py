"""The split of a dataset into sets."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertex_emulator.server.rpc import filters
from vertex_emulator.services.datasets import splitting
from vertex_emulator.services.datasets.splitting import DEFAULT, ByFilter, Shares

ML_USE = "aiplatform.googleapis.com/ml_use"


def sizes(assignment: splitting.Assignment) -> tuple[int, int, int]:
    return assignment.count(0), assignment.count(1), assignment.count(2)


def percent(*parts: int) -> Shares:
    first, second, third = (Fraction(part, 100) for part in parts)
    return first, second, third


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param((0, 0, 0), percent(80, 10, 10), id="nothing-given"),
        pytest.param((0.6, 0.2, 0.2), percent(60, 20, 20), id="all-given"),
        pytest.param((1, 0, 0), percent(100, 0, 0), id="all-is-training"),
        pytest.param((0.7, 0, 0), percent(70, 15, 15), id="the-rest-is-shared-by-the-others"),
        pytest.param((0.7, 0.1, 0), percent(70, 10, 20), id="the-rest-is-the-test"),
        pytest.param((0.5, 0.2, 0.2), percent(60, 20, 20), id="the-rest-is-training"),
    ],
)
def test_shares(given: tuple[float, float, float], expected: Shares) -> None:
    assert splitting.shares(*given) == expected


@pytest.mark.parametrize(
    "given",
    [
        pytest.param((0.8, 0.2, 0.1), id="above-1"),
        pytest.param((-0.1, 0.5, 0.5), id="negative"),
        pytest.param((1.5, 0, 0), id="one-above-1"),
    ],
)
def test_invalid_shares(given: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="fraction"):
        splitting.shares(*given)


@pytest.mark.parametrize(
    ("total", "parts", "expected"),
    [
        pytest.param(10, DEFAULT, (8, 1, 1), id="even"),
        pytest.param(13, DEFAULT, (11, 1, 1), id="the-largest-remainder-is-training's"),
        pytest.param(7, DEFAULT, (5, 1, 1), id="the-largest-remainders-are-the-others'"),
        pytest.param(3, percent(50, 25, 25), (1, 1, 1), id="three-rows"),
        pytest.param(1, percent(50, 50, 0), (1, 0, 0), id="a-tie-is-the-earlier-set's"),
        pytest.param(0, DEFAULT, (0, 0, 0), id="no-rows"),
        pytest.param(1000, splitting.shares(0.1, 0.2, 0.7), (100, 200, 700), id="no-error-of-floating-point"),
    ],
)
def test_counts(total: int, parts: Shares, expected: tuple[int, int, int]) -> None:
    assert splitting.counts(total, parts) == expected


@pytest.mark.parity("Training pipelines: splits")
@given(total=st.integers(0, 400), cuts=st.tuples(st.integers(0, 100), st.integers(0, 100)).map(sorted))
def test_counts_are_within_one_of_the_share(total: int, cuts: list[int]) -> None:
    parts = percent(cuts[0], cuts[1] - cuts[0], 100 - cuts[1])
    found = splitting.counts(total, parts)
    assert sum(found) == total
    assert all(abs(number - total * part) < 1 for number, part in zip(found, parts, strict=True))
    assert sizes(splitting.by_fraction(total, parts)) == found


def test_a_random_split_is_mixed_and_reproducible() -> None:
    first = splitting.by_fraction(100, DEFAULT)
    assert first == splitting.by_fraction(100, DEFAULT)
    assert first[:80] != [0] * 80


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("training", 0, id="training"),
        pytest.param("train", 0, id="train"),
        pytest.param("validation", 1, id="validation"),
        pytest.param("test", 2, id="test"),
        pytest.param("TEST", 2, id="in-capitals"),
        pytest.param("unassigned", None, id="another-value-is-ignored"),
        pytest.param(None, None, id="no-value-is-ignored"),
    ],
)
def test_a_column_names_the_set(value: str | None, expected: int | None) -> None:
    assert splitting.by_column([value]) == [expected]


def test_the_earliest_rows_train_and_the_latest_test() -> None:
    times = [f"2024-01-{day:02}T00:00:00Z" for day in (9, 2, 10, 1, 3, 4, 5, 6, 7, 8)]
    assignment = splitting.by_time(times, DEFAULT)
    assert sizes(assignment) == (8, 1, 1)
    assert (assignment[2], assignment[0]) == (2, 1)


def test_fractions_of_seconds_are_compared_as_numbers() -> None:
    times = ["2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.45Z", "2024-01-01T00:00:00Z"]
    assert splitting.by_time(times, percent(34, 33, 33)) == [2, 1, 0]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("2024-01-01T00:00:00+01:00", id="another-offset"),
        pytest.param("2024-02-30T00:00:00Z", id="no-such-day"),
        pytest.param("yesterday", id="no-time"),
        pytest.param(None, id="nothing"),
    ],
)
def test_rows_without_a_time_are_ignored(value: str | None) -> None:
    assert splitting.by_time([value, "2024-01-01T00:00:00Z"], percent(100, 0, 0)) == [None, 0]


@pytest.mark.parity("Training pipelines: splits")
def test_each_category_is_split_exactly() -> None:
    values = ["A"] * 50 + ["B"] * 30 + ["C"] * 20
    assignment = splitting.by_category(values, DEFAULT)
    assert sizes(assignment[:50]) == (40, 5, 5)
    assert sizes(assignment[50:80]) == (24, 3, 3)
    assert sizes(assignment[80:]) == (16, 2, 2)


def test_categories_of_few_rows_are_split_together() -> None:
    assert sizes(splitting.by_category([str(number // 2) for number in range(20)], DEFAULT)) == (16, 2, 2)


def test_categories_beyond_500_are_split_together() -> None:
    values = [f"{number % 510:04}" for number in range(510 * 3)]
    rare = [
        chosen
        for value, chosen in zip(values, splitting.by_category(values, percent(0, 0, 100)), strict=True)
        if value >= "0500"
    ]
    assert rare == [2] * 30
    one_of_three = splitting.by_category(values, percent(40, 30, 30))
    rare = [chosen for value, chosen in zip(values, one_of_three, strict=True) if value >= "0500"]
    assert sizes(rare) == (12, 9, 9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"labels.{ML_USE}=training", True, id="equal"),
        pytest.param(f'labels."{ML_USE}" = "training"', True, id="quoted"),
        pytest.param(f"labels.{ML_USE}=test", False, id="not-equal"),
        pytest.param(f"labels.{ML_USE}!=test", True, id="unequal"),
        pytest.param("labels.other:*", False, id="a-label-that-is-not-there"),
        pytest.param(f"labels.{ML_USE}:*", True, id="a-label-that-is-there"),
        pytest.param(f"labels.{ML_USE}=test OR labels.size=small", True, id="or"),
        pytest.param(f"NOT labels.{ML_USE}=training", False, id="not"),
        pytest.param("-", False, id="nothing"),
    ],
)
def test_filters(text: str, expected: bool) -> None:
    assert splitting.item_filter(text)({ML_USE: "training", "size": "small"}) is expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("labels.a=", id="no-value"),
        pytest.param("name=1", id="no-label"),
        pytest.param("labels.a<1", id="not-by-order"),
    ],
)
def test_invalid_filters(text: str) -> None:
    with pytest.raises(filters.FilterError):
        splitting.item_filter(text)


def test_the_first_filter_that_matches_decides() -> None:
    labels = [{"a": "1"}, {"a": "2"}, {"a": "3"}]
    split = ByFilter(training="labels.a=1", validation="labels.a:*", test="labels.a=2")
    assert splitting.by_filter(labels, split) == [0, 1, 1]


def test_items_that_no_filter_matches_are_in_no_set() -> None:
    split = ByFilter(training="labels.a=1", validation="-", test="-")
    assert splitting.by_filter([{"a": "2"}, {}], split) == [None, None]
