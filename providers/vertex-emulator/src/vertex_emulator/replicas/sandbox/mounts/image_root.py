"""The root of a replica that runs an image: the image's own, or the host's with the image's layers in it.

Called in the child that becomes the replica, in its own mount namespace. All replicas share an unpacked
image: each writes into a layer of its own above it (overlayfs). If the kernel has no overlayfs for this user,
the image is shown read-only, and only the working directory is a copy.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vertex_emulator.replicas.images import stack
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.mounts import masks

_NOT_FROM_IMAGES = frozenset({"dev", "gcs", "proc", "sys", "tmp"})
_FLAGS = ns.MS_NOSUID | ns.MS_NODEV

READ_ONLY = (
    "Emulator: this machine has no overlayfs for this user, so the files of the image are read-only here, "
    "except for /tmp{more}. On Vertex AI, they are writable."
)


@dataclass(frozen=True, kw_only=True)
class ImageView:
    """The unpacked image that a replica gets.

    `folders` are merged, the highest first; without overlayfs there is one. `own`: the image is the whole
    root. `scratch`: an empty folder of the replica for its changes. `inside`: the user and group that the
    replica sees as its own. `overlays`: use overlayfs if the kernel has it for this user.
    """

    folders: tuple[Path, ...]
    own: bool
    scratch: Path
    working_dir: str
    inside: tuple[int, int] | None = None
    overlays: bool = True


@dataclass
class Layering:
    """Shows folders of an image in a replica's root; `read_only` is set if one could not be made writable.

    A folder of the machine that the replica may not enter is not merged with the image's folder: it would
    show the files in it. `apart`: the replica is another user than the emulator.
    """

    root: Path
    scratch: Path
    overlays: bool = True
    apart: bool = False
    read_only: bool = False
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def overlay(self, target: str, lower: Sequence[str | Path], *, layers: bool) -> bool:
        """Mount folders above each other at `target`, the first on top, below a writable one.

        `layers`: several of them are unpacked layers, whose whiteouts only the option `userxattr` understands
        (Linux 5.11). Return False without overlayfs.
        """
        if not self.overlays:
            return False
        folder = self._folder()
        for name in ("upper", "work"):
            (folder / name).mkdir()
        # Paths in the options must not contain colons or commas; the paths of descriptors do not.
        with _opened([*lower, folder / "upper", folder / "work"]) as (*below, upper, work):
            options = f"lowerdir={':'.join(below)},upperdir={upper},workdir={work}"
            for more in (",userxattr",) if layers else (",userxattr", ""):
                with contextlib.suppress(OSError):
                    ns.mount("overlay", target, "overlay", _FLAGS, options + more)
                    return True
        return False

    def show(self, sources: Sequence[Path], path: str) -> None:
        """Show a folder of the image at a path of the root, merged with the folder there.

        `sources` are merged, the highest first. Raises `OSError`.
        """
        layers = len(sources) > 1
        with ns.mount_point(self.root, path, create=False) as there:
            present = there is not None and not self._is_closed(there)
            if there is not None and present:
                masks = self._masks(sources, Path(there))
                if self.overlay(there, [*sources, *masks, there], layers=layers or bool(masks)):
                    return
        with ns.mount_point(self.root, path) as target:
            if not present and self.overlay(str(target), sources, layers=layers):
                return
        source = _only(sources)
        self.read_only = True
        if not present:
            ns.bind_at(self.root, path, source)
            return
        self._merge(source, path)

    def _merge(self, source: Path, path: str) -> None:
        """Merge without overlayfs: bind every entry of both into a new folder; the image's entries win."""
        merged = self._folder()
        inner = replace(self, root=merged)
        with ns.mount_point(self.root, path) as there:
            here = Path(str(there))
            for name in sorted({*_names(here), *_names(source)}):
                _bind_entry(merged, here / name, name)
                if name in _names(source):
                    if (source / name).is_dir() and not (source / name).is_symlink():
                        inner.show([source / name], name)
                    else:
                        _bind_entry(merged, source / name, name)
            ns.bind(merged, str(there))

    def _is_closed(self, folder: Path | str) -> bool:
        """Return whether the replica may not enter a folder of the machine."""
        try:
            status = os.stat(f"{folder}/.")  # noqa: PTH116 - the path of a descriptor is a link
        except PermissionError:
            return True
        except OSError:
            return False
        if self.apart:
            return not status.st_mode & stat.S_IXOTH
        return not os.access(folder, os.R_OK | os.X_OK)

    def _masks(self, sources: Sequence[Path], there: Path) -> list[Path]:
        """Return a layer that hides closed folders of the machine which the image has too, or nothing."""
        mask: Path | None = None
        pending = [""]
        while pending:
            above = pending.pop()
            for name in _folders_in([each / above for each in sources]):
                path = f"{above}/{name}".lstrip("/")
                if self._is_closed(there / path):
                    mask = mask or self._folder()
                    (mask / path).mkdir(parents=True)
                    os.setxattr(mask / path, stack.OPAQUE, b"y")
                elif (there / path).is_dir() and not (there / path).is_symlink():
                    pending.append(path)
        return [] if mask is None else [mask]

    def _folder(self) -> Path:
        folder = self.scratch / str(next(self.numbers))
        folder.mkdir(parents=True)
        return folder


def _only(folders: Sequence[Path]) -> Path:
    """Return the folder of an image that was unpacked as a whole. Raises `OSError` for any other."""
    if len(folders) != 1:
        raise OSError(errno.ENOTSUP, "overlayfs refuses the layers of the image")
    return folders[0]


def _layering(view: ImageView, root: Path, *, apart: bool = False) -> Layering:
    return Layering(root=root, scratch=view.scratch, overlays=view.overlays, apart=apart)


def mount_image_root(view: ImageView, root: Path) -> list[str]:
    """Make the image the content of `root`. Return lines for the log. Raises `OSError`."""
    layering = _layering(view, root)
    notes = []
    if not layering.overlay(str(root), view.folders, layers=len(view.folders) > 1):
        image = _only(view.folders)
        ns.bind(root, root)
        for name in _names(image):
            if name not in _NOT_FROM_IMAGES:
                _bind_entry(root, image / name, name)
        notes.append(_writable_work(view, root))
    masks.mount_devices(root)
    with contextlib.suppress(OSError):
        ns.bind_at(root, "sys", "/sys")
    for name in ("resolv.conf", "localtime"):
        if Path("/etc", name).is_file():
            with contextlib.suppress(OSError):  # the image is read-only and lacks the path
                ns.bind_at(root, f"etc/{name}", Path("/etc", name).resolve(), file=True)
    return notes


def mount_layers(view: ImageView, root: Path, *, apart: bool) -> list[str]:
    """Show the image's layers in `root`, which has the host's folders. Return lines for the log.

    `apart`: the replica is another user than the emulator.
    """
    layering = _layering(view, root, apart=apart)
    mounted = _mounts()
    folders = []
    for name in stack.names_in(view.folders):
        if name in _NOT_FROM_IMAGES:
            continue
        if sources := stack.folders_at(view.folders, name):
            folders.append((_resolved(root, name), sources))
        elif (source := stack.find(view.folders, name)) is not None:
            _bind_entry(root, source, name)
    for path, sources in sorted(folders, key=lambda each: each[0].count("/")):
        layering.show(sources, path)
        for below in mounted:
            if below.startswith(f"/{path}/") and not Path(below).is_relative_to(view.scratch.parent):
                with contextlib.suppress(OSError), ns.mount_point(root, below, create=False) as target:
                    if target is None:
                        continue
                    ns.bind(below, target)  # overlayfs hides the mounts below a folder
                    if inner := stack.folders_at(view.folders, below):
                        layering.show(inner, below)
    _working_dir(view, layering)
    return [_writable_work(view, root)] if layering.read_only else []


def _working_dir(view: ImageView, layering: Layering) -> None:
    """Create a writable working directory even if the image does not have it."""
    first, *rest = [part for part in os.path.normpath(f"/{view.working_dir}").split("/") if part] or [""]
    if first and first not in _NOT_FROM_IMAGES and stack.find(view.folders, first) is None:
        folder = view.scratch / "working-dir" / first
        folder.joinpath(*rest).mkdir(parents=True)
        layering.show([folder], _resolved(layering.root, first))


def _resolved(root: Path, name: str) -> str:
    """Resolve a link of the host to a folder (/bin to usr/bin): the image's entries belong there."""
    with contextlib.suppress(OSError):
        target = str((root / name).readlink()).strip("/")
        with ns.mount_point(root, target, create=False) as there:
            if there is not None:
                return target
    return name


def _writable_work(view: ImageView, root: Path) -> str:
    """Make the working directory a copy that the replica can write. Return a line for the log."""
    path = os.path.normpath(f"/{view.working_dir}").strip("/")
    if not path:
        return READ_ONLY.format(more=" and /")
    source = _only(view.folders)
    for part in path.split("/"):
        source = source / part
        if source.is_symlink():
            return READ_ONLY.format(more="")
    copy = view.scratch / "work"
    if source.is_dir():
        shutil.copytree(source, copy, symlinks=True)
    else:
        copy.mkdir(parents=True)
    try:
        ns.bind_at(root, path, copy, writable=True)
    except OSError:
        return READ_ONLY.format(more="")
    return READ_ONLY.format(more=f" and the working directory /{path}")


def _bind_entry(folder: Path, source: Path, name: str) -> None:
    """Show a file, folder or link under a name in a folder of ours; a folder is read-only."""
    status = source.lstat() if os.path.lexists(source) else None
    target = folder / name
    if status is None:
        return
    if stat.S_ISLNK(status.st_mode):
        if not os.path.lexists(target):
            target.symlink_to(source.readlink())
        return
    if target.is_symlink():
        target.unlink()
    is_folder = stat.S_ISDIR(status.st_mode)
    if os.path.lexists(target) and target.is_dir() != is_folder:
        raise FileExistsError(f"the image has {source.name!r} where this machine has something else")
    ns.bind_at(folder, name, source, file=not is_folder)


def _folders_in(folders: Sequence[Path]) -> set[str]:
    """Return the names of the folders that any of some folders has, without following links."""
    names: set[str] = set()
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            with os.scandir(folder) as entries:
                names.update(each.name for each in entries if each.is_dir(follow_symlinks=False))
    return names


def _names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208 - names only


def _mounts() -> list[str]:
    """Return the mount points of the host."""
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    return [line.split(" ")[4].replace("\\040", " ") for line in lines]


@contextlib.contextmanager
def _opened(paths: Sequence[str | Path]) -> Iterator[list[str]]:
    """Open folders. Yield paths of their descriptors."""
    ends: list[int] = []
    try:
        for path in paths:
            ends.append(os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        yield [f"/proc/self/fd/{end}" for end in ends]
    finally:
        for end in ends:
            os.close(end)
