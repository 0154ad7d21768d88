"""vertex_cluster can be copied into any training image."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import vertex_cluster

MODULES = sorted(Path(vertex_cluster.__file__).parent.glob("**/*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_module_is_python_3_8_and_needs_the_standard_library_only(module: Path) -> None:
    tree = ast.parse(module.read_text(), feature_version=(3, 8))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and node.level == 0
            else []
        )
    }
    assert imported <= sys.stdlib_module_names
    # Annotations such as `tuple[str, ...] | None` are no code in Python 3.8 only with this line.
    assert "from __future__ import annotations" in module.read_text()


def test_public_names() -> None:
    assert sorted(vertex_cluster.__all__) == sorted(
        name
        for name, value in vars(vertex_cluster).items()
        if not name.startswith("_") and name != "annotations" and type(value).__name__ != "module"
    )
