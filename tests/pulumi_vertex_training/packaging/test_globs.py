"""Patterns of a staged folder: what they match, and those that are refused."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.packaging import globs


def glob(text: str, *, takes_hidden: bool = False) -> globs.Glob:
    (found,), problems = globs.read([text], "include", takes_hidden=takes_hidden)
    assert problems == []
    return found


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("*.jpg", ["a.jpg", "train/a.jpg", "x/y/z.jpg"], ["a.jpeg", "a.JPG", ".a.jpg", ".git/a.jpg"]),
        ("/*.jpg", ["a.jpg"], ["train/a.jpg"]),
        ("./*.jpg", ["a.jpg"], ["train/a.jpg"]),
        ("train", ["train", "train/a", "x/train/b/c"], ["trains/a", "train/.hidden", "x/.train/a"]),
        ("train/", ["train/a", "x/train/b/c"], ["trains/a"]),
        ("train/*", ["train/a", "train/x/b"], ["x/train/a", "train/.a"]),
        ("train/*.csv", ["train/a.csv"], ["train/x/a.csv"]),
        ("train/**/*.csv", ["train/a.csv", "train/x/a.csv", "train/x/y/a.csv"], ["a.csv", "train/.x/a.csv"]),
        ("**", ["a", "a/b/c"], [".a", "a/.b", ".a/b"]),
        ("**/.z*", [".zarray", "x/.zgroup"], ["zarray", ".git/.zarray"]),
        (".config/**", [".config/a", ".config/x/y"], ["config/a", ".config/.a"]),
        ("part-?.[0-4]", ["part-1.0", "x/part-a.4"], ["part-12.0", "part-1.5", "part-..0x"]),
        ("part-[!0]", ["part-1"], ["part-0"]),
        ("a[*]b", ["a*b"], ["axb"]),
        ("?rain", ["train"], [".rain"]),
    ],
)
def test_an_include_pattern(pattern: str, matched: list[str], others: list[str]) -> None:
    found = glob(pattern)
    assert [path for path in matched if not found.matches(path)] == []
    assert [path for path in others if found.matches(path)] == []


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("*.tmp", [".a.tmp", "x/.y/b.tmp"], ["a.tmp2"]),
        ("old", ["old/.a/b", "x/old"], ["older"]),
        ("**/cache/**", ["cache/a", ".x/cache/.b"], ["caches/a"]),
        ("*", ["a", ".a", ".a/b"], []),
    ],
)
def test_wildcards_of_an_exclude_pattern_match_hidden_names(
    pattern: str, matched: list[str], others: list[str]
) -> None:
    found = glob(pattern, takes_hidden=True)
    assert [path for path in matched if not found.matches(path)] == []
    assert [path for path in others if found.matches(path)] == []


def test_folders_that_cannot_have_a_match_are_not_entered() -> None:
    assert glob("train/*.csv").may_match_below("train")
    assert not glob("train/*.csv").may_match_below("test")
    assert not glob("**").may_match_below(".git")
    assert glob(".git/config").may_match_below(".git")


def test_many_stars_take_no_more_time_than_others() -> None:
    """Match in a number of steps that is not exponential, or the test would not end."""
    assert not glob("*a" * 40 + "b").matches("a" * 200)
    assert not glob("**/a/" * 40 + "b").matches("a/" * 200 + "c")


def test_every_pattern_that_is_not_valid_is_reported() -> None:
    given = ["", "train\\*", "!a", "*.{jpg,png}", "../x", "/", "fine"]
    found, problems = globs.read(given, "exclude", takes_hidden=True)
    assert [one.text for one in found] == ["fine"]
    assert [one.path for one in problems] == [f"exclude[{index}]" for index in range(6)]
    assert "braces" in problems[3].message
