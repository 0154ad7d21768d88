"""Patterns of names: they match as regular expressions do, and none takes longer than a moment."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from vertex_emulator.services.storage.errors import StorageError
from vertex_emulator.services.storage.objects import glob

PIECES = ["*", "**", "**/", "/", "a", "b", "?", "[ab]", "[!a]", "{", "}", ","]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        pytest.param("*a" * 30 + "b", "a" * 1000, id="stars"),
        pytest.param("**a" * 30 + "b", "a" * 1000, id="double stars"),
        pytest.param("{aa,a}" * 170 + "b", "a" * 300, id="braces"),
        pytest.param("{*a,a*}" * 14 + "b", "a" * 1000, id="stars in braces"),
        pytest.param("*" + "[a-y]" * 100 + "**z", "a" * 1000, id="sets"),
        pytest.param(
            "{" + ",".join(["a*"] * 30) + "}" + "{a,a,a,a}" * 80, "a" * 900 + "1", id="many choices"
        ),
    ],
)
def test_no_pattern_holds_the_emulator_up(pattern: str, name: str) -> None:
    compiled = glob.compiled(pattern)
    assert not compiled.fullmatch(name)
    work = compiled._work
    for number in range(100):  # each name has a beginning of its own
        assert not compiled.fullmatch(f"{number}{name}")
    assert compiled._work < 3 * work + 100_000 < glob._MOST_WORK


def test_work_is_bounded() -> None:
    """Take the pattern whose states are as many as the subsets of its places."""
    compiled = glob.compiled("{*,x}a" + "?" * 900)
    name = "".join(random.choice("ab") for _ in range(1000))
    with pytest.raises(StorageError, match="it takes too much work for the names of this bucket"):
        for number in range(1000):
            compiled.fullmatch(f"{number}{name}")
    assert compiled._kept <= glob._MOST_KEPT + 1000


def expression(nodes: Sequence[Any]) -> str:
    """Return the regular expression of a pattern."""
    return "".join(
        f"(?:{'|'.join(map(expression, node.sequences))})"
        if isinstance(node, glob.Choice)
        else node.expression
        for node in nodes
    )


@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join), st.text("ab/", max_size=6))
def test_a_regular_expression_agrees(pattern: str, name: str) -> None:
    try:
        nodes = glob.parse(pattern)
    except StorageError:
        reject()
    expected = re.fullmatch(expression(nodes), name, re.DOTALL) is not None
    assert glob.compiled(pattern).fullmatch(name) == expected
