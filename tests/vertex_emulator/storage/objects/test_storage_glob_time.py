"""Patterns of names: both ways to match agree, and none takes longer than a moment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from vertex_emulator.storage.errors import StorageError
from vertex_emulator.storage.objects import glob

PIECES = ["*", "**", "**/", "/", "a", "b", "?", "[ab]", "[!a]", "{", "}", ","]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        pytest.param("*a" * 30 + "b", "a" * 1000, id="stars"),
        pytest.param("**a" * 30 + "b", "a" * 1000, id="double stars"),
        pytest.param("{aa,a}" * 170 + "b", "a" * 300, id="braces"),
        pytest.param("{*a,a*}" * 14 + "b", "a" * 1000, id="stars in braces"),
        pytest.param("*" + "[a-y]" * 100 + "**z", "a" * 1000, id="sets"),
    ],
)
def test_no_pattern_holds_the_emulator_up(pattern: str, name: str) -> None:
    compiled = glob.compiled(pattern)
    assert not compiled.fullmatch(name)


def expression(nodes: Sequence[Any]) -> str:
    """Return the regular expression of a pattern."""
    return "".join(
        f"(?:{'|'.join(map(expression, node.sequences))})"
        if isinstance(node, glob._Choice)
        else node.expression
        for node in nodes
    )


@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join), st.text("ab/", max_size=6))
def test_both_ways_agree(pattern: str, name: str) -> None:
    try:
        nodes, end = glob._sequence(pattern, 0, depth=0)
    except StorageError:
        reject()
    assume(end == len(pattern))
    expected = re.fullmatch(expression(nodes), name, re.DOTALL) is not None
    assert glob._Machine(nodes).matches(name) == glob.compiled(pattern).fullmatch(name) == expected
