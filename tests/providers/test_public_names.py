"""What `pulumi_vertex_training` gives to a program, and when it is loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pulumi_vertex_training as vt

SOURCE = ast.parse(Path(vt.__file__).read_text())


def names_for_type_checkers() -> dict[str, set[str]]:
    (block,) = (
        node
        for node in SOURCE.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    found = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        assert node.module is not None
        found[node.module.removeprefix("pulumi_vertex_training.")] = {each.name for each in node.names}
    return found


@pytest.mark.parametrize("name", vt.__all__)
def test_a_name_is_there(name: str) -> None:
    assert getattr(vt, name).__name__ == name


def test_type_checkers_see_what_is_loaded_later() -> None:
    assert {module: set(names) for module, names in vt._LATER.items()} == names_for_type_checkers()


def test_the_names_are_listed() -> None:
    assert dir(vt) == vt.__all__


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'CustomJobs'"):
        _ = vt.CustomJobs


def test_the_import_loads_no_kind_that_is_not_named() -> None:
    code = (
        "import sys, pulumi_vertex_training as vt\n"
        "before = set(sys.modules)\n"
        "vt.TrainingPipeline\n"
        "print('vertex_training.specs.training_pipeline' in before,"
        " 'vertex_training.specs.training_pipeline' in sys.modules,"
        " any(name.startswith('google.cloud.') for name in before))"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.split() == ["False", "True", "False"]
