"""The files of objects, at their natural path in the bucket's folder or aside, and copies of them.

Replicas see a bucket's folder at /gcs/BUCKET and may write anything there, so it is not trusted: paths are
walked one component at a time without following symbolic links, and only regular files and folders count.

A live object's file never has a second name, because a program that writes in place under /gcs would then
change two objects.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.kernel.disk.trees import mounts_in, remove_empty, remove_tree
from vertex_emulator.services.storage.disk import folders
from vertex_emulator.services.storage.disk.folders import FOLDER, Components, is_folder
from vertex_emulator.services.storage.disk.records import FileState, RecordedState
from vertex_emulator.services.storage.names import MAX_OBJECT_NAME

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_UNREACHABLE = (*_ABSENT, errno.EACCES)
"""Errors that hide one path. A folder without permissions must not break the whole bucket."""
_MAX_COMPONENT = 255
_MAX_BYTES = 4
"""The most bytes of a character in UTF-8."""
_NOT_FILES = frozenset({"", ".", ".."})
_REMOVED = ".removed-"
_EXPECTED = "buckets.json"
_ASIDE = re.compile(r"[0-9a-f]{64}")
_INCOMING = re.compile(rf"[0-9a-f]+|{re.escape(_REMOVED)}[0-9a-f]{{16}}|case-[0-9a-f]{{16}}|{_EXPECTED}")

StepHook = Callable[[str], object]
"""Called with the name of a store's internal step right before the step. Tests interrupt a store with it."""


def natural_path(name: str) -> Components | None:
    """Return the path components of an object's name, or None if it is impossible for a file or folder.

    The last component of a folder's name, which has a slash at its end, is "".
    """
    components = tuple(name.split("/"))
    if "\0" in name or not _NOT_FILES.isdisjoint(components[:-1] if name.endswith("/") else components):
        return None
    if len(name) <= _MAX_COMPONENT // _MAX_BYTES:
        return components
    too_long = any(len(part.encode("utf-8")) > _MAX_COMPONENT for part in components)
    return None if too_long else components


def aside_name(bucket: str, name: str, generation: int) -> str:
    """Return the file name of one generation in the folder objects-aside."""
    return hashlib.sha256(f"{bucket}/{name}#{generation}".encode()).hexdigest()


def is_aside(path: Path) -> bool:
    """Return whether a path in objects-aside has the name of the emulator's files there."""
    return _ASIDE.fullmatch(path.name) is not None


def is_incoming(path: Path) -> bool:
    """Return whether a path in objects-incoming has the name of the emulator's files there."""
    return _INCOMING.fullmatch(path.name) is not None


class ObjectFiles:
    """The files of all buckets of one data folder."""

    def __init__(self, folder: DataFolder, *, step_hook: StepHook | None = None) -> None:
        self.folder = folder
        self._buckets = f"{folder.buckets}{os.sep}"
        self._step_hook = step_hook
        self._ignores_case = _ignores_case(folder.incoming)

    def step(self, name: str) -> None:
        """Call the step hook, if there is one."""
        if self._step_hook is not None:
            self._step_hook(name)

    # Buckets

    def make_bucket(self, bucket: str) -> None:
        """Create the bucket's folder. Anything else that a replica put in its place stays, unused."""
        with suppress(FileExistsError):
            (self.folder.buckets / bucket).mkdir()

    def remove_bucket(self, bucket: str) -> None:
        """Remove the bucket's folder with the empty folders, links and special files in it."""
        self.step("remove bucket folder")
        remove_tree(self.folder.buckets / bucket)

    def move_away(self, path: Path) -> Path:
        """Move a bucket's folder away, and return its new path. The next start removes what is left there.

        A folder in which a file system is mounted stays, and so does what is mounted.
        """
        if mounts_in(path):
            return path
        target = self.folder.incoming / f"{_REMOVED}{secrets.token_hex(8)}"
        try:
            path.rename(target)
        except OSError:  # a program removed the permissions
            return path
        return target

    def note_new_buckets(self, names: Collection[str]) -> None:
        """Note buckets to be recorded. If they are not, `remove_unrecorded_buckets` removes their folders."""
        new = [name for name in names if not os.path.lexists(self.folder.buckets / name)]
        self._expected.write_text(json.dumps(new))

    def remove_unrecorded_buckets(self, recorded: Callable[[str], bool]) -> None:
        """Remove the empty folders of expected buckets that are not recorded."""
        with suppress(FileNotFoundError, ValueError):  # `ValueError`: killed before any folder was made
            for name in json.loads(self._expected.read_text()):
                if not recorded(name):
                    remove_empty(self.folder.buckets / name)
        self._expected.unlink(missing_ok=True)

    @property
    def _expected(self) -> Path:
        return self.folder.incoming / _EXPECTED

    @contextmanager
    def _directory(
        self, bucket: str, components: Components, *, create: bool = False
    ) -> Iterator[int | None]:
        """Yield the descriptor of a folder in a bucket, or None if it does not exist."""
        descriptor = self._open_directory(bucket, components, create=create)
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _open_directory(self, bucket: str, components: Components, *, create: bool) -> int | None:
        if natural_path(bucket) != (bucket,):
            return None  # an impossible name, which could lead out of the buckets' folder
        if create:
            self.make_bucket(bucket)
        try:
            descriptor = os.open(self._buckets + bucket, _DIRECTORY)
        except OSError as error:
            if error.errno in _UNREACHABLE:
                return None
            raise
        try:
            for component in components:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(component, folders.IMPLICIT_MODE, dir_fd=descriptor)
                below = os.open(component, _DIRECTORY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
        except OSError as error:
            os.close(descriptor)
            if error.errno in _UNREACHABLE:
                return None
            raise
        return descriptor

    # Natural paths

    def state(self, bucket: str, components: Components) -> FileState | None:
        """Return the state of the regular file or folder object at a natural path, or None without one."""
        with self._directory(bucket, components[:-1]) as directory:
            if directory is None:
                return None
            if not is_folder(components):
                return self._state_in(directory, components[-1])
            if folders.is_implicit(os.fstat(directory)) or not self._is_spelt_so(bucket, components):
                return None
            return FOLDER

    def _is_spelt_so(self, bucket: str, components: Components) -> bool:
        """Return whether a folder has this spelling, on a file system that ignores case."""
        if not self._ignores_case:
            return True
        with self._directory(bucket, components[:-2]) as parent:
            return parent is not None and _spelt(parent, components[-2])

    def _state_in(self, directory: int, entry: str) -> FileState | None:
        try:
            status = os.stat(entry, dir_fd=directory, follow_symlinks=False)
        except OSError as error:
            if error.errno in _UNREACHABLE:
                return None
            raise
        if not stat.S_ISREG(status.st_mode):
            return None
        if self._ignores_case and not _spelt(directory, entry):
            return None
        return _state(status)

    def open(self, bucket: str, components: Components) -> BinaryIO | None:
        """Open the regular file at a natural path for reading, or an empty file for a folder object.

        Return None without such a file or folder.
        """
        if is_folder(components):
            exists = self.state(bucket, components) is not None
            return Path(os.devnull).open("rb", buffering=0) if exists else None
        with self._directory(bucket, components[:-1]) as directory:
            return None if directory is None else _open_regular(components[-1], directory)

    def mark_explicit(self, bucket: str, folder: Components) -> bool:
        """Mark a folder as an object. Return False if it is empty or missing, and do nothing then."""
        with self._directory(bucket, folder) as directory:
            if directory is None:
                return False
            with os.scandir(directory) as entries:
                if not any(entries):
                    return False
            folders.make_explicit(directory)
            return True

    def place(self, bucket: str, name: str, state: FileState) -> FileState | None:
        """Prepare the natural path of an object whose content has the given state.

        Return the state that the object has there, or None if it has to be aside: the path is impossible, or
        taken, or a folder's while the object has content.
        """
        components = natural_path(name)
        if components is None or (is_folder(components) and state.size):
            return None
        if not self.make_parents(bucket, components):
            return None
        return FOLDER if is_folder(components) else state

    def make_parents(self, bucket: str, components: Components) -> bool:
        """Create the parent folders of a natural path, and its folder. Return whether it can be put there.

        It cannot if a parent is a file or has no permissions, or if the path of a file is a folder or, on a
        file system that ignores case, another object's file.
        """
        self.step("make folders")
        with self._directory(bucket, components[:-1], create=True) as directory:
            if directory is None:
                return False
            if is_folder(components):
                return self._is_spelt_so(bucket, components)
            try:
                status = os.stat(components[-1], dir_fd=directory, follow_symlinks=False)
            except FileNotFoundError:
                return True
            except PermissionError:
                return False
            if self._ignores_case and not _spelt(directory, components[-1]):
                return False
            return stat.S_ISREG(status.st_mode)

    def put(self, source: Path, bucket: str, components: Components) -> None:
        """Move a file to its natural path atomically. A folder becomes an object instead."""
        self.step("put file")
        with self._directory(bucket, components[:-1], create=True) as directory:
            if directory is None:
                raise OSError(errno.ENOTDIR, "a parent folder was replaced", "/".join(components))
            if is_folder(components):
                folders.make_explicit(directory)
                source.unlink()
                return
            os.rename(source, components[-1], dst_dir_fd=directory)

    def keep(self, bucket: str, components: Components, aside: str) -> None:
        """Link the file at a natural path to the file `aside`, which is empty for a folder."""
        self.step("keep file")
        target = self.folder.aside / aside
        if is_folder(components):
            target.touch()
            return
        with self._directory(bucket, components[:-1]) as directory:
            if directory is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/".join(components))
            with suppress(FileExistsError):
                os.link(components[-1], target, src_dir_fd=directory, follow_symlinks=False)

    def link_out(self, bucket: str, components: Components, target: Path) -> None:
        """Link the regular file at a natural path to the file `target`. Raises `FileNotFoundError`."""
        self.step("link file")
        with self._directory(bucket, components[:-1]) as directory:
            if directory is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/".join(components))
            if is_folder(components):
                target.touch()
                return
            os.link(components[-1], target, src_dir_fd=directory, follow_symlinks=False)

    def remove(self, bucket: str, components: Components) -> None:
        """Remove the file or folder object at a natural path, and then its parent folders.

        Of the folders, only those are removed that are empty and not objects themselves. A folder with files
        in it is no object any longer.
        """
        self.step("remove file")
        with self._directory(bucket, components[:-1]) as directory:
            if directory is None:
                return
            if is_folder(components):
                folders.make_implicit(directory)
            else:
                with suppress(FileNotFoundError):
                    os.unlink(components[-1], dir_fd=directory)
        for depth in range(len(components) - 1, 0, -1):
            entry = components[depth - 1]
            with self._directory(bucket, components[: depth - 1]) as directory:
                if directory is None:
                    return
                try:
                    if not folders.is_implicit(os.stat(entry, dir_fd=directory, follow_symlinks=False)):
                        return
                    os.rmdir(entry, dir_fd=directory)
                except OSError:
                    return

    def changes(
        self, bucket: str, prefix: str, recorded: dict[str, RecordedState], implicit: list[str]
    ) -> Iterator[tuple[str, FileState]]:
        """Yield name and state of every file and folder object that differs from `recorded`, in no order.

        The names begin with `prefix`. The name of each file is removed from `recorded`, which has the names
        without a file in the end. `implicit` receives the names of implicit folders.
        """
        parent = prefix.rpartition("/")[0]
        top = None if parent.endswith("/") else natural_path(parent) if parent else ()
        pending = [] if top is None else [top]
        while pending:
            folder = pending.pop()
            path = "".join(f"{part}/" for part in folder)
            with self._directory(bucket, folder) as directory:
                if directory is None:
                    continue
                if path and path.startswith(prefix) and _can_be_object(path):
                    if folders.is_implicit(os.fstat(directory)):
                        implicit.append(path)
                    elif recorded.pop(path, None) is None:
                        yield path, FOLDER
                with os.scandir(directory) as entries:
                    for entry in entries:
                        # A bucket has many files: each statement costs, and each call even more.
                        name = path + entry.name
                        known = recorded.get(name)
                        if known is None and not (name.startswith(prefix) and _can_be_object(name)):
                            continue
                        if entry.is_file(follow_symlinks=False):
                            try:
                                status = entry.stat(follow_symlinks=False)
                            except (FileNotFoundError, PermissionError):
                                continue
                            if known is not None:
                                del recorded[name]
                                if known == (status.st_size, status.st_mtime_ns, status.st_ino, 0):
                                    continue
                            yield name, _state(status)
                        elif entry.is_dir(follow_symlinks=False):
                            pending.append((*folder, entry.name))

    # Aside and incoming

    def aside_path(self, aside: str) -> Path:
        return self.folder.aside / aside

    def open_aside(self, aside: str) -> BinaryIO | None:
        # The link may be to something other than a file, if a program changed the natural path meanwhile.
        return _open_regular(self.aside_path(aside))

    def remove_aside(self, aside: str) -> None:
        (self.folder.aside / aside).unlink(missing_ok=True)

    def new_incoming(self) -> Path:
        return self.folder.incoming / secrets.token_hex(16)

    def incoming_path(self, incoming: str) -> Path:
        return self.folder.incoming / incoming


def state_of(file: BinaryIO) -> FileState:
    """Return the state of an open file, also of one that stands for a folder."""
    status = os.fstat(file.fileno())
    return _state(status) if stat.S_ISREG(status.st_mode) else FOLDER


def _open_regular(path: Path | str, directory: int | None = None) -> BinaryIO | None:
    """Open a regular file for reading. Return None for everything else."""
    try:
        descriptor = os.open(path, _FILE, dir_fd=directory)
    except OSError as error:
        if error.errno in (*_ABSENT, errno.ENXIO):
            return None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb", buffering=0)


def _state(status: os.stat_result) -> FileState:
    return FileState(status.st_size, status.st_mtime_ns, status.st_ino)


def _spelt(directory: int, entry: str) -> bool:
    """Return whether a folder has an entry with exactly this spelling."""
    with os.scandir(directory) as entries:
        return any(found.name == entry for found in entries)


def _can_be_object(path: str) -> bool:
    """Return whether a path in a bucket can be an object's name. This also limits the depth of a walk."""
    try:
        size = len(path) if path.isascii() else len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return False
    return size <= MAX_OBJECT_NAME and "\n" not in path and "\r" not in path


def _ignores_case(folder: Path) -> bool:
    probe = folder / f"case-{secrets.token_hex(8)}"
    probe.touch()
    try:
        return (folder / probe.name.upper()).exists()
    finally:
        probe.unlink()
