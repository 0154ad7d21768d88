"""Patterns that would take a regular expression years; the automaton answers as `re` does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.images.files.ignore import _Automaton, read_patterns
from pulumi_vertex_training.packaging.wheels.contents import _fits
from support.properties import examples

ATOMS = (
    "[^/]*",
    "[^/]",
    ".*",
    "(.*/)?",
    "a",
    "b",
    "/",
    "[ab]",
    "[^a]",
    r"\*",
    r"\d",
    "|",
    "^",
    r"\Z",
    "[a-b]*",
)


@pytest.mark.parametrize(
    "pattern", ["*a" * 30 + "b", "**/a/" * 30 + "b", "[a]*" * 30 + "b", "x|" + "*a" * 30 + "b"]
)
def test_many_stars_take_no_longer(pattern: str) -> None:
    rules, problems = read_patterns([pattern], ".dockerignore")
    assert problems == []
    assert not rules.leaves_out("/".join(["a" * 200] * 20))


def test_many_folders_of_package_data_take_no_longer() -> None:
    assert not _fits("/".join("a" * 30), ["/".join(["**"] * 30) + "/b"])
    assert _fits("a/b/c.txt", ["**/*.txt"])
    assert _fits("c.txt", ["**/*.txt"])
    assert not _fits("a/c.txt", ["*.txt"])


def test_repetitions_with_many_stars_are_rejected() -> None:
    _, problems = read_patterns(["*a*a*a*a{2}"], ".dockerignore")
    assert [problem.path for problem in problems] == [".dockerignore:1"]


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(ATOMS), max_size=7).map("".join), st.text("ab/|*1\n", max_size=8))
def test_the_automaton_answers_as_re_does(expression: str, text: str) -> None:
    found = re.compile(expression, re.ASCII).search(text) is not None
    assert _Automaton(expression).is_in(text) == found
