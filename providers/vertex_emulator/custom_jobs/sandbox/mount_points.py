"""Places in a replica's root to mount at, found without following a link: the files there are not ours.

Called in a child between fork and exec. While the host's /proc is there, an open descriptor is a path too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from vertex_emulator.custom_jobs.sandbox import namespaces as ns

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0
_FILE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0


@contextlib.contextmanager
def place(root: Path, path: str | Path, *, file: bool = False, create: bool = True) -> Iterator[str | None]:
    """A path that leads to `path` below `root`, whatever is mounted there; None where it is not there.

    Made where it is missing; a link in the last place makes way. Raises `OSError`, also for a link on the
    way.
    """
    descriptor = _open(root, path, file=file, create=create)
    if descriptor is None:
        yield None
        return
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def bind_at(
    root: Path, path: str | Path, source: str | Path, *, writable: bool = False, file: bool = False
) -> None:
    """Show `source` at `path` below `root`. Raises `OSError`."""
    with place(root, path, file=file) as target:
        ns.bind(source, str(target))
    if not writable:
        with place(root, path, file=file) as target:
            ns.set_read_only(str(target))


def _open(root: Path, path: str | Path, *, file: bool, create: bool) -> int | None:
    *parents, last = [part for part in str(path).split("/") if part not in ("", ".")]
    if ".." in (*parents, last):
        raise OSError(errno.EINVAL, "leads out of the replica's root", str(path))
    descriptor = os.open(root, _FOLDER)
    try:
        for part in parents:
            below = _step(descriptor, part, create=create)
            os.close(descriptor)
            descriptor = below
        if create:
            _make(descriptor, last, file=file)
        return os.open(last, _FILE if file else _FOLDER, dir_fd=descriptor)
    except FileNotFoundError:
        if create:
            raise
        return None
    except NotADirectoryError as error:
        if not create:
            return None
        raise OSError(
            errno.ENOTDIR, "a link or file is in the way in the replica's root", str(path)
        ) from error
    finally:
        os.close(descriptor)


def _step(descriptor: int, part: str, *, create: bool) -> int:
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, 0o755, dir_fd=descriptor)
    return os.open(part, _FOLDER, dir_fd=descriptor)


def _make(directory: int, name: str, *, file: bool) -> None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        status = None
    if status is not None and stat.S_ISLNK(status.st_mode):
        os.unlink(name, dir_fd=directory)
        status = None
    if status is None and file:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=directory))
    elif status is None:
        os.mkdir(name, 0o755, dir_fd=directory)
