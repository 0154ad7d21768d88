"""Holds one method of a provider in the provider process, for steps at which nothing is asked of the service.

`support.kills` puts this folder on PYTHONPATH. HOLD is `MODULE:CLASS.METHOD`. When the method is called, the
file HELD_FILE appears, and the method waits until it is gone again.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module as ever, and holds its method once it is loaded."""

    def __init__(self, module: str, method: str, file: Path) -> None:
        self._module, self._method, self._file = module, method, file

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        loader = None if spec is None else spec.loader
        if loader is None:
            return None
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            class_name, _, method_name = self._method.partition(".")
            owner = getattr(module, class_name)
            setattr(owner, method_name, self._held(getattr(owner, method_name)))

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _held(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._file.touch()
            while self._file.exists():
                time.sleep(0.02)
            return method(*args, **kwargs)

        return call


if "HOLD" in os.environ and "pulumi.dynamic" in sys.orig_argv:
    _module, _, _method = os.environ["HOLD"].partition(":")
    sys.meta_path.insert(0, _Finder(_module, _method, Path(os.environ["HELD_FILE"])))
