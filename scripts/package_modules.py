"""Modules of the package that import nothing else of it, for chores that run before it is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_PROVIDERS = Path(__file__).resolve().parents[1] / "providers"


def loaded(file: str) -> ModuleType:
    """Return a module by its file, such as `pulumi_vertex_training/package/launcher.py`."""
    name = f"scripts._{Path(file).stem}"
    (path,) = _PROVIDERS.glob(f"*/src/{file}")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module
