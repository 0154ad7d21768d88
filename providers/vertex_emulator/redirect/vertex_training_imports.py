"""Change modules right after a program has imported them. Nothing is imported earlier."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional  # noqa: UP035 - Python 3.7 and later

Change = Callable[[Any], None]


def after_import(change_of: Callable[[str], Optional[Change]], trouble: str) -> None:  # noqa: UP045
    """Apply a change to each module imported from now on for whose name `change_of` returns one.

    An exception in a change becomes one line on standard error, `NAME does not find TROUBLE`, and the import
    succeeds: an unknown version of a module must not keep the program from running.
    """
    sys.meta_path.insert(0, _Finder(change_of, trouble))


class _Finder:
    """A meta path finder that lets the other finders find a module, and changes it once it is loaded."""

    def __init__(self, change_of: Callable[[str], Optional[Change]], trouble: str) -> None:  # noqa: UP045
        self._change_of = change_of
        self._trouble = trouble

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        change = self._change_of(name)
        if change is None:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if self._may_ask(finder))
        spec: Any = next((found for found in others if found is not None), None)
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if execute is None:
            return spec

        def execute_and_change(module: Any) -> None:
            execute(module)
            try:
                change(module)
            except Exception as error:
                sys.stderr.write(f"vertex-training: {name} does not find {self._trouble}: {error}\n")

        spec.loader.exec_module = execute_and_change
        return spec

    def _may_ask(self, finder: object) -> bool:
        return finder is not self and hasattr(finder, "find_spec")
