"""The package's module `cli.doctor.backend_files`, for chores that run before the package is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.package_modules import loaded

if TYPE_CHECKING:
    from pulumi_vertex_training.cli.doctor.backend_files import Damage, address, damages, repair
else:
    _MODULE = loaded("pulumi_vertex_training/cli/doctor/backend_files.py")
    Damage, address = _MODULE.Damage, _MODULE.address
    damages, repair = _MODULE.damages, _MODULE.repair

__all__ = ["Damage", "address", "damages", "repair"]
