from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertex_training.topology.pools import EnvVar
from vertex_training.topology.variables import expand, with_own_variables

VARIABLES = {"A": "1", "B_2": "two", "NESTED": "$(A)", "EMPTY": ""}


@pytest.mark.parametrize(
    ("value", "expanded"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B_2)z", "x1ytwoz"),
        ("$(EMPTY)", ""),
        ("$(MISSING)", "$(MISSING)"),
        ("$$(A)", "$(A)"),
        ("$$(MISSING)", "$(MISSING)"),
        ("$$$(A)", "$$(A)"),
        ("$(NESTED)", "$(A)"),
        ("pa$$word$A $", "pa$$word$A $"),
        ("$(A", "$(A"),
        ("$(1A)", "$(1A)"),
        ("$()", "$()"),
    ],
)
def test_expand(value, expanded):
    assert expand(value, VARIABLES) == expanded


@given(st.text())
def test_a_text_without_references_stays_as_it_is(text):
    assert expand(text.replace("(", ""), VARIABLES) == text.replace("(", "")


def test_exponential_variables_are_rejected_before_expansion():
    own = [EnvVar(name=f"V{i}", value=f"$(V{i - 1})" * 1000 if i else "x" * 1000) for i in range(50)]
    with pytest.raises(ValueError, match="V1 has about 1000000 characters"):
        with_own_variables({}, own)
