"""`help` and an editor show the documentation and the type of every argument."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any

import pytest

import pulumi_vertex_training as vt
from scripts.arguments.resources import parameters_of

ARGUMENT_CLASSES = [name for name in vt.__all__ if name.endswith("Args")]
RESOURCES = [
    name
    for name in vt.__all__
    if name[0].isupper() and not name.endswith("Args") and not name.startswith("Existing")
]
LOOKUPS = [name for name in vt.__all__ if name.startswith("get_")]


def documented(owner: Any) -> dict[str, str]:
    return parameters_of(inspect.getdoc(owner) or "")


@pytest.mark.parametrize("name", ARGUMENT_CLASSES)
def test_every_field_of_an_argument_class_is_documented(name: str) -> None:
    fields = inspect.signature(getattr(vt, name)).parameters
    texts = documented(getattr(vt, name))
    assert list(texts) == list(getattr(vt, name).__annotations__) or set(texts) == set(fields)
    assert all(text.endswith(".") for text in texts.values())
    assert all(field.annotation is not inspect.Parameter.empty for field in fields.values())


@pytest.mark.parametrize("name", RESOURCES)
def test_every_argument_of_a_resource_is_documented(name: str) -> None:
    constructor = getattr(vt, name).__init__
    arguments = inspect.signature(constructor).parameters
    texts = documented(constructor)
    assert list(texts) == [one for one in arguments if one != "self"]
    assert all(text.endswith((".", ").")) for text in texts.values())


@pytest.mark.parametrize("name", LOOKUPS)
def test_every_argument_of_a_lookup_is_documented(name: str) -> None:
    texts = documented(getattr(vt, name))
    assert list(texts) == list(inspect.signature(getattr(vt, name)).parameters)


@pytest.mark.parametrize("name", ["CustomJob", "MachineSpecArgs"])
def test_help_shows_arguments_with_types(name: str) -> None:
    shown = pydoc.plain(pydoc.render_doc(getattr(vt, name)))
    for parameter in inspect.signature(getattr(vt, name)).parameters.values():
        assert parameter.name == "resource_name" or f"{parameter.name}: " in shown
        assert f":param {parameter.name}: " in shown
