from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertex_training.fields.durations import in_seconds, normal, problem_with, seconds_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3600, "3600s"),
        (3600.0, "3600s"),
        (0.5, "0.5s"),
        (1e6, "1000000s"),
        (-3, "-3s"),
        ("1h", "1h"),
        (True, True),
        (None, None),
    ],
)
def test_numbers_are_seconds(value, text):
    assert seconds_text(value) == text


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_other_values_than_numbers_are_unchanged(value):
    assert seconds_text(value) is value


@pytest.mark.parametrize(
    ("text", "shortest"),
    [("3600s", "3600s"), ("03600.500s", "3600.5s"), ("0.000s", "0s"), ("0s", "0s"), ("1h", "1h"), ("", "")],
)
def test_the_shortest_spelling(text, shortest):
    assert normal(text) == shortest


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", "2592000s"), ("2 h", "7200s"), ("90s", "90s"), ("1.50s", "1.5s"), ("soon", "soon")],
)
def test_gcloud_s_units_in_seconds(text, seconds):
    assert in_seconds(text) == seconds


@given(st.text(alphabet="0123456789.s", max_size=12))
def test_the_shortest_spelling_is_its_own(text):
    assert normal(normal(text)) == normal(text)


@given(st.floats(min_value=1e-9, max_value=1e9) | st.integers(1, 10**11))
def test_every_positive_number_of_seconds_is_a_duration(seconds):
    text = seconds_text(seconds)
    assert isinstance(text, str)
    assert problem_with(text) is None
    assert float(text[:-1]) == pytest.approx(seconds, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("1h", "3600s"),
        ("90 m", "5400s"),
        ("7d", "604800s"),
        ("3600", "for example 3600s"),
        ("-1s", "for example 3600s"),
        ("", "for example 3600s"),
        ("0.0s", "positive duration"),
    ],
)
def test_problems_name_the_remedy(text, remedy):
    assert remedy in (problem_with(text) or "")
