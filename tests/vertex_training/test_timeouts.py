"""The scale of timeouts."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from vertex_training.timeouts import VARIABLE, scaled, timeout_scale


@pytest.mark.parametrize(
    ("text", "scale"), [(None, 1.0), ("", 1.0), ("1", 1.0), ("2.5", 2.5), ("100", 100.0)]
)
def test_a_scale_is_a_number_from_1_to_100(text: str | None, scale: float) -> None:
    assert timeout_scale(text) == scale


@pytest.mark.parametrize("text", ["0.5", "101", "-1", "nan", "inf", "three", "3x"])
def test_any_other_scale_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(
        ValueError, match=f"^{VARIABLE} is '{text}', but must be a number from 1 to 100. Set it"
    ):
        timeout_scale(text)


def test_every_timeout_of_an_object_is_scaled() -> None:
    @dataclass(frozen=True)
    class Timeouts:
        start: float = 60.0
        stop: float = 20.0

    assert scaled(Timeouts(), 2.5) == Timeouts(start=150.0, stop=50.0)
