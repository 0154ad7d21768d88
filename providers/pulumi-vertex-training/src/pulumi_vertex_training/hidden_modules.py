"""Files beside a program with the name of a module that this package imports.

Python looks for modules beside the program first. Without these checks, such a file ends a deployment with a
traceback in code that the user has never seen.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

OWN = ("vertex_training", "vertex_emulator")
OF_PYTHON = (
    *("compileall", "configparser", "csv", "decimal", "difflib", "fractions", "grp", "gzip", "hmac", "html"),
    *("mimetypes", "secrets", "shlex", "socketserver", "sqlite3", "statistics", "tarfile", "termios", "tty"),
    *("unicodedata", "webbrowser", "xml", "zipfile", "zoneinfo"),
)
"""Modules of Python that this package imports, and that are not loaded before it."""

_HERE = Path(__file__).resolve().parent.parent
_OWN_FOLDERS = (_HERE, *_HERE.parent.parent.glob("*/src"))
"""The folders of our own packages: in a clone, each distribution has one."""
_STANDARD = Path(importlib.util.__file__).resolve().parent.parent


def require_visible() -> None:
    """Load our own packages in place of files that hide them, and warn.

    Raises `pulumi.RunError` for a file that hides a module of Python, or that the program has imported.
    """
    for name, file in _hiding({*OWN, *OF_PYTHON}, sys.path):
        if name in OF_PYTHON and _is_loaded_from(name, _STANDARD):
            continue
        if name in OF_PYTHON or (name in sys.modules and not _is_loaded_from(name, *_OWN_FOLDERS)):
            whose = "Python" if name in OF_PYTHON else "pulumi-vertex-training"
            raise _error(f"{file} hides the module {name} of {whose}, which a deployment needs. Rename it.")
        if name not in sys.modules:
            _load(name, [folder for folder in sys.path if Path(folder).resolve() != file.resolve().parent])
            _warn(
                f"{file} has the name of a package of pulumi-vertex-training, so `import {name}` does not "
                "import it. Rename it."
            )


def _hiding(names: Iterable[str], path: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield the names that a file or package hides, and that file, in the folders before Python's own."""
    wanted = sorted(names)
    for entry in path:
        folder = Path(entry).resolve()
        if folder == _STANDARD:
            return
        if folder in _OWN_FOLDERS or not folder.is_dir():
            continue
        for name in wanted:
            for file in (folder / name / "__init__.py", folder / f"{name}.py"):
                if file.is_file():
                    yield name, file if file.stem == name else file.parent


def _is_loaded_from(name: str, *folders: Path) -> bool:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return module is not None
    return any(Path(file).resolve().is_relative_to(folder) for folder in folders)


def _load(name: str, path: list[str]) -> None:
    spec = PathFinder.find_spec(name, path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _error(text: str) -> Exception:
    pulumi = sys.modules.get("pulumi")
    return ImportError(text) if pulumi is None else pulumi.RunError(text)


def _warn(text: str) -> None:
    """Report in a program; the plugin's process has nobody to report to."""
    pulumi = sys.modules.get("pulumi")
    if pulumi is not None and pulumi.runtime.get_root_resource() is not None:
        pulumi.log.warn(text)
