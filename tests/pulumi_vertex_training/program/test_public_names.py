"""The public names of `pulumi_vertex_training`, and when they are loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pulumi_vertex_training as vt
from support.tables import every_row

STUB = Path(vt.__file__).with_suffix(".pyi")


@every_row("name", vt.__all__)
def test_a_name_is_there(name: str) -> None:
    assert getattr(vt, name).__name__ == name


def test_type_checkers_see_the_names_that_a_program_has() -> None:
    imported = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    names = [(each.name, each.asname) for node in imported for each in node.names]
    assert all(name == asname for name, asname in names), "a stub exports only `import X as X`"
    assert sorted(name for name, _ in names) == sorted(vt.__all__) == sorted(dir(vt))


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="attribute CustomJobs"):
        _ = vt.CustomJobs


def test_a_program_loads_the_kinds_that_it_names() -> None:
    code = (
        "import sys, pulumi_vertex_training as vt\n"
        "print({name for name in sys.modules if name.startswith('vertex_training.')}"
        " <= {'vertex_training.type_tokens'})\n"
        "vt.CustomJob\n"
        "before = set(sys.modules)\n"
        "vt.TrainingPipeline\n"
        "print('pulumi_vertex_training.kinds.training_pipeline.resource' in before,"
        " 'pulumi_vertex_training.kinds.training_pipeline.resource' in sys.modules,"
        " any(name.startswith(('google.cloud.', 'vertex_training.cost')) for name in before))"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.split() == ["True", "False", "True", "False"]
