"""Numbers that are not finite, in documents and in states."""

from __future__ import annotations

import json
import math

import pytest

from vertex_training.fields.json_numbers import finite_number_of, number_of, without_nan


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (2, 2),
        (0.5, 0.5),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        (-math.inf, -math.inf),
        (True, None),
        ("2", None),
        ("nan", None),
        (None, None),
        (10**400, None),
    ],
)
def test_numbers_of_json(value: object, number: float | None) -> None:
    assert number_of(value) == number
    assert finite_number_of(value) == (number if number is not None and math.isfinite(number) else None)


def test_nan_is_a_number_that_is_not_finite() -> None:
    for value in ("NaN", math.nan):
        assert math.isnan(number_of(value) or 0)
        assert finite_number_of(value) is None


def test_a_document_without_nan_is_json_and_equals_itself() -> None:
    text = '{"loss": NaN, "all": [1, -Infinity, {"x": 1e999}], "n": 2.5, "word": "NaN"}'
    first, second = (without_nan(json.loads(text)) for _ in range(2))
    assert (
        first
        == second
        == {"loss": "NaN", "all": [1, "-Infinity", {"x": "Infinity"}], "n": 2.5, "word": "NaN"}
    )
    assert json.loads(json.dumps(first, allow_nan=False)) == first
