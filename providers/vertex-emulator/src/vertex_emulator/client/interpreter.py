"""The Python interpreter that runs the emulator and its helper processes."""

from __future__ import annotations

import os
import sys

VARIABLE = "VERTEX_TRAINING_EMULATOR_PYTHON"
"""Names an interpreter of another environment, for example where the emulator's packages are not installed
beside the Pulumi program. That environment must hold this package in the same version."""


def interpreter() -> str:
    """Return the path of the interpreter: the variable's if it is set, else this process's own."""
    return os.environ.get(VARIABLE) or sys.executable
