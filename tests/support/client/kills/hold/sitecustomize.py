"""Record all calls of the providers in the provider process.

Tests put this folder on PYTHONPATH. RECORDED_CALLS is a file that gets a line when a call begins and one when
it ends (`support.in_process.recorded_calls`).
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

METHODS = ("check", "diff", "create", "update", "read", "delete")


class _Finder(importlib.abc.MetaPathFinder):
    """A finder that changes the module once it is loaded."""

    def __init__(self, module: str, change: Callable[[ModuleType], None]) -> None:
        self._module, self._change = module, change

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
            self._change(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class _Recorder:
    """A recorder of the calls of providers; of nested calls, only the outer one."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock, self._number = file, threading.Lock(), 0
        self._thread = threading.local()

    def change(self, module: ModuleType) -> None:
        """Record the calls of the dynamic providers, all of which have one class."""
        for name in METHODS:
            setattr(module.DynamicProvider, name, self._recorded(name, vars(module.DynamicProvider)[name]))

    def _recorded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(provider: object, *args: Any) -> Any:
            if getattr(self._thread, "busy", False):
                return method(provider, *args)
            with self._lock:
                self._number += 1
                number = f"{os.getpid()}.{self._number}"
            self._thread.busy = True
            try:
                self._write(
                    {"number": number, "provider": type(provider).__name__, "method": name, "args": args}
                )
                try:
                    result = method(provider, *args)
                except Exception as error:
                    self._write({"number": number, "error": str(error)})
                    raise
                self._write({"number": number, "result": None if result is None else vars(result)})
                return result
            finally:
                self._thread.busy = False

        return call

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, default=lambda one: getattr(one, "reason", None) or repr(one)) + "\n"
        with self._lock, self._file.open("a") as file:
            file.write(text)


if "pulumi.dynamic" in sys.orig_argv and "RECORDED_CALLS" in os.environ:
    _recorder = _Recorder(Path(os.environ["RECORDED_CALLS"]))
    sys.meta_path.insert(0, _Finder("pulumi_vertex_training.dynamic.adapter", _recorder.change))
