"""The caches of builds with Go, in the cache folder of this project instead of the home folder.

A build of the CLI deletes them at its end. Once a program of `make tools` was built, they stay until
`make clean`: the tests of programs in Go compile against the same modules.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

FOLDER = "go"
_KEPT = "kept-for-tests"


def environment(cache: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment with these caches, without workspace and flags of other projects."""
    folder = cache / FOLDER
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        **environ,
        "GOMODCACHE": str(folder / "modules"),
        "GOCACHE": str(folder / "packages"),
        "GOTMPDIR": str(temporary),
        "GOFLAGS": "-modcacherw",  # else nothing can delete a folder of a module
        "GOWORK": "off",
    }


def environment_of_tools(cache: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the same environment for a program of `make tools`, after whose build the caches stay."""
    env = environment(cache, environ)
    (cache / FOLDER / _KEPT).touch()
    return env


def delete(cache: Path) -> None:
    """Delete the caches, unless they are kept."""
    folder = cache / FOLDER
    if folder.is_dir() and not (folder / _KEPT).exists():
        away = cache / f".old-{FOLDER}-{secrets.token_hex(4)}"
        folder.rename(away)  # one step: another clone's build never uses half of it
        shutil.rmtree(away)
