"""List the files of a source: those that are packed, excluded or rejected."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pulumi_vertex_training.packaging.archive import LARGEST_FILE, Entry, unreadable
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem

_LEFT_OUT_FOLDERS = frozenset({"__pycache__", "node_modules", "__MACOSX"})
_LEFT_OUT_FILES = frozenset({"Thumbs.db", "desktop.ini", "pip-log.txt"})
_LEFT_OUT_ENDINGS = (".pyc", ".pyo", ".egg-info", ".swp", ".swo", "~")
_BUILD_FOLDERS = frozenset({"dist", "build", "venv"})
_PLAIN = re.compile(r"[A-Za-z0-9_.+@=, -]+")


def is_left_out(name: str, *, folder: Path | None) -> bool:
    """Return whether a file or folder of this name is never packed; `folder` is its path if it is a folder.

    Excluded are hidden names (such as .git, .venv, .DS_Store and caches of tools), bytecode, metadata of
    installed packages, swap and backup files of editors, virtual environments, and folders named dist, build
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
    """Return a predicate of (path, name): whether a `fnmatch` pattern matches either. None without patterns.

    `*` matches slashes: `data/*.csv` matches `data/old/x.csv` too. A trailing slash is ignored.
    """
    expressions = [fnmatch.translate(pattern.rstrip("/")) for pattern in patterns]
    if not expressions:
        return None
    fits = re.compile("|".join(expressions)).match
    return lambda path, name: bool(fits(path) or fits(name))


def name_fault(name: str) -> str | None:
    """Return the reason why no archive can have a file of this name, or None."""
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
    """Return a path for a message, with control characters and the like escaped."""
    return path if name_fault(path) is None else ascii(path)[1:-1]


def collisions(paths: Iterable[str]) -> Iterator[Problem]:
    """Report files and folders that are the same if case or Unicode form is ignored."""
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


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The files below a folder, with relative paths; `left_out` counts excluded files and whole folders."""

    files: tuple[Entry, ...]
    left_out: int
    problems: tuple[Problem, ...]


@dataclass(kw_only=True)
class _Walk:
    """The result of a walk so far; `budget` is the rest of the limit, in bytes."""

    root: str
    leaves_out: Callable[[str, str], bool] | None
    budget: int
    files: list[Entry] = field(default_factory=list)
    left_out: int = 0
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, path: str, message: str) -> None:
        self.problems.append(Problem(path=printable(path), message=message))


def list_files(root: Path, *, exclude: Sequence[str] = (), limit: int) -> Listing:
    """Return the files below `root` to pack; a link that stays inside `root` is replaced by its target.

    `exclude` has patterns of `fnmatch` for relative paths and bare names. The walk stops once the files
    exceed `limit` bytes, so the listing is then larger than that.
    """
    real = os.path.realpath(root)
    walk = _Walk(root=real, leaves_out=matcher(exclude), budget=limit)
    _enter(walk, real, "", (real,))
    return Listing(files=tuple(walk.files), left_out=walk.left_out, problems=tuple(walk.problems))


def _enter(walk: _Walk, folder: str, prefix: str, above: tuple[str, ...]) -> None:
    """Add a folder to the walk: `prefix` is its path in the listing, `above` the real paths down to it."""
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        walk.problems.append(unreadable(printable(prefix.rstrip("/") or "source"), error))
        return
    for entry in ordered:
        if walk.budget < 0:
            return
        path = prefix + entry.name
        if walk.leaves_out and walk.leaves_out(path, entry.name):
            walk.left_out += 1
        elif entry.is_symlink():
            _follow(walk, entry, path, above)
        elif entry.is_dir(follow_symlinks=False):
            _take_folder(walk, entry.path, entry.name, path, above)
        else:
            _take_file(walk, entry.path, entry.name, path)


def _follow(walk: _Walk, link: os.DirEntry[str], path: str, above: tuple[str, ...]) -> None:
    target = os.path.realpath(link.path)
    if is_left_out(link.name, folder=Path(link.path) if Path(link.path).is_dir() else None):
        walk.left_out += 1
    elif target != walk.root and not target.startswith(walk.root.rstrip(os.sep) + os.sep):
        shown = printable(str(Path(link.path).readlink()))
        walk.refuse(path, f"is a link to {shown}, outside the source. Replace it by a copy, or exclude it.")
    elif not os.path.lexists(target):
        shown = printable(str(Path(link.path).readlink()))
        walk.refuse(path, f"is a link to {shown}, which does not exist. Remove it or leave it out.")
    elif Path(target).is_symlink() or target in above:
        walk.refuse(path, "is a link that leads back to itself. Remove it or leave it out.")
    elif Path(target).is_dir():
        _take_folder(walk, target, link.name, path, above)
    else:
        _take_file(walk, target, link.name, path)


def _take_folder(walk: _Walk, folder: str, name: str, path: str, above: tuple[str, ...]) -> None:
    if is_left_out(name, folder=Path(folder)):
        walk.left_out += 1
    elif fault := name_fault(name):
        walk.refuse(path, f"is rejected: {fault}. Rename it or leave it out.")
    else:
        _enter(walk, folder, path + "/", (*above, folder))


def _take_file(walk: _Walk, file: str, name: str, path: str) -> None:
    if is_left_out(name, folder=None):
        walk.left_out += 1
    elif fault := name_fault(name):
        walk.refuse(path, f"is rejected: {fault}. Rename it or leave it out.")
    else:
        walk.files.extend(_checked(walk, Path(file), path))


def _checked(walk: _Walk, file: Path, path: str) -> Iterator[Entry]:
    try:
        entry = file_entry(file, path)
    except OSError as error:
        walk.problems.append(unreadable(path, error))
        return
    if isinstance(entry, Problem):
        walk.problems.append(entry)
        return
    walk.budget -= entry.size + 512
    yield entry


def file_entry(file: Path, path: str) -> Entry | Problem:
    """Return the entry of a file, or why it cannot be packed. Raises OSError if it cannot be examined."""
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        message = f"is {_kind(status.st_mode)}, not a file. Give a file, or leave it out."
        return Problem(path=path, message=message)
    if not os.access(file, os.R_OK):
        return unreadable(path, PermissionError(0, "permission denied"))
    if status.st_size > LARGEST_FILE:
        message = (
            f"has {status.st_size} bytes; a file in an archive has at most {LARGEST_FILE}. Leave it out."
        )
        return Problem(path=path, message=message)
    return Entry(path=path, content=file, size=status.st_size, executable=bool(status.st_mode & stat.S_IXUSR))


def check_links(project: Path, *paths: Path) -> None:
    """Check that no link leads out of the folder `project`: it could pack any file of this machine.

    Raises PackagingError.
    """
    if problems := [problem for path in paths if (problem := _link_outside(path, project))]:
        raise PackagingError(problems)


def _link_outside(path: Path, project: Path) -> Problem | None:
    """Return the problem of a path in the folder `project` that a link leads out of it, or None.

    A path that names a file elsewhere by itself, such as `../data`, is no surprise.
    """
    given = Path(os.path.normpath(project / path))
    real = Path(os.path.realpath(given))
    if not given.is_relative_to(project) or real.is_relative_to(os.path.realpath(project)):
        return None
    message = (
        f"{printable(str(path))} is a link out of the project, to {printable(str(real))}. Give that path "
        "itself, or replace the link by a copy."
    )
    return Problem(path="source", message=message)


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFSOCK: "a socket",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFDIR: "a folder",
    }
    return kinds.get(stat.S_IFMT(mode), "a special file")
