"""Unpack images and single layers, shared by all jobs with the same layers.

python -m vertex_emulator.replicas.images.unpacking REQUEST

A job's supervisor runs this as a process of its own, which can be killed at any moment. Where replicas can
have overlayfs, each layer is unpacked into a folder of its own, once for all images that have it; the folder
of the image then names the layers' folders. Otherwise, the folder of the image has all its files.

A layer is unpacked without those below it. What the layer removes of them becomes a whiteout or an opaque
folder (see `stack`). Some layers and images cannot be unpacked in this way, as their entries lead through
links of lower layers, for example: then the image has to be unpacked as a whole (`NotSeparableError`).
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vertex_emulator.job_folder import folder
from vertex_emulator.kernel.disk.disk_space import is_out_of_space
from vertex_emulator.replicas.images import folders
from vertex_emulator.replicas.images.folders import KEPT_BYTES, Document, document_of, root_of
from vertex_emulator.replicas.images.image import ImageError, Layer, key_of, key_of_layer
from vertex_emulator.replicas.images.stack import MAX_FOLDERS, OPAQUE, entries_at, is_opaque
from vertex_emulator.replicas.images.tar_stream import Entry, LayerReader, entries
from vertex_emulator.replicas.images.tree import (
    FOLDER,
    Create,
    Limits,
    OpenFolder,
    Parts,
    Tree,
    Unpacked,
    lstat,
)

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

    `folders` are the layers' folders, the highest first. Raises `NotSeparableError` if the layers do not show
    what they are as a whole.
    """
    modes: dict[str, int] = {}
    for number, (unpacked, each) in enumerate(zip(folders, implied, strict=True)):
        lower = folders[number + 1 :]
        for path in each.folders:
            below = entries_at(lower, path)
            if below and below[0][1].is_symlink():
                raise NotSeparableError(f"the folder {path!r} is a link in a lower layer")
            if path in each.needed and not (
                below and below[0][1].is_dir() and not _is_cut_off(unpacked, path)
            ):
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


_IMPLIED = "implied.json"


def unpack(
    layers: Sequence[Layer], root: Path, *, limits: Limits | None = None, ignores_case: bool | None = None
) -> Unpacked:
    """Unpack layers, the lowest first, into an empty folder. Raises `ImageError`, `OSError`.

    `ignores_case` tells whether the folder's file system ignores case in names; None to try it.
    """
    tree = Tree(root, limits or Limits(), ignores_case=ignores_case)
    try:
        for layer in layers:
            _add(tree, layer)
        return tree.done
    finally:
        tree.close()


def unpack_layer(
    layer: Layer, root: Path, *, limits: Limits | None = None, before: Unpacked | None = None
) -> tuple[Unpacked, Implied]:
    """Unpack one layer into an empty folder, without the layers below it.

    `before` is what other layers of the image have taken of the limits. Raises `NotSeparableError`,
    `ImageError`, `OSError`.
    """
    start = before or Unpacked()
    done = Unpacked(entries=start.entries, size=start.size)
    tree = LayerTree(root, limits or Limits(), done=done)
    try:
        _add(tree, layer)
        return Unpacked(
            entries=done.entries - start.entries, size=done.size - start.size, skipped=done.skipped
        ), tree.implied
    finally:
        tree.close()


def _add(tree: Tree, layer: Layer) -> None:
    what = f"the layer {layer.digest}"
    if not Path(layer.path).is_file():
        raise ImageError(f"{what} is no longer in the registry; push the image again")
    with Path(layer.path).open("rb") as blob:
        reader = LayerReader(blob, what, digest=layer.digest, diff_id=layer.diff_id)
        tree.begin(what)
        for entry, content in entries(reader, what):
            tree.add(entry, content)
        reader.check(size=layer.size)


def ensure(
    images: Path, layers: Sequence[Layer], *, separately: bool = False, keep_bytes: int = KEPT_BYTES
) -> Unpacked | None:
    """Unpack an image unless that has been done; then return None. Raises `ImageError`, `OSError`.

    The caller holds the folders of `keys_of`. `separately`: each layer into a folder of its own, if possible.
    """
    key = key_of(layers, separately=separately)
    if folders.shown_folders(images, key) is None:
        folders.clean(images, keep_bytes=keep_bytes)
    done = _ensure(images, key, layers, separately=separately and len(layers) < MAX_FOLDERS)
    if done is not None:
        folders.clean(images, keep_bytes=keep_bytes)
    return done


def _ensure(images: Path, key: str, layers: Sequence[Layer], *, separately: bool) -> Unpacked | None:
    known = document_of(images, key)
    if separately and (known is None or known["layers"]):
        try:
            return _ensure_layers(images, key, layers)
        except NotSeparableError:
            pass

    def fill(root: Path) -> Document:
        return _document(unpack(layers, root))

    document, new = folders.ensure(images, key, fill)
    if not new:
        return None
    return Unpacked(entries=document["entries"], size=document["size"], skipped=document["passedOver"])


def _ensure_layers(images: Path, key: str, layers: Sequence[Layer]) -> Unpacked | None:
    total, any_new = Unpacked(), False
    keys: list[str] = []
    for layer in layers:

        def fill_layer(root: Path, layer: Layer = layer) -> Document:
            done, without_entry = unpack_layer(layer, root, before=total)
            folder.write_json(root.parent / _IMPLIED, without_entry.to_json())
            return _document(done)

        keys.append(key_of_layer(layer))
        document, new = folders.ensure(images, keys[-1], fill_layer)
        total.entries += document["entries"]
        total.size += document["size"]
        total.skipped += document["passedOver"] if new else 0
        any_new = any_new or new
    highest_first = tuple(dict.fromkeys(reversed(keys)))

    def fill(root: Path) -> Document:
        modes = modes_of_implied(
            [root_of(images, each) for each in highest_first],
            [Implied.from_json(folder.read_json(images / each / _IMPLIED)) for each in highest_first],
        )
        created = make_folders(root, modes)
        return {**_document(Unpacked(entries=created)), "layers": highest_first}

    folders.ensure(images, key, fill)
    return total if any_new else None


def _document(done: Unpacked) -> dict[str, object]:
    return {"entries": done.entries, "size": done.size, "passedOver": done.skipped, "layers": ()}


def main(request_file: Path) -> None:
    """Unpack the image that the request names, and write the result next to it."""
    wanted = folder.read_json(request_file)
    problem = ""
    images = Path(wanted["images_dir"])
    try:
        unpacked = ensure(
            images, [Layer(**each) for each in wanted["layers"]], separately=wanted["separately"]
        )
        if unpacked is not None and unpacked.skipped:
            sys.stdout.write(
                f"Emulator: {unpacked.skipped} devices and FIFOs of the image {wanted['name']} were not "
                "unpacked.\n"
            )
    except ImageError as error:
        problem = f"The image {wanted['name']} cannot be unpacked: {error}."
    except OSError as error:
        why = error.strerror or str(error)
        remedy = (
            "Free space on that disk" if is_out_of_space(error) else "Make the folder readable and writable"
        )
        problem = (
            f"The image {wanted['name']} could not be unpacked: {why} ({images}). {remedy}, and create the "
            "job again."
        )
    folder.write_json(folder.result_file(request_file), {"problem": problem})


if __name__ == "__main__":
    os.umask(0o077)
    main(Path(sys.argv[1]))
