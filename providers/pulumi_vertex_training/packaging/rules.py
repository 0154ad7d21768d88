"""Which names are left out of every archive, and which are refused."""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from vertex_training.findings.problems import Problem

_LEFT_OUT_FOLDERS = frozenset({"__pycache__", "node_modules", "__MACOSX"})
_LEFT_OUT_FILES = frozenset({"Thumbs.db", "desktop.ini", "pip-log.txt"})
_LEFT_OUT_ENDINGS = (".pyc", ".pyo", ".egg-info", ".swp", ".swo", "~")
_BUILD_FOLDERS = frozenset({"dist", "build", "venv"})
_PLAIN = re.compile(r"[A-Za-z0-9_.+@=, -]+")


def is_left_out(name: str, *, folder: Path | None) -> bool:
    """Whether a file or folder of this name is never packed; `folder` is its path when it is a folder.

    Left out are hidden names (so .git, .venv, .DS_Store and every tool's cache), bytecode, metadata of
    installed packages, editors' swap and backup files, virtual environments, and folders named dist, build
    or venv unless they are packages.
    """
    if name.startswith(".") or name.endswith(_LEFT_OUT_ENDINGS) or (name[0] == name[-1] == "#"):
        return True
    if folder is None:
        return name in _LEFT_OUT_FILES
    if name in _LEFT_OUT_FOLDERS or _exists(folder / "pyvenv.cfg"):
        return True
    return name in _BUILD_FOLDERS and not _exists(folder / "__init__.py")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:
        return False


def matcher(patterns: Iterable[str]) -> Callable[[str, str], bool] | None:
    """Tells for (path, name) whether a pattern as of `fnmatch` fits either; None without patterns.

    `*` crosses slashes: `data/*.csv` fits `data/old/x.csv` too. A trailing slash is ignored.
    """
    expressions = [fnmatch.translate(pattern.rstrip("/")) for pattern in patterns]
    if not expressions:
        return None
    fits = re.compile("|".join(expressions)).match
    return lambda path, name: bool(fits(path) or fits(name))


def name_fault(name: str) -> str | None:
    """What makes a file name unfit for an archive, or None."""
    if _PLAIN.fullmatch(name):
        return None
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if "\\" in name:
        return "its name has a backslash"
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in name):
        return "its name has a control character or a line break"
    return None


def printable(path: str) -> str:
    """A path fit for a message: what is hostile in it is escaped."""
    return path if name_fault(path) is None else ascii(path)[1:-1]


def collisions(paths: Iterable[str]) -> Iterator[Problem]:
    """Files and folders that are one and the same where case or Unicode form does not count."""
    spellings: dict[str, str] = {}
    reported: set[str] = set()
    for path in sorted(paths):
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            folded = part if part.isascii() else unicodedata.normalize("NFC", part)
            known = spellings.setdefault(folded.casefold(), part)
            if known == part:
                continue
            if part not in reported:
                reported.add(part)
                message = (
                    f"differs from {printable(known)} only in case or Unicode form, so both cannot exist on "
                    "every machine. Rename one."
                )
                yield Problem(path=printable(part), message=message)
            break
