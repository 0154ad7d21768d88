"""When a declaration is due to run again."""

from __future__ import annotations

import pytest

from vertex_training.lifecycle.identity import due, new_key


@pytest.mark.parametrize(
    ("recorded", "declared", "reason"),
    [
        ({"spec": "v1-a"}, {"spec": "v1-a"}, None),
        ({"spec": "v1-a", "run_token": None}, {"spec": "v1-a"}, None),
        ({"spec": "v1-a", "run_token": ""}, {"spec": "v1-a", "run_token": None}, None),
        ({"spec": "v1-a"}, {"spec": "v1-b"}, "its spec changed"),
        ({"spec": "v1-a", "run_token": "1"}, {"spec": "v1-a", "run_token": "2"}, "its run_token changed"),
        (
            {"spec": "v1-a"},
            {"spec": None},
            "its spec depends on something that this deployment changes",
        ),
    ],
)
def test_due(recorded: dict[str, object], declared: dict[str, object], reason: str | None) -> None:
    assert due(recorded, declared) == reason


def test_keys_are_unique_and_grow() -> None:
    keys = {str(new_key()) for _ in range(1000)}
    assert len(keys) == 1000
    first = new_key()
    assert str(first.next()) == f"{first.identity}-2"


def test_a_key_fits_a_label() -> None:
    assert len(str(new_key())) <= 63
    assert set(str(new_key())) <= set("0123456789abcdef-")
