"""The folders of wheels in an image, and the layer that has them.

The folder of packages, /opt/vertex-training/site-packages, is put on PYTHONPATH. So the wheels are found
whatever layout the base's Python has, and come before its own packages. The base's site-packages cannot be
located without reading its layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vertex_training.findings.problems import Problem

FORMAT: Final = 1
"""Increase it when the same wheels give another layer than before."""

HOME: Final = "opt/vertex-training"
SITE: Final = f"{HOME}/site-packages"
SCRIPTS: Final = f"{HOME}/bin"
FOLDERS: Final = (HOME, SITE, SCRIPTS)
"""Folders that have an entry in the layer, or would have one if it had files there."""


@dataclass(frozen=True, kw_only=True)
class WheelLayer:
    """The layer of some requirements: its digests, its size in bytes and its line in the history of an image.

    `path` is its file. If it was written before, `source` is the repository that has it instead. `problems`
    are warnings.
    """

    digest: str
    diff_id: str
    size: int
    created_by: str
    path: Path | None = None
    source: str | None = None
    problems: tuple[Problem, ...] = ()


def add_to_paths(env: dict[str, str]) -> None:
    """Put the wheels first on PYTHONPATH, and their scripts first on PATH."""
    for name, folder in (("PYTHONPATH", f"/{SITE}"), ("PATH", f"/{SCRIPTS}")):
        parts = [part for part in env.get(name, "").split(":") if part and part != folder]
        env[name] = ":".join([folder, *parts])
