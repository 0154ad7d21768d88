"""The package's module `cli.doctor.backend_files`, for chores that run before the package is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pulumi_vertex_training.cli.doctor.backend_files import Damage, address, damages, repair
else:
    _NAME = "scripts._backend_files"
    _FILE = (
        Path(__file__).resolve().parents[1] / "providers/pulumi_vertex_training/cli/doctor/backend_files.py"
    )
    _SPEC = importlib.util.spec_from_file_location(_NAME, _FILE)
    _MODULE = importlib.util.module_from_spec(_SPEC)
    sys.modules[_NAME] = _MODULE  # its dataclass looks itself up
    _SPEC.loader.exec_module(_MODULE)
    Damage, address = _MODULE.Damage, _MODULE.address
    damages, repair = _MODULE.damages, _MODULE.repair

__all__ = ["Damage", "address", "damages", "repair"]
