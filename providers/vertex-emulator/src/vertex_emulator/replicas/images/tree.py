"""The folder into which an image is unpacked: nothing outside of it changes, whatever its entries are.

Every path is walked one component at a time from the folder's own descriptor. Symbolic links are resolved by
us, within the folder: the kernel never follows one. Owners, set-user-id bits and extended attributes are
dropped; devices and FIFOs are skipped and counted.

Rules of whiteouts: OCI image specification, "Image Layer Filesystem Changeset".
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vertex_emulator.replicas.images.image import ImageError
from vertex_emulator.replicas.images.tar_stream import Entry

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_at(directory: int, name: str) -> None:
    """Remove an entry of a folder with all below it; links are not followed. Raises `OSError`."""
    status = lstat(name, directory)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=directory)
        return
    below = os.open(name, FOLDER, dir_fd=directory)
    try:
        for entry in os.listdir(below):  # noqa: PTH208 - a descriptor
            remove_at(below, entry)
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=directory)


def lstat(name: str, directory: int) -> os.stat_result | None:
    """Return the status of an entry, or None if it does not exist."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def ignores_case(folder: Path) -> bool:
    """Return whether the file system ignores case in names; tried in an empty folder."""
    probe = folder / "case-a"
    probe.touch()
    try:
        return (folder / "CASE-A").exists()
    finally:
        probe.unlink()


MAX_ENTRIES = 2_000_000
MAX_BYTES = 200 * (1 << 30)
RESERVED_BYTES = 256 * (1 << 20)
"""Bytes that unpacking leaves free on the disk."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_COMPONENT, _MAX_PATH, _MAX_DEPTH, _MAX_LINKS = 255, 4095, 200, 40
_WHITEOUT, _AUFS, _OPAQUE = ".wh.", ".wh..wh.", ".wh..wh..opq"

Parts = tuple[str, ...]
Create = Literal["never", "missing", "always"]
"""The folders of a path to create; "always" also replaces files that are in the way."""


@dataclass(kw_only=True)
class Unpacked:
    """The result: `size` counts the bytes of files; `skipped` counts devices and FIFOs."""

    entries: int = 0
    size: int = 0
    skipped: int = 0


@dataclass(kw_only=True)
class Limits:
    """The limits of an image."""

    entries: int = MAX_ENTRIES
    size: int = MAX_BYTES


@dataclass(kw_only=True)
class OpenFolder:
    """The folder at a path: its own path without links, and a descriptor that is closed at the end."""

    path: Parts
    descriptor: int

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


@dataclass
class Tree:
    """An empty folder that is filled entry by entry."""

    root: Path
    limits: Limits
    ignores_case: bool | None = None  # None to try the file system
    done: Unpacked = field(default_factory=Unpacked)  # what other layers of the image have taken already
    _layer_name: str = ""
    _layer: set[Parts] = field(default_factory=set)  # paths that this layer has added
    _spellings: dict[str, Parts] | None = None
    _last: tuple[Parts, OpenFolder] | None = None  # cache: archives go folder by folder
    _top: int = -1
    _whiteouts_create: Create = "never"

    def __post_init__(self) -> None:
        self._top = os.open(self.root, FOLDER)
        if ignores_case(self.root) if self.ignores_case is None else self.ignores_case:
            self._spellings = {}
        self.limits.size = min(self.limits.size, max(shutil.disk_usage(self.root).free - RESERVED_BYTES, 0))

    def close(self) -> None:
        """Close the descriptors."""
        self._close_last()
        os.close(self._top)

    def begin(self, what: str) -> None:
        """Begin a layer."""
        self._layer_name = what
        self._layer.clear()

    def add(self, entry: Entry, content: Iterator[bytes]) -> None:
        """Add an entry of the layer. Raises `ImageError`, `OSError`."""
        self.done.entries += 1
        self.done.size += entry.size
        if self.done.entries > self.limits.entries:
            raise ImageError(
                f"{self._layer_name} has too many entries: at most {self.limits.entries} are unpacked"
            )
        if self.done.size > self.limits.size:
            raise ImageError(
                f"{self._layer_name} is too large: only {self.limits.size >> 20} MiB are free for the image "
                f"on this disk; free some more ({self.root})"
            )
        path = self._components(entry.name)
        if not path or any(part.startswith(_AUFS) for part in path[:-1]):
            return  # the root itself, or metadata of the old aufs driver
        try:
            self._put(path, entry, content)
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ELOOP):
                raise self._error(entry.name, os.strerror(error.errno)) from None
            raise

    def _put(self, path: Parts, entry: Entry, content: Iterator[bytes]) -> None:
        parent, name = path[:-1], path[-1]
        if name.startswith(_WHITEOUT):
            self._whiteout(parent, name, entry)
            return
        if entry.kind == "device":
            self.done.skipped += 1
            return
        with self._create_folders(parent, entry.name) as folder:
            own = (*folder.path, name)
            self._check_case(own, entry.name)
            status = lstat(name, folder.descriptor)
            if entry.kind == "directory" and status is not None and stat.S_ISDIR(status.st_mode):
                self._set_mode(folder.descriptor, name, entry)
            elif entry.kind == "hardlink":
                self._hard_link(folder, name, entry)
            else:
                self._make(folder, name, entry, content, replaced=status is not None)
        self._record(own, entry)

    def _record(self, own: Parts, entry: Entry) -> None:  # noqa: ARG002
        """Record what the layer has added."""
        while own and own not in self._layer:
            self._layer.add(own)
            own = own[:-1]

    def _make(
        self, folder: OpenFolder, name: str, entry: Entry, content: Iterator[bytes], *, replaced: bool
    ) -> None:
        if replaced:
            self._remove(folder.descriptor, name)
        if entry.kind == "directory":
            self._make_folder(folder.descriptor, name, replaced=replaced)
            self._set_mode(folder.descriptor, name, entry)
        elif entry.kind == "symlink":
            if "\0" in entry.target or not entry.target:
                raise self._error(entry.name, "its target is not a path")
            os.symlink(entry.target, name, dir_fd=folder.descriptor)
            self._close_last()
        else:
            descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folder.descriptor)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                for chunk in content:
                    view = memoryview(chunk)
                    while view:  # an almost full disk accepts only a part
                        view = view[file.write(view) :]
                os.fchmod(descriptor, entry.mode & 0o777 | 0o600)
                os.utime(descriptor, (entry.mtime, entry.mtime))

    def _make_folder(self, directory: int, name: str, *, replaced: bool) -> None:  # noqa: ARG002
        """Create a folder; `replaced`: in place of an entry that was removed."""
        os.mkdir(name, 0o755, dir_fd=directory)

    def _imply(self, own: Parts, create: Create) -> None:
        """Record a folder that was created without an entry."""

    def _set_mode(self, directory: int, name: str, entry: Entry) -> None:
        descriptor = os.open(name, FOLDER, dir_fd=directory)
        try:
            os.fchmod(descriptor, entry.mode & 0o777 | 0o700)
        finally:
            os.close(descriptor)

    def _hard_link(self, folder: OpenFolder, name: str, entry: Entry) -> None:
        target = self._components(entry.target)
        source = self._folder(target[:-1], entry.name, create="never") if target else None
        if source is None:
            raise self._error(entry.name, f"it is a link to {entry.target!r}, which does not exist")
        with source:
            status = lstat(target[-1], source.descriptor)
            if status is None or stat.S_ISDIR(status.st_mode) or stat.S_ISCHR(status.st_mode):
                raise self._error(entry.name, f"it is a link to {entry.target!r}, which is not a file")
            present = lstat(name, folder.descriptor)
            if present is not None and (present.st_dev, present.st_ino) == (status.st_dev, status.st_ino):
                return
            if present is not None:
                self._remove(folder.descriptor, name)
            try:
                os.link(
                    target[-1],
                    name,
                    src_dir_fd=source.descriptor,
                    dst_dir_fd=folder.descriptor,
                    follow_symlinks=False,
                )
            except FileNotFoundError:
                raise self._error(entry.name, f"it would replace its own target, {entry.target!r}") from None

    # Whiteouts

    def _whiteout(self, parent: Parts, name: str, entry: Entry) -> None:
        hidden = name[len(_WHITEOUT) :]
        if hidden in ("", ".", ".."):
            raise self._error(entry.name, "it does not name a file to remove")
        if name.startswith(_AUFS) and name != _OPAQUE:
            return
        folder = self._folder(parent, entry.name, create=self._whiteouts_create)
        if folder is None:
            return
        with folder:
            if name == _OPAQUE:
                self._clear(folder.descriptor, folder.path)
            else:
                self._hide(folder.descriptor, (*folder.path, hidden))

    def _clear(self, directory: int, path: Parts) -> None:
        """Remove from a folder all entries that this layer has not added."""
        for name in os.listdir(directory):
            self._hide(directory, (*path, name))

    def _hide(self, directory: int, own: Parts) -> None:
        """Remove an entry of a folder, except for what this layer has added."""
        name = own[-1]
        status = lstat(name, directory)
        if status is None:
            return
        if own not in self._layer:
            self._remove(directory, name)
        elif stat.S_ISDIR(status.st_mode):
            below = os.open(name, FOLDER, dir_fd=directory)
            try:
                self._clear(below, own)
            finally:
                os.close(below)

    def _remove(self, directory: int, name: str) -> None:
        self._close_last()
        remove_at(directory, name)

    # Paths

    def _components(self, name: str) -> Parts:
        """Split a name in an archive into components; a leading / means the image's root."""
        if "\0" in name or len(os.fsencode(name)) > _MAX_PATH:
            raise self._error(name, "it is not a valid path")
        parts = tuple(part for part in name.split("/") if part not in ("", "."))
        if ".." in parts:
            raise self._error(name, "it leads out of the image by '..'")
        if len(parts) > _MAX_DEPTH or any(len(os.fsencode(part)) > _MAX_COMPONENT for part in parts):
            raise self._error(name, "it is not a valid path")
        return parts

    def _create_folders(self, path: Parts, name: str) -> OpenFolder:
        """Return the folder at a path, with links resolved inside the root; create missing folders."""
        folder = self._folder(path, name, create="always")
        assert folder is not None  # noqa: S101 - it was made
        return folder

    def _folder(self, path: Parts, name: str, *, create: Create) -> OpenFolder | None:
        if self._last is None or self._last[0] != path:
            folder = self._walk(path, name, create=create)
            if folder is None:
                return None
            self._close_last()
            self._last = (path, folder)
        last = self._last[1]
        return OpenFolder(path=last.path, descriptor=os.dup(last.descriptor))

    def _walk(self, path: Parts, name: str, *, create: Create) -> OpenFolder | None:
        pending = list(reversed(path))
        stack = [os.dup(self._top)]
        own: list[str] = []
        links = 0
        try:
            while pending:
                part = pending.pop()
                if part in ("", "."):
                    continue
                if part == "..":
                    if own:
                        own.pop()
                        os.close(stack.pop())
                    continue
                status, is_new = lstat(part, stack[-1]), False
                if status is not None and stat.S_ISLNK(status.st_mode):
                    links += 1
                    if links > _MAX_LINKS:
                        raise self._error(name, "its folder is a link to itself")
                    target = os.readlink(part, dir_fd=stack[-1])
                    if target.startswith("/"):
                        while own:
                            own.pop()
                            os.close(stack.pop())
                    pending += reversed(target.split("/"))
                    continue
                if status is None or not stat.S_ISDIR(status.st_mode):
                    if create == "never" or (create == "missing" and status is not None):
                        return None
                    if status is not None:  # a folder replaces a file
                        self._remove(stack[-1], part)
                    self._check_case((*own, part), name)
                    self._make_folder(stack[-1], part, replaced=status is not None)
                    self._imply((*own, part), create)
                    is_new = True
                if len(own) >= _MAX_DEPTH:
                    raise self._error(name, "it is too deep")
                stack.append(os.open(part, FOLDER, dir_fd=stack[-1]))
                own.append(part)
                if is_new:
                    os.fchmod(stack[-1], 0o755)
            return OpenFolder(path=tuple(own), descriptor=stack.pop())
        finally:
            for descriptor in stack:
                os.close(descriptor)

    def _close_last(self) -> None:
        if self._last is not None:
            os.close(self._last[1].descriptor)
            self._last = None

    def _check_case(self, own: Parts, name: str) -> None:
        """Check that two names do not become one on a file system that ignores case."""
        if self._spellings is None:
            return
        known = self._spellings.setdefault("/".join(own).casefold(), own)
        if known != own:
            raise self._error(name, f"this file system cannot distinguish it from {'/'.join(known)!r}")

    def _error(self, name: str, why: str) -> ImageError:
        shown = name if len(name) <= 200 else f"{name[:200]}..."
        return ImageError(f"{self._layer_name} has the entry {shown!r}, which cannot be unpacked: {why}")
