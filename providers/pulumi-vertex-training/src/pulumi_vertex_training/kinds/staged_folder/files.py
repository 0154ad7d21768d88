"""The files of a local folder: those that are staged, left out or refused, and their hashes."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pulumi_vertex_training.kinds.staged.manifest import FolderFile, some
from pulumi_vertex_training.kinds.staged.spec import object_name_faults
from pulumi_vertex_training.packaging import globs
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.files import check_links, printable
from pulumi_vertex_training.packaging.globs import Glob
from pulumi_vertex_training.packaging.package import file_digest
from pulumi_vertex_training.parallel import call_each
from vertex_training.findings.problems import Problem, errors
from vertex_training.findings.words import counted

MAX_FILES = 100_000
"""The most files of a folder: more are a mistake in `source`, or data that training reads too slowly."""

MAX_PROBLEMS = 100
"""The walk stops after so many problems."""

_HASHERS = 8
_DEFAULT = ("**",)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The files of a folder by their relative paths, with hashes.

    `left_out` describes hidden files and empty folders, "" without any. `warnings` are about patterns.
    """

    local: dict[str, Path]
    files: tuple[FolderFile, ...]
    left_out: str
    warnings: tuple[Problem, ...]


def listing(
    source: Path,
    *,
    prefix: str,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    changing: bool = False,
) -> Listing:
    """Return the files to stage below an object of the bucket's folder `prefix`, by reading all of them.

    `changing`: a file that is gone between walk and read is reported as a change during the deployment.
    Raises PackagingError with every problem.
    """
    walk = _walked(source, prefix=prefix, include=include, exclude=exclude)
    read = call_each(_read, walk.local.items(), at_once=_HASHERS)
    failed = [one for one in read if isinstance(one, Problem)]
    if failed and changing:
        paths = some(one.path for one in failed)
        message = f"changed during the deployment: {paths}. When nothing writes to it, run `pulumi up` again."
        raise PackagingError([Problem(path="source", message=f"{source} {message}")])
    if failed:
        raise PackagingError(failed[:MAX_PROBLEMS])
    return Listing(
        local=walk.local,
        files=tuple(one for one in read if isinstance(one, FolderFile)),
        left_out=walk.left_out(),
        warnings=tuple(walk.problems),
    )


def _read(item: tuple[str, Path]) -> FolderFile | Problem:
    path, file = item
    try:
        status = file.stat()
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        return _digest(file.absolute(), key, path)
    except PackagingError as error:
        return Problem(path=printable(path), message=error.problems[0].message)
    except OSError as error:
        return Problem(path=printable(path), message=f"cannot be read: {error.strerror}. Exclude it.")


@functools.lru_cache(maxsize=2 * MAX_FILES)
def _digest(file: Path, _status: tuple[int, ...], path: str) -> FolderFile:
    """Hash a file, once as long as its status stays the same: check and create of a deployment both ask."""
    found = file_digest(file, crc32c=True)
    return FolderFile(path=path, size=found.size, crc32c=found.crc32c or "", sha256=found.sha256)


@dataclass(kw_only=True)
class _Walk:
    """The result of a walk so far.

    `roots` are the folders, free of links, that no link may leave. `takes_all`: no `include` was given.
    """

    prefix: str
    roots: tuple[Path, ...]
    include: tuple[Glob, ...]
    exclude: tuple[Glob, ...]
    takes_all: bool
    local: dict[str, Path] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, path: str, message: str) -> None:
        self.problems.append(Problem(path=printable(path), message=message))

    def is_over(self) -> bool:
        return len(self.problems) >= MAX_PROBLEMS or len(self.local) > MAX_FILES

    def is_excluded(self, path: str) -> bool:
        return globs.any_matches(self.exclude, path)

    def left_out(self) -> str:
        """Describe what is not staged although no pattern excludes it."""
        parts = []
        if self.hidden:
            named = f"{some(map(printable, self.hidden))}; to stage one, add a pattern such as **/.zarray"
            parts.append(f"{counted(len(self.hidden), 'hidden name')} ({named})")
        if self.empty:
            named = f"{some(map(printable, self.empty))}; Cloud Storage has no folders"
            parts.append(f"{counted(len(self.empty), 'empty folder')} ({named})")
        return " and ".join(parts)


def _walked(source: Path, *, prefix: str, include: Sequence[str], exclude: Sequence[str]) -> _Walk:
    """Walk the folder. Raises PackagingError with every error; warnings stay in the walk."""
    check_links(Path.cwd(), source)
    included, problems = globs.read(include or _DEFAULT, "include", takes_hidden=False)
    excluded, more = globs.read(exclude, "exclude", takes_hidden=True)
    problems += more
    if not source.is_dir():
        what = "is a file. Use StagedFile for it" if source.exists() else "does not exist. Correct the path"
        problems.append(Problem(path="source", message=f"{printable(str(source))} {what}."))
    if problems:
        raise PackagingError(problems)
    real, project = Path(os.path.realpath(source)), Path(os.path.realpath(Path.cwd()))
    roots = (real, project) if real.is_relative_to(project) else (real,)
    walk = _Walk(prefix=prefix, roots=roots, include=included, exclude=excluded, takes_all=not include)
    _enter(walk, source, "", (real,))
    if len(walk.local) > MAX_FILES:
        message = (
            f"{printable(str(source))} has more than {MAX_FILES:,} files. Correct the path, or pack "
            "them into archives or TFRecord files: training reads those faster as well."
        )
        walk.problems.append(Problem(path="source", message=message))
    elif not walk.local and not walk.problems:
        given = printable(str(source))
        if include or exclude:
            message = f"include and exclude leave no file of {given}. Correct the patterns."
        else:
            left_out = walk.left_out()
            message = (
                f"{given} has no files, only {left_out}." if left_out else f"{given} is empty. Add files."
            )
        walk.problems.append(Problem(path="source", message=message))
    else:
        walk.problems += [
            Problem(path=f"include[{index}]", message=f"{glob.text} matches no file.", level="warning")
            for index, glob in enumerate(included)
            if include and not any(map(glob.matches, walk.local))
        ]
    if errors(walk.problems):
        raise PackagingError(walk.problems)
    return walk


def _enter(walk: _Walk, folder: Path, inside: str, above: tuple[Path, ...]) -> None:
    """Walk the files of a folder. `inside` is its relative path with a slash at its end, or ""."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        walk.refuse(inside or "source", f"cannot be read: {error.strerror}. Make it readable, or exclude it.")
        return
    if not entries and inside:
        walk.empty.append(inside)
    for entry in entries:
        if walk.is_over():
            return
        _take(walk, entry, inside + entry.name, above)


def _take(walk: _Walk, entry: os.DirEntry[str], path: str, above: tuple[Path, ...]) -> None:
    """Walk one entry of a folder, unless the patterns leave it out."""
    if walk.is_excluded(path):
        return
    is_folder = _is_folder(entry)
    wanted = (glob.may_match_below(path) if is_folder else glob.matches(path) for glob in walk.include)
    if not any(wanted):
        if walk.takes_all:
            walk.hidden.append(f"{path}/" if is_folder else path)
        return
    if entry.is_symlink() and (fault := _fault_of_link(walk, Path(entry.path), above)):
        walk.refuse(path, fault)
    elif is_folder:
        real = Path(os.path.realpath(entry.path))
        _enter(walk, Path(entry.path), f"{path}/", (*above, real))
    elif fault := _fault_of_file(walk, Path(entry.path), path):
        walk.refuse(path, fault)
    else:
        walk.local[path] = Path(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # reported as a file that cannot be read


def _fault_of_link(walk: _Walk, link: Path, above: tuple[Path, ...]) -> str | None:
    """Return why a link is not followed, or None. It may lead to anything in the project or the source."""
    real = Path(os.path.realpath(link))
    shown = printable(str(link.readlink()))
    if not any(real.is_relative_to(root) for root in walk.roots):
        return f"is a link out of the project, to {shown}. Replace it by a copy, or exclude it."
    if real in above:
        return f"is a link to {shown}, a folder that it is in. Remove it, or exclude it."
    if not real.exists():
        return f"is a link to {shown}, which does not exist. Remove it, or exclude it."
    return None


def _fault_of_file(walk: _Walk, file: Path, path: str) -> str | None:
    """Return why a file cannot be staged, or None."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8, which Cloud Storage requires. Rename it, or exclude it."
    if faults := object_name_faults(f"{walk.prefix}/{'0' * 16}/{path}"):
        return f"{faults[0]}. Rename it, or exclude it."
    try:
        status = file.stat()
    except OSError as error:
        return f"cannot be read: {error.strerror}. Make it readable, or exclude it."
    if not stat.S_ISREG(status.st_mode):
        return "is neither a file nor a folder. Exclude it."
    if not os.access(file, os.R_OK):
        return "cannot be read: permission denied. Make it readable, or exclude it."
    return None
