"""A folder into which one layer is unpacked without the layers below it, for overlayfs.

What the layer removes of them becomes a whiteout or an opaque folder (see `stack`). Some layers and images
cannot be unpacked in this way, as their entries lead through links of lower layers, for example: then the
image has to be unpacked as a whole (`NotSeparableError`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vertex_emulator.replica_images.image import ImageError
from vertex_emulator.replica_images.stack import OPAQUE, entries_at, is_opaque
from vertex_emulator.replica_images.tar_stream import Entry
from vertex_emulator.replica_images.tree import FOLDER, Create, OpenFolder, Parts, Tree, lstat

_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENOSYS)
_IMPLIED_MODE = 0o755


class NotSeparableError(ImageError):
    """A layer cannot be unpacked without the layers below it."""


@dataclass(frozen=True, kw_only=True)
class Implied:
    """Folders that a layer creates without an entry of their own.

    A link at one of `folders` in a lower layer would be hidden. `modeless` have the mode of the lower layers'
    folder. `needed` only hold what the layer removes, and are nothing without the lower layers' folder.
    """

    folders: frozenset[str] = frozenset()
    modeless: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, list[str]]:
        """Return a JSON document."""
        return {
            "implied": sorted(self.folders),
            "modeless": sorted(self.modeless),
            "needed": sorted(self.needed),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Implied:
        """Read the document that `to_json` returns."""
        return cls(
            folders=frozenset(document["implied"]),
            modeless=frozenset(document["modeless"]),
            needed=frozenset(document["needed"]),
        )


@dataclass
class LayerTree(Tree):
    """An empty folder that is filled with the entries of one layer."""

    _whiteouts_create: Create = "missing"
    _implied: set[Parts] = field(default_factory=set)
    _modeless: set[Parts] = field(default_factory=set)
    _needed: set[Parts] = field(default_factory=set)

    @property
    def implied(self) -> Implied:
        """The folders without an entry of their own."""
        return Implied(
            folders=frozenset(map("/".join, self._implied)),
            modeless=frozenset(map("/".join, self._modeless)),
            needed=frozenset(map("/".join, self._needed)),
        )

    def _record(self, own: Parts, entry: Entry) -> None:
        super()._record(own, entry)
        self._needed.difference_update(own[:depth] for depth in range(1, len(own) + 1))
        if entry.kind == "directory":
            self._modeless.discard(own)

    def _imply(self, own: Parts, create: Create) -> None:
        self._implied.add(own)
        self._modeless.add(own)
        if create == "missing":
            self._needed.add(own)

    def _make_folder(self, directory: int, name: str, *, replaced: bool) -> None:
        super()._make_folder(directory, name, replaced=replaced)
        if replaced:
            self._set_opaque(directory, name)

    def _hard_link(self, folder: OpenFolder, name: str, entry: Entry) -> None:
        try:
            super()._hard_link(folder, name, entry)
        except ImageError as error:
            raise NotSeparableError(str(error)) from error

    def _clear(self, directory: int, path: Parts) -> None:
        if not path:
            raise NotSeparableError(f"{self._layer_name} removes everything below it")
        _refusable(lambda: os.setxattr(directory, OPAQUE, b"y"))

    def _hide(self, directory: int, own: Parts) -> None:
        name = own[-1]
        status = lstat(name, directory)
        if own in self._layer:
            if status is not None and stat.S_ISDIR(status.st_mode):
                self._set_opaque(directory, name)
            return
        if status is not None:
            self._remove(directory, name)
        _refusable(lambda: os.mknod(name, stat.S_IFCHR | 0o600, os.makedev(0, 0), dir_fd=directory))

    def _set_opaque(self, directory: int, name: str) -> None:
        below = os.open(name, FOLDER, dir_fd=directory)
        try:
            _refusable(lambda: os.setxattr(below, OPAQUE, b"y"))
        finally:
            os.close(below)


def _refusable(action: Callable[[], None]) -> None:
    """Do what some file systems and users cannot."""
    try:
        action()
    except OSError as error:
        if error.errno in _REFUSED:
            raise NotSeparableError("this file system cannot hold what layers remove") from error
        raise


def modes_of_implied(folders: Sequence[Path], implied: Sequence[Implied]) -> dict[str, int]:
    """Return the modes of folders that have none in the layer that shows them, and of those above them.

    `folders` are those of the layers, the highest first. Raises `NotSeparableError` if the layers do not show
    what they are as a whole.
    """
    modes: dict[str, int] = {}
    for number, (folder, each) in enumerate(zip(folders, implied, strict=True)):
        lower = folders[number + 1 :]
        for path in each.folders:
            below = entries_at(lower, path)
            if below and below[0][1].is_symlink():
                raise NotSeparableError(f"the folder {path!r} is a link in a lower layer")
            if path in each.needed and not (below and below[0][1].is_dir() and not _is_cut_off(folder, path)):
                raise NotSeparableError(f"the folder {path!r} is in no lower layer")
        for path in each.modeless:
            shown = entries_at(folders, path)
            if shown and shown[0][0] == number:
                own = (entry for at, entry in shown if path not in implied[at].modeless)
                mode = next((stat.S_IMODE(entry.lstat().st_mode) for entry in own), _IMPLIED_MODE)
                if mode != _IMPLIED_MODE:
                    modes[path] = mode
    for path in list(modes):
        for above in _above(path):
            modes.setdefault(above, stat.S_IMODE(entries_at(folders, above)[0][1].lstat().st_mode))
    return modes


def make_folders(root: Path, modes: Mapping[str, int]) -> int:
    """Create folders with their modes. Return their number."""
    for path in sorted(modes):
        (root / path).mkdir()
        (root / path).chmod(modes[path])
    return len(modes)


def _above(path: str) -> list[str]:
    """Return the folders above a path, the highest first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _is_cut_off(folder: Path, path: str) -> bool:
    """Return whether a folder above a path hides the lower layers."""
    return any(is_opaque(folder / above) for above in _above(path))
