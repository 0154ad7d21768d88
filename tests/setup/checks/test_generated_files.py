"""How generated files are written. `make check` shows that each says what the code says."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from scripts.arguments.catalog import Resource
from scripts.arguments.layout import with_parameters
from scripts.arguments.messages import MissingDocumentationError, fields_of, summary_of
from scripts.arguments.resources import parameters_of, written


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outer:
    """A message. It has a remark."""

    name: str
    """Name of the
    message.
    """
    size: int = 3
    """Size in bytes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Extended(Outer):
    """A message with another field."""

    labels: tuple[str, ...] = ()


def test_a_field_has_the_docstring_below_it() -> None:
    found = fields_of(Outer)
    assert [(one.key, one.text) for one in found.values()] == [
        ("Outer.name", "Name of the message."),
        ("Outer.size", "Size in bytes."),
    ]
    assert [one.is_required for one in found.values()] == [True, False]
    assert summary_of(Outer) == "A message."


def test_a_field_without_a_docstring_is_named() -> None:
    with pytest.raises(MissingDocumentationError, match=r"Extended\.labels has no docstring"):
        fields_of(Extended)


def test_parameters_are_read_as_they_are_written() -> None:
    texts = {"a": "First: " + "long " * 40 + "end.", "b": 'Text with "quotes" and `C:\\`.'}
    written = with_parameters("Declare it.\n\nA remark.", texts, indent=8)
    docstring = inspect.cleandoc(eval(written.strip()))
    assert docstring.startswith("Declare it.\n\nA remark.\n\n:param a:")
    assert parameters_of(docstring) == texts
    assert all(len(line) <= 110 for line in written.split("\n"))


RESOURCE = '''class Thing:
    def __init__(
        self,
        resource_name: str,
        *,
        name: pulumi.Input[int] | None = None,  # noqa: A002
        wait: bool = True,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare a thing.

        :param name: An old text.
        :param wait: Wait for it.
        """
        super().__init__(
            {
                "name": name,
            },
            wait,
            opts,
        )
'''


def test_a_new_field_becomes_an_argument_that_is_documented_and_passed_on() -> None:
    source = written(Resource(name="Thing", folder="", spec=Outer), RESOURCE)
    lines = [line.strip() for line in source.split("\n")]
    assert lines[lines.index("*,") + 1 : lines.index("**more: Any,")] == [
        "name: pulumi.Input[str] | None = None,  # noqa: A002",
        "size: pulumi.Input[int | None] = None,",
        "wait: bool = True,",
        "opts: pulumi.ResourceOptions | None = None,",
    ]
    assert [line for line in lines if line.startswith((":param", '"name"', '"size"'))] == [
        ":param resource_name: Name of the resource in the program.",
        ":param name: Name of the message.",
        ":param size: Size in bytes.",
        ":param wait: Wait for it.",
        ":param opts: Pulumi's options of the resource.",
        ":param more: Unsupported arguments; each one is rejected by name.",
        '"name": name,',
        '"size": size,',
    ]
    assert written(Resource(name="Thing", folder="", spec=Outer), source) == source
