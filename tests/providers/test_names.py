"""Resource names of any kind become prefixes of objects that are paths under /gcs too."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.names import object_prefix


@pytest.mark.parametrize("name", ["train", "my job", "a/b", "übung", "a$b", "..train", "train#1"])
def test_a_name_that_is_a_path_stays(name: str) -> None:
    assert object_prefix(name) == name


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("../x", "x"),
        ("a/../b", "a/b"),
        ("a//b", "a/b"),
        ("/a/", "a"),
        ("a\nb", "a-b"),
        (".", "unnamed"),
        ("..", "unnamed"),
    ],
)
def test_what_a_path_cannot_hold_is_left_out(name: str, prefix: str) -> None:
    assert object_prefix(name) == prefix
