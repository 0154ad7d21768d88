"""Patterns of names: they match as regular expressions do, and none takes longer than a moment."""

from __future__ import annotations

import re

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
    matches = glob.compiled(pattern)
    assert not any(matches(f"{number}{name}") for number in range(1000))


def expression(pattern: str) -> str:
    """Return the regular expression of a valid pattern."""
    depth, parts = 0, []
    for token in re.findall(r"(?:(?<=/)|^)\*\*+/|\*+|\[[^]]*\]|.", pattern):
        depth += (token == "{") - (token == "}")
        stars = ".*" if token.startswith("**") else "[^/]*"
        simple = {"?": "[^/]", "{": "(?:", "}": ")", "[!a]": "[^/a]", "[ab]": "[ab]"}
        if token.startswith("*"):
            parts.append("(?:.*/)?" if token.endswith("/") else stars)
        else:
            parts.append("|" if depth and token == "," else simple.get(token, re.escape(token)))
    return "".join(parts)


@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join), st.text("ab/", max_size=6))
def test_a_regular_expression_agrees(pattern: str, name: str) -> None:
    try:
        matches = glob.compiled(pattern)
    except StorageError:
        reject()
    assert matches(name) == (re.fullmatch(expression(pattern), name, re.DOTALL) is not None)
