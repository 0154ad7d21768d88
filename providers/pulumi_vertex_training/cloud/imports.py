"""Import Google's clients: in one thread at a time, and without the parts that nobody uses.

A provider process makes its first calls in four threads. If two of them import parts of one package in
different orders, Python detects a deadlock of its import locks, and one import fails
(`_DeadlockError: deadlock detected by _ModuleLock('urllib3')`, https://github.com/python/cpython/issues/82272).

`google.cloud.aiplatform_v1` loads about 1,100 modules for any of its clients; the job client itself needs two
thirds of them, in a third of the time. A lean package is a module whose `__init__` has not run yet:
submodules import as usual, and the first use of a name that only `__init__` defines runs it in place. The
module object and the classes loaded before stay the same, so `from google.cloud import aiplatform` elsewhere
in the process works as usual. `importlib.util.LazyLoader` is no alternative: it runs `__init__` as soon as a
submodule is imported.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

LOCK = threading.RLock()
"""Hold it while Google's packages are imported for the first time."""


_TRANSPORT = (
    "google.api_core.exceptions",
    "google.api_core.retry",
    "google.auth.transport.requests",
    "google.protobuf.json_format",
    "requests.adapters",
    "urllib3.exceptions",
)


def load_transport() -> None:
    """Import what all calls share: `requests`, `google.auth` and `google.api_core`. Cheap after the first."""
    with LOCK:
        _load_transport()


@functools.cache
def _load_transport() -> None:
    for name in _TRANSPORT:
        importlib.import_module(name)


AIPLATFORM_PACKAGES = frozenset({"google.cloud.aiplatform_v1", "google.cloud.aiplatform_v1.types"})


def import_lean(name: str, *, packages: frozenset[str] = AIPLATFORM_PACKAGES) -> ModuleType:
    """Import the module `name`; from now on, `packages` are lean when they are first imported.

    A package that is already imported stays as it is. Safe for threads: the import system loads the modules,
    under its locks. Raises ImportError.
    """
    _install(packages)
    with LOCK:
        return importlib.import_module(name)


@functools.cache
def _install(packages: frozenset[str]) -> None:
    # Never removed: removing an entry from this list makes imports in other threads skip a finder.
    sys.meta_path.insert(0, _LeanFinder(packages))


class _LeanFinder(importlib.abc.MetaPathFinder):
    """Finds the given packages like the path finder, but with a loader that defers `__init__`."""

    def __init__(self, packages: frozenset[str]) -> None:
        self._packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._packages:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None and spec.submodule_search_locations is not None:
            spec.loader = _LeanLoader(spec.loader)
        return spec


class _LeanLoader(importlib.abc.Loader):
    """Leaves the package empty, with hooks that run the real loader when one of its own names is used."""

    def __init__(self, real: importlib.abc.Loader) -> None:
        self._real = real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        pending = _PendingInit(module, self._real)
        module.__dict__["__getattr__"] = pending.attribute
        module.__dict__["__dir__"] = pending.names

    def __getattr__(self, name: str) -> Any:
        # importlib.resources and inspect read data and source from the loader.
        return getattr(self._real, name)


class _PendingInit:
    """The deferred `__init__` of a lean package, as the package's `__getattr__` and `__dir__`."""

    def __init__(self, module: ModuleType, loader: importlib.abc.Loader) -> None:
        self._module = module
        self._loader = loader
        self._lock = threading.RLock()
        self._started = False

    def attribute(self, name: str) -> Any:
        # The import system itself looks up dunder names; only `import *` needs the real `__all__`.
        if not name.startswith("__") or name == "__all__":
            submodule = f"{self._module.__name__}.{name}"
            if importlib.machinery.PathFinder.find_spec(submodule, self._module.__path__) is not None:
                return importlib.import_module(submodule)
            self._run()
            if name in self._module.__dict__:
                return self._module.__dict__[name]
        raise AttributeError(f"module {self._module.__name__!r} has no attribute {name!r}")

    def names(self) -> list[str]:
        self._run()
        return sorted(self._module.__dict__)

    def _run(self) -> None:
        """Run the real `__init__` once. Other threads wait for it; its own imports are not blocked."""
        with self._lock:
            if self._started:
                return
            self._started = True
            try:
                self._loader.exec_module(self._module)
            except BaseException:
                self._started = False  # the next use tries again
                raise
            if self._module.__spec__ is not None:
                self._module.__spec__.loader = self._loader
            self._module.__loader__ = self._loader
            for hook, ours in (("__getattr__", self.attribute), ("__dir__", self.names)):
                if self._module.__dict__.get(hook) == ours:
                    del self._module.__dict__[hook]
