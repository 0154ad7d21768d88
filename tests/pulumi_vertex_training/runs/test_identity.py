"""The key of a run."""

from __future__ import annotations

from pulumi_vertex_training.runs.identity import new_key


def test_keys_are_unique_and_grow() -> None:
    keys = {str(new_key()) for _ in range(1000)}
    assert len(keys) == 1000
    first = new_key()
    assert str(first.next()) == f"{first.identity}-2"


def test_a_key_fits_a_label() -> None:
    assert len(str(new_key())) <= 63
    assert set(str(new_key())) <= set("0123456789abcdef-")
