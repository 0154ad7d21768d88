"""Paths in the clone and in the user's cache folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Folders of a clone. Only `cache` is outside of it.

    `folder` is the path of the Pulumi project below `root`.
    """

    root: Path
    local: Path
    cache: Path
    folder: str = ""

    @property
    def project(self) -> Path:
        """Folder with the Pulumi.yaml that a chore of a stack is about."""
        return self.root / self.folder

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def pulumi_home(self) -> Path:
        return self.local / "pulumi-home"

    @property
    def state(self) -> Path:
        return self.local / "state"

    @property
    def emulator(self) -> Path:
        return self.local / "emulator"

    @property
    def distributions(self) -> tuple[Path, ...]:
        """The folders of the four distributions, each after those that it needs."""
        names = ("vertex-cluster", "vertex-training", "vertex-emulator", "pulumi-vertex-training")
        return tuple(self.root / "providers" / name for name in names)

    @property
    def tools(self) -> Path:
        return self.root / "tools"


def layout(
    *, root: Path | None = None, local: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Layout:
    """Return the layout of this clone, or of the one at `root`. Tests move its state to `local`."""
    root = root or Path(__file__).resolve().parent.parent
    return Layout(root=root, local=local or root / ".local", cache=_cache_folder(environ))


def _cache_folder(environ: Mapping[str, str]) -> Path:
    """Return `$XDG_CACHE_HOME/vertex-training`, by default in `~/.cache` (XDG Base Directory rules)."""
    xdg = environ.get("XDG_CACHE_HOME", "")
    base = Path(xdg) if xdg.startswith("/") else Path.home() / ".cache"
    return base / "vertex-training"
