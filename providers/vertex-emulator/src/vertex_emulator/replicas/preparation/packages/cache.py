"""Installed Python packages of jobs, shared by all jobs, and their removal.

    venvs/KEY/packages/        the requirements of packages, in a virtual environment
    venvs/code/KEY/packages/   the packages themselves, which change more often
    venvs/.building-*/         a folder in which one installation takes place

Code of the packages runs in the last one alone. When none of its processes is left, the emulator moves the
result into the cache, and writes a marker beside it with its size and a fingerprint. An entry is valid only
with its marker, as long as its files have that fingerprint. The marker is touched at each use. Each job holds
a shared lock on its entries, which the kernel releases however the job ends; a locked entry is not removed.
Beyond `KEPT_BYTES`, the least recently used entries are removed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vertex_emulator.job_folder import folder
from vertex_emulator.kernel.disk import locks
from vertex_emulator.kernel.disk.trees import remove_tree

KEPT_BYTES = 10 * (1 << 30)
"""Bytes that installed packages may take together before the least recently used ones are removed."""

MARKER = "vertex-training.json"
CODE = "code"
PACKAGES = "packages"
_REMOVED = ".removed"
_BUILDING = ".building-"
_BYTECODE = "__pycache__"
_INSTALLERS = ".installers.lock"
_KEY = re.compile(r"[0-9a-f]{32}")
"""The name of an entry. Other folders beside them may be a person's, and stay."""
_ABANDONED = re.compile(rf"{re.escape(_BUILDING)}\w{{8}}")
"""The name of a folder of `tempfile.mkdtemp`."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An installed environment or package. `used` is the time of its last use, in seconds."""

    path: Path
    size: int
    used: float


@contextlib.contextmanager
def installing(venvs: Path) -> Iterator[None]:
    """Keep every entry from being removed while a job installs, and until it holds its own ones."""
    venvs.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.held(venvs / _INSTALLERS, fcntl.LOCK_SH):
        yield


def hold(entry: Path) -> int:
    """Keep an entry as long as the returned descriptor is open, and note its use. Raises `OSError`."""
    with contextlib.suppress(OSError):
        os.utime(entry / MARKER)
    return locks.hold(entry.with_name(f"{entry.name}.used"), fcntl.LOCK_SH)


def locked(entry: Path) -> AbstractContextManager[None]:
    """Keep other processes from filling an entry at the same time."""
    return locks.held(entry.with_name(f"{entry.name}.lock"))


@contextlib.contextmanager
def building(venvs: Path) -> Iterator[Path]:
    """Yield a new folder for one installation, and remove it at the end."""
    path = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=venvs))
    try:
        yield path
    finally:
        remove_tree(path)


def move_in(built: Path, entry: Path, content: Mapping[str, object]) -> None:
    """Make a folder that was built elsewhere the packages of an entry, which is locked.

    No process may be left that writes into the folder. Raises `OSError`, also for a folder with anything but
    files, folders and links.
    """
    if not stat.S_ISDIR(built.lstat().st_mode):  # a link leads elsewhere
        raise NotADirectoryError(errno.ENOTDIR, "no folder was built", str(built))
    digest = fingerprint(built)
    remove_tree(entry)
    entry.mkdir(parents=True)
    entry.chmod(0o755)  # replicas may be another user, and see the entry alone
    built.rename(entry / PACKAGES)
    finish(entry, {**content, "fingerprint": digest})


def marker_of(entry: Path) -> dict[str, Any] | None:
    """Return the marker of a complete entry whose files are those that were moved in, else None."""
    try:
        marker = folder.read_json(entry / MARKER)
        if isinstance(marker, dict) and marker["fingerprint"] == fingerprint(entry / PACKAGES):
            return marker
    except (OSError, ValueError, KeyError):
        pass
    return None


def fingerprint(tree: Path) -> str:
    """Return a hash of the names, kinds, modes, sizes and times of the files in a folder.

    Bytecode does not count, which plain processes write beside the files that they import. Raises `OSError`,
    also for a file of another kind.
    """
    lines = []
    for below, folders, names in os.walk(tree, onerror=_raise):
        folders[:] = sorted(each for each in folders if each != _BYTECODE)
        for name in (*folders, *names):
            path = Path(below, name)
            status = path.lstat()
            line = f"{os.path.relpath(path, tree)!a} {status.st_mode:o}"
            if stat.S_ISREG(status.st_mode):
                line += f" {status.st_size} {status.st_mtime_ns}"
            elif stat.S_ISLNK(status.st_mode):
                line += f" {str(path.readlink())!a}"
            elif not stat.S_ISDIR(status.st_mode):
                raise OSError(errno.EINVAL, "is neither a file nor a folder", str(path))
            lines.append(line)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _raise(error: OSError) -> None:
    raise error


def finish(entry: Path, content: Mapping[str, object]) -> None:
    """Write the marker of an entry that is complete. Raises `OSError`."""
    folder.write_json(entry / MARKER, {**content, "size": size_of(entry)})


def size_of(path: Path) -> int:
    """Return the bytes on the disk of a folder."""
    total = 0
    for below, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{below}/{name}").st_blocks * 512
    return total


def entries(venvs: Path) -> list[Entry]:
    """Return the complete entries of a data folder, the least recently used first."""
    listed = []
    for path in (*_folders(venvs), *_folders(venvs / CODE)):
        with contextlib.suppress(OSError, ValueError, TypeError):
            marker = folder.read_json(path / MARKER)
            if marker is not None:
                used = (path / MARKER).stat().st_mtime
                listed.append(Entry(path=path, size=int(marker.get("size", 0)), used=used))
    return sorted(listed, key=lambda entry: entry.used)


def clean(venvs: Path, *, keep_bytes: int = KEPT_BYTES) -> list[Path]:
    """Remove unfinished entries, and the least recently used ones beyond `keep_bytes`. Return their paths.

    Does nothing while a job installs packages.
    """
    try:
        end = locks.hold(venvs / _INSTALLERS, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return []
    try:
        complete = entries(venvs)
        known = {entry.path for entry in complete}
        gone = [path for path in (*_folders(venvs), *_folders(venvs / CODE)) if path not in known]
        total = sum(entry.size for entry in complete)
        for entry in complete:
            if total <= keep_bytes:
                break
            if _is_free(entry.path):
                gone.append(entry.path)
                total -= entry.size
        moved = [_moved(venvs, path) for path in (*gone, *_abandoned(venvs))]
    finally:
        os.close(end)
    for path in (*moved, *_removed_ones(venvs)):
        remove_tree(path)
    return gone


def _folders(path: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return [each for each in path.iterdir() if _KEY.fullmatch(each.name) and each.is_dir()]
    return []


def _moved(venvs: Path, path: Path) -> Path:
    """Rename an entry in one step: a killed removal leaves no partial one."""
    away = venvs / f"{_REMOVED}-{path.name}"
    remove_tree(away)
    path.rename(away)
    for suffix in ("lock", "used"):
        path.with_name(f"{path.name}.{suffix}").unlink(missing_ok=True)
    return away


def _removed_ones(venvs: Path) -> list[Path]:
    names = ((each, each.name.removeprefix(f"{_REMOVED}-")) for each in venvs.glob(f"{_REMOVED}-*"))
    return [each for each, name in names if _KEY.fullmatch(name) or _ABANDONED.fullmatch(name)]


def _abandoned(venvs: Path) -> list[Path]:
    """Return the folders of installations that were killed."""
    return [each for each in venvs.glob(f"{_BUILDING}*") if _ABANDONED.fullmatch(each.name)]


def _is_free(entry: Path) -> bool:
    try:
        return not locks.is_held(entry.with_name(f"{entry.name}.used"), fcntl.LOCK_EX)
    except OSError:
        return False
