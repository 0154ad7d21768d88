"""The files of `vertex_cluster` as it is installed here, for packages and images that contain it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem

CLUSTER: Final = "vertex_cluster"

OTHER_FILES: Final = ("**", "!**/*.py", "!py.typed")
"""Patterns, as in a .dockerignore file, of other files in the folder, such as bytecode. Without them, the
package is the same on every machine."""


def cluster_folder() -> Path:
    """Return the installed folder of `vertex_cluster`. Raises PackagingError if it has none."""
    spec = importlib.util.find_spec(CLUSTER)
    folder = Path(spec.origin).parent if spec and spec.origin else None
    if folder is None or not folder.is_dir():
        where = f"{folder} is not a folder" if folder else "it is not installed"
        message = f"the package {CLUSTER} cannot be read: {where}. Install pulumi-vertex-training with pip."
        raise PackagingError([Problem(path=CLUSTER, message=message)])
    return folder


def cluster_files() -> dict[str, Path]:
    """Return the package's own files by their installed paths.

    Raises PackagingError as `cluster_folder` does.
    """
    folder = cluster_folder()
    files = [folder / "py.typed", *(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)]
    return {f"{CLUSTER}/{path.relative_to(folder).as_posix()}": path for path in sorted(files)}
