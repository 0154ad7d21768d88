from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pytest

from vertex_training.fields.document import json_of


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    exit_code: int | None = None


@dataclass(frozen=True)
class Outer:
    display_name: str
    inner: tuple[Inner, ...] = ()

    @property
    def number_of_inner(self) -> int:
        return len(self.inner)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            Outer("a", (Inner(1), Inner())),
            {"displayName": "a", "inner": [{"exitCode": 1}, {"exitCode": None}]},
        ),
        ({"my_key": Inner(2)}, {"my_key": {"exitCode": 2}}),
        ([Colour.RED, PurePosixPath("/a/b"), 1.5, True], ["red", "/a/b", 1.5, True]),
        (None, None),
    ],
)
def test_a_value_as_json(value: object, expected: Any) -> None:
    assert json_of(value) == expected


def test_named_attributes_alone_also_those_that_are_computed() -> None:
    assert json_of(Outer("a", (Inner(),)), "display_name number_of_inner") == {
        "displayName": "a",
        "numberOfInner": 1,
    }


def test_an_attribute_that_does_not_exist() -> None:
    with pytest.raises(AttributeError):
        json_of(Inner(), "exit_kode")
