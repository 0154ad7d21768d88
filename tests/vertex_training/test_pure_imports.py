"""Importing the pure packages loads the standard library and themselves alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vertex_cluster
import vertex_training

PURE = (vertex_cluster, vertex_training)

PROGRAM = """
import importlib, json, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@pytest.mark.parametrize("package", ["vertex_cluster", "vertex_training"])
def test_a_pure_package_loads_the_standard_library_and_itself(package: str) -> None:
    run = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, package],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": os.pathsep.join(str(Path(module.__file__).parents[1]) for module in PURE)},
    )
    assert run.returncode == 0, run.stderr
    foreign = set(json.loads(run.stdout)) - set(sys.stdlib_module_names) - {"__main__"}
    assert foreign <= {"vertex_cluster", "vertex_training"}
