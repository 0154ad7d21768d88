"""The folders of unpacked images and layers: filled once, locked while used, removed when they take too much.

Every folder is filled under another name, and renamed in one step. Each user of a folder holds a shared lock,
which the kernel releases however the holder ends; a locked folder is not removed.

    images/KEY/root        the files
    images/KEY/image.json  their number and size; touched at each use
    images/KEY.lock        held while the folder is filled or removed
    images/KEY.used        held, shared, by the folder's users
    images/.new-*          unfinished, locked by the process that fills it
    images/.places.lock    held while such a folder is created or checked
    images/.packages/      links to packages of this machine, for images of Google (`image_packages`)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vertex_emulator.job_folder import folder
from vertex_emulator.kernel import machine_clock
from vertex_emulator.kernel.disk import locks
from vertex_emulator.kernel.disk.disk_space import size_text
from vertex_emulator.kernel.disk.trees import remove_tree

KEPT_BYTES = 20 * (1 << 30)
"""Bytes that unpacked images may take together before the least recently used ones are removed."""

_NEW = ".new-"
_UNFINISHED = re.compile(rf"{re.escape(_NEW)}[0-9a-f]{{16}}")
_FOLDERS_LOCK = ".places.lock"
_MARKER = "image.json"
_LOCKS = (".lock", ".used")
_KEY = re.compile(r"[0-9a-f]{32}")
_BLOCK = 4096

Document = Mapping[str, Any]
Fill = Callable[[Path], Document]
"""Fills an empty folder with files; returns the document about them."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The disk space of unpacked images, in bytes. Live jobs use `used` of the `folders`."""

    folders: int
    size: int
    used: int
    limit: int = KEPT_BYTES

    def __str__(self) -> str:
        taken = f"{size_text(self.size)} of at most {size_text(self.limit)}"
        return f"{taken}, {self.used} of {self.folders} in use"


def disk_bytes(*, entries: int, size: int) -> int:
    """Return about how much disk space files take: each takes a block more than its bytes at most."""
    return size + entries * _BLOCK


def root_of(images: Path, key: str) -> Path:
    """Return the folder of the files of a filled folder."""
    return images / key / "root"


def document_of(images: Path, key: str) -> Document | None:
    """Return the document about a filled folder, or None if it is not filled."""
    place = images / key
    return folder.read_json(place / _MARKER) if place.is_dir() else None


def shown_folders(images: Path, key: str) -> tuple[Path, ...] | None:
    """Return the folders that make up an unpacked image, the highest first; None if one is missing."""
    document = document_of(images, key)
    if document is None or any(document_of(images, each) is None for each in document["layers"]):
        return None
    below = tuple(root_of(images, each) for each in document["layers"])
    own = () if below and not document["entries"] else (root_of(images, key),)
    return (*own, *below)


def touch(images: Path, key: str) -> bool:
    """Record a use of an unpacked image. Return False if it is not unpacked completely. Raises `OSError`."""
    shown = shown_folders(images, key)
    for root in (*(shown or ()), *((root_of(images, key),) if shown else ())):
        os.utime(root.parent / _MARKER)
    return shown is not None


def hold(images: Path, key: str) -> int:
    """Keep a folder from being removed as long as the returned descriptor is open. Raises `OSError`."""
    images.mkdir(mode=0o700, parents=True, exist_ok=True)
    return locks.hold(images / f"{key}.used", fcntl.LOCK_SH)


def ensure(images: Path, key: str, fill: Fill) -> tuple[Document, bool]:
    """Fill a folder unless it is filled. Return the document about it, and whether it was filled now.

    The caller holds the folder. Raises `OSError` and the errors of `fill`.
    """
    images.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.held(images / f"{key}.lock"):
        place = images / key
        if (document := document_of(images, key)) is not None:
            os.utime(place / _MARKER)
            return document, False
        new, filling = _new_folder(images)
        try:
            document = fill(new / "root")
            folder.write_json(new / _MARKER, dict(document))
            remove_tree(place)
            new.rename(place)
        except BaseException:
            remove_tree(new)
            raise
        finally:
            os.close(filling)
    return document, True


def clean(images: Path, *, keep_bytes: int = KEPT_BYTES, seconds: float | None = None) -> None:
    """Remove unfinished folders, and the least recently used ones beyond `keep_bytes`. Raises `OSError`.

    Begin no removal of a filled folder after `seconds`: the rest stays for the next time.
    """
    started = machine_clock.monotonic()
    images.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.held(images / _FOLDERS_LOCK):
        for place in images.glob(f"{_NEW}*"):
            if _UNFINISHED.fullmatch(place.name) and _is_abandoned(place):
                remove_tree(place)
    folders = sorted(_filled(images))
    total = sum(size for _, size, _ in folders)
    for _, size, key in folders:
        if total <= keep_bytes or (seconds is not None and machine_clock.monotonic() - started >= seconds):
            break
        if _remove(images, key):
            total -= size
    _remove_locks(images)


def usage(images: Path) -> Usage:
    """Return the disk space that unpacked images take. Raises `OSError`."""
    folders = list(_filled(images)) if images.is_dir() else []
    used = sum(locks.is_held(images / f"{key}.used", fcntl.LOCK_EX) for _, _, key in folders)
    return Usage(folders=len(folders), size=sum(size for _, size, _ in folders), used=used)


def _filled(images: Path) -> Iterator[tuple[float, int, str]]:
    """Yield time of the last use, size and key of each filled folder."""
    for place in images.iterdir():
        if place.name.startswith(_NEW):
            continue
        with contextlib.suppress(FileNotFoundError):  # removed meanwhile
            if (document := document_of(images, place.name)) is not None:
                size = disk_bytes(entries=int(document["entries"]), size=int(document["size"]))
                yield (place / _MARKER).stat().st_mtime, size, place.name


def _new_folder(images: Path) -> tuple[Path, int]:
    """Create a folder to fill. Return it with the descriptor that locks it."""
    new = images / f"{_NEW}{secrets.token_hex(8)}"
    with locks.held(images / _FOLDERS_LOCK):
        (new / "root").mkdir(parents=True)
        (new / "root").chmod(0o755)
        descriptor = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return new, descriptor


def _is_abandoned(new: Path) -> bool:
    """Return whether the folder was abandoned, that is, no process holds its lock."""
    with contextlib.suppress(OSError):
        return not locks.is_held(new)
    return False


def _remove(images: Path, key: str) -> bool:
    """Remove a folder. Return False if it is in use."""
    with _only_user(images, key) as free:
        if free:
            away = images / f"{_NEW}{secrets.token_hex(8)}"
            (images / key).rename(away)  # one step: a killed removal leaves no partial folder
            remove_tree(away)
    return free


def _remove_locks(images: Path) -> None:
    """Remove the locks of folders that do not exist: one is made for every image that a job tries."""
    for key in {path.stem for path in images.iterdir() if path.suffix in _LOCKS}:
        if _KEY.fullmatch(key) and not (images / key).is_dir():
            with _only_user(images, key) as free:
                if free and not (images / key).is_dir():
                    for suffix in _LOCKS:
                        (images / f"{key}{suffix}").unlink(missing_ok=True)


@contextlib.contextmanager
def _only_user(images: Path, key: str) -> Iterator[bool]:
    """Lock a folder against all users, without waiting. Yield whether that was possible."""
    ends: list[int] = []
    try:
        for suffix in _LOCKS:
            ends.append(locks.hold(images / f"{key}{suffix}", fcntl.LOCK_EX | fcntl.LOCK_NB))
        free = True
    except BlockingIOError:
        free = False
    try:
        yield free
    finally:
        for end in ends:
            os.close(end)
