"""Change modules right after a program has imported them; nothing is imported before that."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional  # noqa: UP035 - Python 3.7 and later

Change = Callable[[Any], None]


def after_import(change_of: Callable[[str], Optional[Change]], trouble: str) -> None:  # noqa: UP045
    """From now on each module for whose name `change_of` has a change is handed to it once it is loaded.

    What a change raises is one line on standard error, with `trouble` in it, and the import goes on: a
    version that is built otherwise must not keep the program from running.
    """
    sys.meta_path.insert(0, _Finder(change_of, trouble))


class _Finder:
    """Lets the other finders find the modules, and changes them once they are loaded."""

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
