"""The names of the package that other distributions import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import vertex_emulator


def test_each_name_has_a_type_and_can_be_loaded() -> None:
    tree = ast.parse(Path(vertex_emulator.__file__).read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    names = {alias.asname for node in typed.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(dir(vertex_emulator))
    assert all(getattr(vertex_emulator, name) is not None for name in dir(vertex_emulator))


def test_an_unknown_name_is_an_error() -> None:
    assert not hasattr(vertex_emulator, "unknown")


def test_the_package_alone_loads_nothing_of_it() -> None:
    code = "import sys, vertex_emulator; print([name for name in sys.modules if 'vertex_emulator.' in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
