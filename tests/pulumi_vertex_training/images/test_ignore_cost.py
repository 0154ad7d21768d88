"""Patterns that would take a backtracking regular expression years."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.images.files.ignore import read_patterns
from pulumi_vertex_training.packaging.wheels.contents import _fits


@pytest.mark.parametrize(
    "pattern", ["*a" * 30 + "b", "**/a/" * 30 + "b", "[a]*" * 30 + "b", "x|" + "*a" * 30 + "b"]
)
def test_many_stars_take_no_longer(pattern: str) -> None:
    rules, problems = read_patterns([pattern], ".dockerignore")
    assert problems == []
    assert not rules.leaves_out("/".join(["a" * 50] * 10))


def test_many_folders_of_package_data_take_no_longer() -> None:
    assert not _fits("/".join("a" * 30), ["/".join(["**"] * 30) + "/b"])
    assert _fits("a/b/c.txt", ["**/*.txt"])
    assert _fits("c.txt", ["**/*.txt"])
    assert not _fits("a/c.txt", ["*.txt"])


def test_repetitions_with_many_stars_are_read() -> None:
    rules, problems = read_patterns(["*a*a*a*a{2}"], ".dockerignore")
    assert problems == []
    assert rules.leaves_out("xaxaxaxaa")
    assert not rules.leaves_out("xaxaxaxa")


def test_a_name_that_is_no_text_is_matched() -> None:
    rules, _ = read_patterns(["é*?"], ".dockerignore")
    assert rules.leaves_out("é\udcff")
    assert not rules.leaves_out("\udcffé")
